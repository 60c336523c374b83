package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	wire "github.com/pleat-dev/pleat/wire/anthropic"
)

// fromAnthropic makes a message of the session of one of the SDK, and toAnthropic the reverse. The bytes stay.
func fromAnthropic(m anthropic.MessageParam) (pleat.Message, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return pleat.Message{}, err
	}
	return wire.DecodeMessage(raw)
}

func toAnthropic(m pleat.Message) (anthropic.MessageParam, error) {
	raw, err := wire.EncodeMessage(m)
	return param.Override[anthropic.MessageParam](json.RawMessage(raw)), err
}

func toolToAnthropic(t pleat.Tool) anthropic.ToolUnionParam {
	return anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
		Name: t.Name, Description: param.NewOpt(t.Description),
		InputSchema: param.Override[anthropic.ToolInputSchemaParam](json.RawMessage(t.Schema)),
	}}
}

func usageOfAnthropic(u anthropic.Usage) pleat.Usage {
	return pleat.Usage{
		Input: int(u.InputTokens), Output: int(u.OutputTokens), CacheRead: int(u.CacheReadInputTokens),
		CacheWrite:   int(u.CacheCreation.Ephemeral5mInputTokens),
		CacheWrite1h: int(u.CacheCreation.Ephemeral1hInputTokens),
	}
}

// errorOfAnthropic makes of the SDK's error one that the session understands.
func errorOfAnthropic(err error) error {
	e := new(anthropic.Error)
	if !errors.As(err, &e) {
		return err
	}
	return model.ClassifyError(e.StatusCode, e.Response.Header.Get("Retry-After"), []byte(e.RawJSON()))
}

// anthropicAgent appends what is said to its session, and has no history besides.
type anthropicAgent struct {
	client  anthropic.Client
	session *pleat.Session
	tools   []pleat.Tool
}

// ask streams an answer. Thinking that folds make invalid is dropped, as the session's Thinking.Drops says.
func (a *anthropicAgent) ask(ctx context.Context) (*anthropic.Message, error) {
	view, err := a.session.Messages(ctx)
	if err != nil {
		return nil, err
	}
	adaptive := &anthropic.ThinkingConfigAdaptiveParam{}
	adaptive.SetExtraFields(map[string]any{"block_binding": map[string]any{"prefix_mismatch_behavior": "drop_block"}})
	params := anthropic.MessageNewParams{
		Model: "claude-opus-5-5", MaxTokens: 2_000, Thinking: anthropic.ThinkingConfigParamUnion{OfAdaptive: adaptive},
	}
	for _, t := range a.tools {
		params.Tools = append(params.Tools, toolToAnthropic(t))
	}
	for _, m := range view {
		p, err := toAnthropic(m)
		if err != nil {
			return nil, err
		}
		params.Messages = append(params.Messages, p)
	}
	out := new(anthropic.Message)
	stream := a.client.Messages.NewStreaming(ctx, params, option.WithHeaderAdd("anthropic-beta", wire.BindingBeta))
	defer stream.Close()
	for stream.Next() {
		if err := out.Accumulate(stream.Current()); err != nil { // show the event here
			return nil, err
		}
	}
	if err := errorOfAnthropic(stream.Err()); err != nil {
		if refused := new(pleat.APIError); errors.As(err, &refused) && refused.Overflow() {
			if _, err = a.session.Refused(ctx, refused); err == nil {
				return a.ask(ctx) // it folded more
			}
		}
		return nil, err
	}
	return out, a.session.Used(ctx, usageOfAnthropic(out.Usage))
}

// turn asks, answers the calls, and returns what the model said if there were none.
func (a *anthropicAgent) turn(ctx context.Context) (said string, done bool, err error) {
	out, err := a.ask(ctx)
	if err != nil {
		return "", false, err
	}
	msg, err := fromAnthropic(out.ToParam())
	if err == nil {
		err = a.session.Append(ctx, msg)
	}
	var results []pleat.ToolResult
	for _, call := range msg.Calls() {
		result, recalled := a.session.Answer(ctx, call)
		if !recalled {
			result = pleat.Result(call.ID, read(call.Input.String()))
		}
		results = append(results, result)
	}
	if err != nil || len(results) == 0 {
		return msg.Text(), true, err
	}
	return "", false, a.session.Append(ctx, pleat.Results(results...))
}

// Example_anthropic is a program over Anthropic's SDK that appends, streams and thinks, and is started anew in
// the middle.
func Example_anthropic() {
	ctx, st, server := context.Background(), store.NewMemory(), newProvider()
	defer server.Close()
	opus := model.Model{ID: "claude-opus-5-5", Thinking: model.ThinkingRule{Drops: true}}
	a := &anthropicAgent{
		client: anthropic.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("key")),
		tools:  append(pleat.RecallTools(), ownTool),
	}
	open := func() (err error) {
		a.session, err = pleat.OpenSession(ctx, st, pleat.Key{Session: "anthropic"},
			&pleat.Options{Wire: wire.Messages(opus), Budget: pleat.Budget{Window: window}, Tools: a.tools})
		if err == nil {
			_, err = a.session.Repair(ctx, nil) // a killed program may have left calls without results
		}
		return err
	}
	err := open()
	if err == nil {
		err = a.session.Append(ctx, pleat.User("What is the price of part 3?"))
	}
	said, done := "", false
	for turns := 0; err == nil && !done; turns++ {
		if turns == 20 {
			if err = errors.Join(a.session.Close(), open()); err != nil { // as after a restart
				break
			}
		}
		said, done, err = a.turn(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(said)
	fmt.Println(a.session.Len(), "messages, session", a.session.Key().Session, a.session.Close())
	// Output:
	// Part 3 costs 103.
	// 64 messages, session anthropic <nil>
}
