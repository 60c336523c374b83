package adopt

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// einoMemory is the memory of an eino agent. The agent stores back what rewrite returns, which
// the session recognizes as its own view.
type einoMemory struct{ session *pleat.Session }

// rewrite is a [react.AgentConfig].MessageRewriter. What it does with errors is in doc.go.
func (m *einoMemory) rewrite(ctx context.Context, history []*schema.Message) []*schema.Message {
	said := make([]pleat.Message, len(history))
	for i, h := range history {
		said[i] = fromEino(h)
	}
	if _, err := m.session.Sync(ctx, said); err != nil {
		log.Print(err)
		return history
	}
	view, err := m.session.Messages(ctx)
	if err != nil {
		log.Print(err)
		return history
	}
	var out []*schema.Message
	for _, v := range view {
		out = append(out, toEino(v)...)
	}
	return out
}

func fromEino(m *schema.Message) pleat.Message {
	switch m.Role {
	case schema.System:
		return transcript.NewMessage(transcript.RoleSystem, pleat.Say(m.Content))
	case schema.User:
		return pleat.User(m.Content)
	case schema.Tool:
		return pleat.Results(pleat.Result(m.ToolCallID, m.Content))
	}
	var blocks []pleat.Block
	if m.Content != "" {
		blocks = append(blocks, pleat.Say(m.Content))
	}
	for _, c := range m.ToolCalls {
		blocks = append(blocks, pleat.Call(c.ID, c.Function.Name, c.Function.Arguments))
	}
	return pleat.Assistant(blocks...)
}

// toEino returns a message for each result, as eino has them.
func toEino(m pleat.Message) []*schema.Message {
	out := &schema.Message{Role: schema.RoleType(m.Role()), Content: m.Text()}
	var results []*schema.Message
	for _, b := range m.Blocks().All() {
		switch b := b.(type) {
		case pleat.ToolCall:
			out.ToolCalls = append(out.ToolCalls, schema.ToolCall{
				ID: b.ID, Type: "function", Function: schema.FunctionCall{Name: b.Name, Arguments: b.Input.String()},
			})
		case pleat.ToolResult:
			results = append(results, schema.ToolMessage(b.Text(), b.CallID))
		}
	}
	if len(results) > 0 {
		return results
	}
	return []*schema.Message{out}
}

// einoTool is a tool of the agent: one that the session answers, or its own.
type einoTool struct {
	pleat.Tool
	memory *einoMemory
}

func (t einoTool) Info(context.Context) (*schema.ToolInfo, error) {
	params := new(jsonschema.Schema)
	err := json.Unmarshal([]byte(t.Schema), params)
	info := &schema.ToolInfo{Name: t.Name, Desc: t.Description}
	info.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(params)
	return info, err
}

func (t einoTool) InvokableRun(ctx context.Context, input string, _ ...tool.Option) (string, error) {
	if result, ours := t.memory.session.Answer(ctx, pleat.Call("", t.Name, input)); ours {
		return result.Text(), nil
	}
	return read(input), nil
}

// An eino agent gets a rewriter and the recall tools.
func Example_eino() {
	ctx := context.Background()
	defs := append(pleat.RecallTools(), ownTool)
	session, err := pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "eino"},
		&pleat.Options{Budget: pleat.Budget{Window: window}, Tools: defs})
	if err != nil {
		log.Fatal(err)
	}
	memory := &einoMemory{session}
	var tools []tool.BaseTool
	for _, def := range defs {
		tools = append(tools, einoTool{def, memory})
	}
	agent, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: einoModel{new(int)}, MessageRewriter: memory.rewrite, MaxStep: 100,
		ToolsConfig: compose.ToolsNodeConfig{Tools: tools},
	})
	if err != nil {
		log.Fatal(err)
	}
	question := []*schema.Message{schema.SystemMessage("Be brief."), schema.UserMessage("What is the price of part 3?")}
	out, err := agent.Generate(ctx, question)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Content)
	fmt.Println(memory.session.Len(), "messages, session", memory.session.Key().Session, memory.session.Close())
	// Output:
	// Part 3 costs 103.
	// 64 messages, session eino <nil>
}
