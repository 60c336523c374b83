package adopt

import (
	"context"
	"fmt"
	"log"

	"github.com/tmc/langchaingo/llms"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// pleated is a model whose callers may hand over histories of any length.
type pleated struct {
	llms.Model
	session *pleat.Session
}

// GenerateContent asks the model with what fits its window.
func (p *pleated) GenerateContent(
	ctx context.Context, history []llms.MessageContent, options ...llms.CallOption,
) (*llms.ContentResponse, error) {
	said := make([]pleat.Message, len(history))
	for i, h := range history {
		said[i] = fromChain(h)
	}
	var err error
	if _, err := p.session.Sync(ctx, said); err != nil {
		return nil, err
	}
	view, err := p.session.Messages(ctx)
	if err != nil {
		return nil, err
	}
	shown := make([]llms.MessageContent, len(view))
	for i, v := range view {
		shown[i] = toChain(v)
	}
	return p.Model.GenerateContent(ctx, shown, options...)
}

var chainRoles = map[llms.ChatMessageType]transcript.Role{
	llms.ChatMessageTypeSystem: transcript.RoleSystem, llms.ChatMessageTypeHuman: transcript.RoleUser,
	llms.ChatMessageTypeAI: transcript.RoleAssistant, llms.ChatMessageTypeTool: transcript.RoleTool,
}

func fromChain(m llms.MessageContent) pleat.Message {
	var blocks []pleat.Block
	for _, part := range m.Parts {
		switch p := part.(type) {
		case llms.TextContent:
			blocks = append(blocks, pleat.Say(p.Text))
		case llms.ToolCall:
			blocks = append(blocks, pleat.Call(p.ID, p.FunctionCall.Name, p.FunctionCall.Arguments))
		case llms.ToolCallResponse:
			blocks = append(blocks, pleat.Result(p.ToolCallID, p.Content))
		}
	}
	return transcript.NewMessage(chainRoles[m.Role], blocks...)
}

func toChain(m pleat.Message) llms.MessageContent {
	out := llms.MessageContent{Role: llms.ChatMessageTypeHuman}
	for role, r := range chainRoles {
		if r == m.Role() {
			out.Role = role
		}
	}
	for _, b := range m.Blocks().All() {
		switch b := b.(type) {
		case transcript.Text:
			out.Parts = append(out.Parts, llms.TextPart(b.Text.String()))
		case pleat.ToolCall:
			call := &llms.FunctionCall{Name: b.Name, Arguments: b.Input.String()}
			out.Parts = append(out.Parts, llms.ToolCall{ID: b.ID, Type: "function", FunctionCall: call})
		case pleat.ToolResult:
			out.Parts = append(out.Parts, llms.ToolCallResponse{ToolCallID: b.CallID, Content: b.Text()})
		}
	}
	return out
}

// A langchaingo program gets another model and keeps its loop. Calls of the recall tools go to
// the session.
func Example_langchaingo() {
	ctx := context.Background()
	session, err := pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "chain"},
		&pleat.Options{Budget: pleat.Budget{Window: window}, Tools: pleat.RecallTools()})
	if err != nil {
		log.Fatal(err)
	}
	model := &pleated{new(chainModel), session}
	history := []llms.MessageContent{
		llms.TextParts(llms.ChatMessageTypeSystem, "Be brief."),
		llms.TextParts(llms.ChatMessageTypeHuman, "What is the price of part 3?"),
	}
	for {
		out, err := model.GenerateContent(ctx, history) // llms.WithTools goes here
		if err != nil {
			log.Fatal(err)
		}
		choice := out.Choices[0]
		if len(choice.ToolCalls) == 0 {
			fmt.Println(choice.Content)
			break
		}
		for _, c := range choice.ToolCalls {
			result, ours := model.session.Answer(ctx, pleat.Call(c.ID, c.FunctionCall.Name, c.FunctionCall.Arguments))
			if !ours {
				result = pleat.Result(c.ID, read(c.FunctionCall.Arguments))
			}
			response := llms.ToolCallResponse{ToolCallID: c.ID, Name: c.FunctionCall.Name, Content: result.Text()}
			history = append(history, llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{c}},
				llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{response}})
		}
	}
	fmt.Println(model.session.Len(), "messages, session", model.session.Key().Session, model.session.Close())
	// Output:
	// Part 3 costs 103.
	// 64 messages, session chain <nil>
}
