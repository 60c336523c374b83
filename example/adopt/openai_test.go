package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	wire "github.com/pleat-dev/pleat/wire/openai"
)

type chatMessage = openai.ChatCompletionMessageParamUnion

// fromOpenAI makes a message of the session of one of the SDK, and toOpenAI the reverse: one for each result.
// With Responses it is the same, with DecodeItem and EncodeItems.
func fromOpenAI(m chatMessage) (pleat.Message, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return pleat.Message{}, err
	}
	return wire.DecodeChatMessage(raw)
}

func toOpenAI(m pleat.Message) (out []chatMessage) {
	for _, raw := range wire.EncodeChatMessage(m) {
		out = append(out, param.Override[chatMessage](json.RawMessage(raw)))
	}
	return out
}

func toolToOpenAI(t pleat.Tool) openai.ChatCompletionToolUnionParam {
	var schema openai.FunctionParameters
	_ = json.Unmarshal([]byte(t.Schema), &schema)
	return openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name: t.Name, Description: param.NewOpt(t.Description), Parameters: schema,
	})
}

// errorOfOpenAI makes of the SDK's error one that the session understands.
func errorOfOpenAI(err error) error {
	e := new(openai.Error)
	if !errors.As(err, &e) {
		return err
	}
	return model.ClassifyError(e.StatusCode, e.Response.Header.Get("Retry-After"), []byte(`{"error":`+e.RawJSON()+`}`))
}

// openaiAgent keeps the history itself, and hands over all of it for each request.
type openaiAgent struct {
	client  openai.Client
	session *pleat.Session
	tools   []pleat.Tool
	history []chatMessage
}

func (a *openaiAgent) ask(ctx context.Context) (*openai.ChatCompletionMessage, error) {
	said := make([]pleat.Message, len(a.history))
	for i, h := range a.history {
		m, err := fromOpenAI(h)
		if err != nil {
			return nil, err
		}
		said[i] = m
	}
	if _, err := a.session.Sync(ctx, said); err != nil {
		return nil, err
	}
	view, err := a.session.Messages(ctx)
	if err != nil {
		return nil, err
	}
	params := openai.ChatCompletionNewParams{Model: "gpt-5.5"}
	for _, t := range a.tools {
		params.Tools = append(params.Tools, toolToOpenAI(t))
	}
	for _, m := range view {
		params.Messages = append(params.Messages, toOpenAI(m)...)
	}
	out, err := a.client.Chat.Completions.New(ctx, params)
	if err = errorOfOpenAI(err); err != nil {
		if refused := new(pleat.APIError); errors.As(err, &refused) && refused.Overflow() {
			if _, err = a.session.Refused(ctx, refused); err == nil {
				return a.ask(ctx) // it folded more
			}
		}
		return nil, err
	}
	cached := int(out.Usage.PromptTokensDetails.CachedTokens)
	return &out.Choices[0].Message, a.session.Used(ctx, pleat.Usage{
		Input: int(out.Usage.PromptTokens) - cached, CacheRead: cached, Output: int(out.Usage.CompletionTokens),
	})
}

// Example_openai is a program over OpenAI's SDK that keeps its history.
func Example_openai() {
	ctx, server := context.Background(), newProvider()
	defer server.Close()
	a := &openaiAgent{
		client:  openai.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("key")),
		tools:   append(pleat.RecallTools(), ownTool),
		history: []chatMessage{openai.SystemMessage("Be brief."), openai.UserMessage("What is the price of part 3?")},
	}
	var err error
	a.session, err = pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "openai"}, &pleat.Options{
		Wire: wire.Chat(model.Model{ID: "gpt-5.5"}), Budget: pleat.Budget{Window: window}, Tools: a.tools,
	})
	if err != nil {
		log.Fatal(err)
	}
	for {
		reply, err := a.ask(ctx)
		if err != nil {
			log.Fatal(err)
		}
		a.history = append(a.history, reply.ToParam())
		if len(reply.ToolCalls) == 0 {
			fmt.Println(reply.Content)
			break
		}
		for _, c := range reply.ToolCalls {
			result, recalled := a.session.Answer(ctx, pleat.Call(c.ID, c.Function.Name, c.Function.Arguments))
			if !recalled {
				result = pleat.Result(c.ID, read(c.Function.Arguments))
			}
			a.history = append(a.history, openai.ToolMessage(result.Text(), c.ID))
		}
	}
	fmt.Println(a.session.Len(), "messages, session", a.session.Key().Session, a.session.Close())
	// Output:
	// Part 3 costs 103.
	// 64 messages, session openai <nil>
}
