package pleat

import (
	"context"

	"github.com/pleat-dev/pleat/internal/order"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/transcript"
)

// Messages returns the messages to send now, none while the session has none: [Session.View] and
// [Session.Resolve] in one. Results stand right behind their calls, also where something was said
// before they came. Programs that send bytes of a wire want the view itself, which also says whether
// thinking has to be dropped. The store, and so the context, is asked only if something has to be
// written or read.
func (s *Session) Messages(ctx context.Context) ([]Message, error) {
	v, err := s.View(ctx, Turn{})
	if err != nil {
		return nil, err
	}
	msgs, err := s.Resolve(ctx, v)
	return order.Results(msgs), err
}

// Answer answers a call to one of the [RecallTools] that [Options].Tools has. It reports
// false if the tool is none of them: then the call is the program's own to carry out. If the context
// ends while other calls have the session, the result is an error that says so.
func (s *Session) Answer(ctx context.Context, call ToolCall) (ToolResult, bool) {
	if err := s.wait(ctx); err != nil {
		return transcript.ErrorResult(call.ID, err.Error()), true
	}
	tool := s.recallTool(call.Name)
	s.mu.Unlock()
	if tool == "" {
		return ToolResult{}, false
	}
	text, failed, _ := s.Recall(ctx, tool, call.Input.String())
	r := transcript.Result(call.ID, text)
	r.Error = failed
	return r, true
}

// recallTool returns which recall tool the session's model knows by a name; empty: none. The
// lock is held.
func (s *Session) recallTool(name string) string {
	for _, tools := range [][]model.Tool{s.o.Tools, s.past} {
		for _, t := range tools {
			if t.Name == name {
				return recall.ToolOf(t)
			}
		}
	}
	return ""
}
