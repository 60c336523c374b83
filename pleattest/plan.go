package pleattest

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/page"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Source makes a conversation of messages that folds can be planned for, with no session and
// no store.
func Source(msgs ...transcript.Message) fold.Source {
	return conv.Of(tokens.NewTokenizer(model.Model{}, nil), msgs...)
}

// Plan pulls levers on a conversation with a window of so many tokens, as a session does when
// the view is red ([fold.Budget] says where that begins), and returns the plan. All messages
// before the newest answer count as seen. To try a policy, pass its steps: p.AtRed.
func Plan(t testing.TB, window int, msgs []transcript.Message, levers ...fold.Lever) *fold.Plan {
	t.Helper()
	return PlanWith(t, fold.PlanOptions{Limits: fold.Budget{Window: window}.Limits()}, msgs, levers...)
}

// PlanWith is like Plan with options. It fills in the trigger, what was seen, how stubs say to
// unfold, and who writes pages, where the options do not say.
func PlanWith(t testing.TB, o fold.PlanOptions, msgs []transcript.Message, levers ...fold.Lever) *fold.Plan {
	t.Helper()
	src := conv.Of(tokens.NewTokenizer(model.Model{}, nil), msgs...)
	o.Trigger = cmp.Or(o.Trigger, fold.TriggerRed)
	if o.Seen == 0 {
		for i, m := range msgs {
			if m.Role() == transcript.RoleAssistant {
				o.Seen = i
			}
		}
	}
	o.Answered = max(o.Answered, o.Seen)
	if o.Recall == nil {
		o.Recall = fold.UnfoldCall
	}
	if o.Pages == nil {
		o.Pages = page.NewWriter(src)
	}
	p, err := fold.Make(t.Context(), src, fold.Set{}, &fold.Policy{Name: "test", AtRed: levers}, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Folds lists what a plan folds, one fold a line, messages and blocks counted from 0: "mask 2.0"
// is block 0 of message 2, and "digest 1-5" messages 1 ≤ i < 5.
func Folds(p *fold.Plan) []string {
	var out []string
	for _, f := range p.Folds {
		where := fmt.Sprintf("%d-%d", f.Start, f.End)
		if !f.Whole() {
			where = fmt.Sprintf("%d.%d", f.Start, f.Block)
		}
		out = append(out, f.Lever+" "+where)
	}
	return out
}

// Reading is a conversation in which somebody asks for something and the agent reads n files,
// with a result of so many lines each.
func Reading(n, lines int) []transcript.Message {
	msgs := []transcript.Message{transcript.User("Read all files. Never touch legacy/.")}
	for i := range n {
		msgs = append(msgs, Round(i, "read_file", fmt.Sprintf(`{"path":"src/file%d.go"}`, i), lines)...)
	}
	return msgs
}

// Round is one call and its result. The lines of result i say so.
func Round(i int, tool, input string, lines int) []transcript.Message {
	id, text := fmt.Sprint("call_", i), ""
	for range lines {
		text += fmt.Sprintf("a line of result %d.\n", i)
	}
	return []transcript.Message{
		transcript.Assistant(transcript.Call(id, tool, input)), transcript.Results(transcript.Result(id, text)),
	}
}
