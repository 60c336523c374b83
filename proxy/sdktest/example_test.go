package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os/exec"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

const window = 24_000

// provider is a model server that refuses prompts above the window. Its model asks for
// twelve shell commands with long output, and for something that was folded on the way.
func provider() (*upstreamtest.Server, *httptest.Server) {
	model := upstreamtest.New(upstreamtest.Options{Calls: 12, Bytes: 12_000, Limit: window, RecallAt: 8})
	return model, httptest.NewServer(model)
}

// pleated is an HTTP client whose conversations stay inside the window.
func pleated() *http.Client {
	transport, err := proxy.NewTransport(&proxy.Options{Store: store.NewMemory(), Window: window})
	if err != nil {
		log.Fatal(err)
	}
	return &http.Client{Transport: transport}
}

// run runs a command of the model.
func run(input string) string {
	var args struct{ Command string }
	if err := json.Unmarshal([]byte(input), &args); err != nil {
		return err.Error()
	}
	out, err := exec.Command("bash", "-c", args.Command).CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// judge tells what the server saw.
func judge(model *upstreamtest.Server) {
	recalled, illegal, refused := "", 0, 0
	for _, x := range model.Log() {
		if illegal += len(x.Violations); x.Status != http.StatusOK {
			refused++
		}
		if recalled == "" {
			recalled = x.Recalled
		}
	}
	fmt.Printf("refused: %d, illegal: %d, recalled: %s\n", refused, illegal, recalled)
}

var shell = map[string]any{"command": map[string]any{"type": "string"}}

// The Anthropic SDK, streaming.
func Example_anthropic() {
	ctx := context.Background()
	model, server := provider()
	defer server.Close()
	client := anthropic.NewClient(
		anthropicoption.WithBaseURL(server.URL), anthropicoption.WithAPIKey("key"),
		anthropicoption.WithHTTPClient(pleated()),
	)
	history := []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Do all the steps."))}
	tools := []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
		Name: "bash", InputSchema: anthropic.ToolInputSchemaParam{Properties: shell, Required: []string{"command"}},
	}}}
	for {
		stream := client.Messages.NewStreaming(ctx, anthropic.MessageNewParams{
			Model: "small-model", MaxTokens: 1000, Messages: history, Tools: tools,
		})
		var message anthropic.Message
		for stream.Next() {
			if err := message.Accumulate(stream.Current()); err != nil {
				log.Fatal(err)
			}
		}
		if err := stream.Err(); err != nil {
			log.Fatal(err)
		}
		history = append(history, message.ToParam())
		var results []anthropic.ContentBlockParamUnion
		for _, block := range message.Content {
			switch b := block.AsAny().(type) {
			case anthropic.TextBlock:
				if message.StopReason == anthropic.StopReasonEndTurn {
					fmt.Println(b.Text)
				}
			case anthropic.ToolUseBlock:
				results = append(results, anthropic.NewToolResultBlock(b.ID, run(b.JSON.Input.Raw()), false))
			}
		}
		if len(results) == 0 {
			break
		}
		history = append(history, anthropic.NewUserMessage(results...))
	}
	judge(model)
	// Output:
	// All 12 steps are done.
	// refused: 0, illegal: 0, recalled: exact
}

// The OpenAI SDK on the Chat Completions wire, streaming.
func Example_chat() {
	ctx := context.Background()
	model, server := provider()
	defer server.Close()
	client := openai.NewClient(
		openaioption.WithBaseURL(server.URL+"/v1"), openaioption.WithAPIKey("key"),
		openaioption.WithHTTPClient(pleated()),
	)
	params := openai.ChatCompletionNewParams{
		Model:         "small-model",
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Do all the steps.")},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: "bash", Parameters: openai.FunctionParameters{
				"type": "object", "properties": shell,
				"required": []string{"command"},
			},
		})},
	}
	for {
		stream := client.Chat.Completions.NewStreaming(ctx, params)
		var answer openai.ChatCompletionAccumulator
		for stream.Next() {
			answer.AddChunk(stream.Current())
		}
		if err := stream.Err(); err != nil {
			log.Fatal(err)
		}
		message := answer.Choices[0].Message
		params.Messages = append(params.Messages, message.ToParam())
		if len(message.ToolCalls) == 0 {
			fmt.Println(message.Content)
			break
		}
		for _, call := range message.ToolCalls {
			params.Messages = append(params.Messages, openai.ToolMessage(run(call.Function.Arguments), call.ID))
		}
	}
	judge(model)
	// Output:
	// All 12 steps are done.
	// refused: 0, illegal: 0, recalled: exact
}

// The OpenAI SDK on the Responses wire, with its history on the client's side.
func Example_responses() {
	ctx := context.Background()
	model, server := provider()
	defer server.Close()
	client := openai.NewClient(
		openaioption.WithBaseURL(server.URL+"/v1"), openaioption.WithAPIKey("key"),
		openaioption.WithHTTPClient(pleated()),
	)
	input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage("Do all the steps.",
		responses.EasyInputMessageRoleUser)}
	for {
		answer, err := client.Responses.New(ctx, responses.ResponseNewParams{
			Model: "small-model", Store: openai.Bool(false),
			Input: responses.ResponseNewParamsInputUnion{OfInputItemList: input},
			Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("bash",
				map[string]any{"type": "object", "properties": shell, "required": []string{"command"}}, false)},
		})
		if err != nil {
			log.Fatal(err)
		}
		calls := 0
		for _, item := range answer.Output {
			switch item := item.AsAny().(type) {
			case responses.ResponseOutputMessage:
				input = append(input, responses.ResponseInputItemParamOfMessage(item.Content[0].Text,
					responses.EasyInputMessageRoleAssistant))
			case responses.ResponseFunctionToolCall:
				calls++
				result := responses.ResponseInputItemParamOfFunctionCallOutput(run(item.Arguments))
				result.OfFunctionCallOutput.CallID = openai.String(item.CallID)
				input = append(input,
					responses.ResponseInputItemParamOfFunctionCall(item.Arguments, item.CallID, item.Name), result)
			}
		}
		if calls == 0 {
			fmt.Println(answer.OutputText())
			break
		}
	}
	judge(model)
	// Output:
	// All 12 steps are done.
	// refused: 0, illegal: 0, recalled: exact
}
