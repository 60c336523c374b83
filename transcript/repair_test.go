package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

// A program died while two tools ran. Before the conversation goes on, the model has to
// be told how the calls ended.
func ExampleRepair() {
	msgs := []transcript.Message{
		transcript.User("Is the build green?"),
		transcript.Assistant(transcript.Call("c1", "bash", `{"command":"make"}`),
			transcript.Call("c2", "bash", `{"command":"make test"}`)),
	}
	msgs = transcript.Repair(msgs, func(c transcript.ToolCall) string {
		return "The program ended before " + c.Name + " answered. It may have run; look before you run it again."
	})
	for _, b := range msgs[2].Blocks().All() {
		r := b.(transcript.ToolResult)
		fmt.Println(r.CallID, r.Error, r.Text())
	}
	// Output:
	// c1 true The program ended before bash answered. It may have run; look before you run it again.
	// c2 true The program ended before bash answered. It may have run; look before you run it again.
}

func TestRepair(t *testing.T) {
	a, u, say := transcript.Assistant, transcript.User, transcript.Say
	call := func(id string) transcript.Block { return transcript.Call(id, "bash", `{}`) }
	res := func(id string) transcript.Message { return transcript.Results(transcript.Result(id, "ok")) }
	beside := func(text string, r transcript.Block) transcript.Message {
		return transcript.NewMessage(transcript.RoleUser, r, transcript.Say(text))
	}
	tests := []struct {
		name string
		msgs []transcript.Message
		open string // the unanswered calls
		want string // ids of calls, and of results after =; ! marks a result that was added
	}{
		{"nothing said", nil, "", ""},
		{"no calls", []transcript.Message{u("hi"), a(say("hello"))}, "", "user assistant"},
		{"answered", []transcript.Message{u("hi"), a(call("1")), res("1")}, "", "user 1 =1"},
		{"at the end", []transcript.Message{u("hi"), a(call("1"), call("2"))}, "1 2", "user 12 =1!=2!"},
		{
			"one answer in several elements",
			[]transcript.Message{a(call("1")), a(call("2")), a(say("so"))},
			"1 2",
			"1 2 assistant =1!=2!",
		},
		{"in the middle", []transcript.Message{a(call("1")), u("stop"), a(say("yes"))}, "1", "1 =1! user assistant"},
		{"some answered", []transcript.Message{a(call("1"), call("2")), res("2"), u("go on")}, "1", "12 =2 =1! user"},
		{"one answered at the end", []transcript.Message{a(call("1"), call("2")), res("1")}, "2", "12 =1 =2!"},
		{
			"answered beside words, which results go before",
			[]transcript.Message{a(call("1"), call("2")), beside("go on", transcript.Result("2", "ok"))},
			"1",
			"12 =1! =2",
		},
		{"several answers", []transcript.Message{a(call("1")), u("stop"), a(call("2"))}, "1 2", "1 =1! user 2 =2!"},
		{
			"an id used again",
			[]transcript.Message{a(call("1")), u("stop"), a(call("1")), res("1")},
			"1",
			"1 =1! user 1 =1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var open []string
			for _, c := range transcript.Unanswered(tt.msgs...) {
				open = append(open, c.ID)
			}
			if got := strings.Join(open, " "); got != tt.open {
				t.Errorf("Unanswered = %q, want %q", got, tt.open)
			}
			repaired := transcript.Repair(tt.msgs, func(c transcript.ToolCall) string { return c.ID + " was lost" })
			if got := outline(repaired); got != tt.want {
				t.Errorf("Repair = %q, want %q", got, tt.want)
			}
			if open := transcript.Unanswered(repaired...); len(open) > 0 {
				t.Errorf("still unanswered: %v", open)
			}
			if again := transcript.Repair(repaired, nil); outline(again) != outline(repaired) {
				t.Errorf("repaired twice: %q", outline(again))
			}
		})
	}
}

func outline(msgs []transcript.Message) string {
	var out []string
	for _, m := range msgs {
		s := ""
		for _, b := range m.Blocks().All() {
			switch b := b.(type) {
			case transcript.ToolCall:
				s += b.ID
			case transcript.ToolResult:
				s += "=" + b.CallID
				if b.Error && b.Text() == b.CallID+" was lost" {
					s += "!"
				}
			}
		}
		if s == "" {
			s = string(m.Role())
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// TestRepairByDefault answers calls when nobody says what the model is told.
func TestRepairByDefault(t *testing.T) {
	msgs := []transcript.Message{transcript.User("Look."), transcript.Assistant(transcript.Call("a", "read", "{}"))}
	for _, text := range []func(transcript.ToolCall) string{nil, func(transcript.ToolCall) string { return "" }} {
		got := transcript.Repair(msgs, text)
		if len(got) != 3 || !strings.Contains(got[2].Blocks().At(0).(transcript.ToolResult).Text(), "was lost") {
			t.Errorf("%v", got)
		}
	}
}
