package sessionfile

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

// What agents leave behind becomes a request that every provider takes.
func TestSendable(t *testing.T) {
	long := "call_" + strings.Repeat("x", 80) + "|fc"
	msgs := []transcript.Message{
		transcript.User("begin"),
		transcript.Assistant(transcript.Call("a", "read", `{}`), transcript.Call(long, "read", `{}`)),
		transcript.User("typed meanwhile"),
		transcript.Results(transcript.Result("a", "one"), transcript.Result(long, "two")),
		// the id comes again; one is broken off
		transcript.Assistant(transcript.Call("a", "read", `{}`), transcript.Call("cut", "read", `{}`)),
		transcript.Results(transcript.Result("a", "three")),
		transcript.Assistant(transcript.Say(" \n"), transcript.Call("last", "read", `{}`)),
	}
	out := sendable(msgs)
	req := &model.Request{Model: "m", Messages: out}
	for name, check := range map[string]func() ([]transcript.Violation, error){
		"anthropic": func() ([]transcript.Violation, error) {
			body, err := anthropic.Encode(req)
			if err != nil {
				return nil, err
			}
			r, err := anthropic.Decode(body)
			return r.Check(model.Model{}), err
		},
		"chat": func() ([]transcript.Violation, error) {
			body, err := openai.EncodeChat(req)
			if err != nil {
				return nil, err
			}
			r, err := openai.DecodeChat(body)
			return r.Check(model.Model{}), err
		},
		"responses": func() ([]transcript.Violation, error) {
			body, err := openai.EncodeResponses(req)
			if err != nil {
				return nil, err
			}
			r, err := openai.DecodeResponses(body)
			return r.Check(model.Model{}), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			violations, err := check()
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range violations {
				t.Error(v)
			}
		})
	}
	legal := msgs[:1]
	if got := sendable(legal); got[0].Text() != "begin" {
		t.Errorf("a legal message was changed: %v", got)
	}
}

// A result that moves leaves its message in two: no answer's results are lost for that.
func TestSendableLateResults(t *testing.T) {
	var msgs []transcript.Message
	for _, id := range []string{"a", "b", "c"} {
		msgs = append(msgs,
			transcript.Assistant(transcript.Call(id, "read", `{}`)), transcript.User("typed meanwhile"),
			transcript.NewMessage(transcript.RoleUser, transcript.Result(id, "found "+id), transcript.Say("beside it")))
	}
	msgs = append(msgs, transcript.Assistant(transcript.Say("done")))
	found := 0
	for _, m := range sendable(msgs) {
		for _, b := range m.Blocks().All() {
			if r, ok := b.(transcript.ToolResult); ok && r.Text() == "found "+r.CallID {
				found++
			}
		}
	}
	if found != 3 {
		t.Errorf("%d of 3 results are sent", found)
	}
}
