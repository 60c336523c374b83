package openai

import (
	"errors"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

func edit(n, message, block int, text string) transcript.View {
	v := transcript.Whole(n)
	v.Messages[message].Edits = []transcript.BlockEdit{{Block: block, Text: text, Drop: text == ""}}
	return v
}

func TestSpliceRefuses(t *testing.T) {
	chat, responses := decoders[0], decoders[1]
	for _, tt := range []struct {
		name string
		d    decoder
		body string
		view transcript.View
		want error
	}{
		{"a message that is not there", chat, msgs(user), transcript.Whole(2), transcript.ErrBadView},
		{
			"messages out of order", chat, msgs(user, user),
			transcript.View{Messages: []transcript.ViewMessage{{Source: 1}, {Source: 0}}},
			transcript.ErrBadView,
		},
		{"a block that is not there", chat, msgs(user), edit(1, 0, 1, "x"), transcript.ErrNoSuchBlock},
		{"dropping content that is a string", chat, msgs(user), edit(1, 0, 0, ""), transcript.ErrNotEditable},
		{
			"changing thinking", chat, msgs(`{"role":"assistant","content":"x","reasoning_content":"y"}`),
			edit(1, 0, 0, "z"),
			transcript.ErrNotEditable,
		},
		{
			"dropping the last part", chat, msgs(`{"role":"user","content":[{"type":"text","text":"x"}]}`),
			edit(1, 0, 0, ""),
			transcript.ErrBadView,
		},
		{"changing reasoning", responses, input(asks, rs1, says), edit(3, 1, 0, "z"), transcript.ErrNotEditable},
		{"changing an opaque item", responses, input(asks, trigger), edit(2, 1, 0, "z"), transcript.ErrNotEditable},
		{
			"changing a screenshot", responses,
			input(`{"type":"computer_call_output","call_id":"a","output":{"type":"computer_screenshot"}}`),
			edit(1, 0, 0, "z"),
			transcript.ErrNotEditable,
		},
		{
			"adding to no input", responses, `{"previous_response_id":"r"}`,
			transcript.View{Messages: []transcript.ViewMessage{{Source: -1, Made: transcript.User("y")}}},
			transcript.ErrBadView,
		},
		{
			"a made message of nothing", chat, msgs(user),
			transcript.View{
				Messages: []transcript.ViewMessage{{Source: 0}, {Source: -1, Made: transcript.Assistant()}},
			},
			transcript.ErrBadView,
		},
		{
			"a block behind the id", responses, input(asks, rs1, says),
			transcript.View{
				Messages: []transcript.ViewMessage{
					{Source: 0}, {Source: 2, Edits: []transcript.BlockEdit{{Block: 1, Text: "x"}}},
				},
			},
			transcript.ErrNoSuchBlock,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := tt.d.decode([]byte(tt.body))
			must(t, err)
			if out, err := r.Splice(tt.view); !errors.Is(err, tt.want) {
				t.Errorf("got %s, %v; want %v", out, err, tt.want)
			}
		})
	}
}

func TestSpliceForms(t *testing.T) {
	const (
		patch = `{"type":"apply_patch_call","call_id":"p","operation":{"type":"update_file","path":"a.go","diff":"@@ long"}}`
		shell = `{"type":"local_shell_call","call_id":"s","action":{"type":"exec","command":["cat","long"],"env":{}}}`
		local = `{"type":"local_shell_call_output","id":"s","output":"long"}`
	)
	for _, tt := range []struct {
		name, item, want string
	}{
		{"a patch", patch, strings.ReplaceAll(patch, "@@ long", "stub")},
		{"a shell call", shell, strings.ReplaceAll(shell, `["cat","long"]`, `["stub"]`)},
		{"a shell's output", local, strings.ReplaceAll(local, "long", "stub")},
	} {
		r := decoded(t, input(asks, tt.item))
		out, err := r.Splice(edit(2, 1, 0, "stub"))
		if want := input(asks, tt.want); err != nil || string(out) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", tt.name, err, out, want)
		}
	}
	r, _ := DecodeResponses([]byte(`{"input" : "long", "x":1}`))
	if out, err := r.Splice(edit(1, 0, 0, "stub")); err != nil || string(out) != `{"input" : "stub", "x":1}` {
		t.Errorf("string input: %s, %v", out, err)
	}
	said := transcript.View{Messages: []transcript.ViewMessage{{Source: 0}, {Source: -1, Made: transcript.User("y")}}}
	const listed = `{"input" : [{"role":"user","content":"long"},{"type":"message","role":"user","content":"y"}], "x":1}`
	if out, err := r.Splice(said); err != nil || string(out) != listed {
		t.Errorf("string input with another message: %s, %v", out, err)
	}
}

// Thinking of the Chat wire is left out with all members that hold it, if it is signed; else it stays as long as
// its message. Calls whose arguments have no place for text stay as they are.
func TestChatThinking(t *testing.T) {
	const said, call = `"content":"x"`, `"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"n":1}}}]`
	for _, tt := range []struct {
		members, without string
		stays            bool
	}{
		{`"reasoning_content":"hm",` + said, said, true},
		{said + `, "reasoning":"hm","reasoning_content":"hm"`, said, true},
		{`"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}],` + said, said, true},
		{`"reasoning":null,"reasoning_details":[{"type":"reasoning.encrypted","data":"s"}],` + said, said, false},
		{said + `,"thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"s"}],` + call, said + "," + call, false},
	} {
		r, err := DecodeChat([]byte(msgs(user, `{"role":"assistant",`+tt.members+`}`)))
		must(t, err)
		th, thinks := r.Messages[1].Blocks().At(0).(transcript.Thinking)
		if !thinks || th.Stays != tt.stays || th.Raw == "" {
			t.Errorf("%s is %#v", tt.members, r.Messages[1].Blocks().At(0))
		}
		out, err := r.Splice(edit(2, 1, 0, ""))
		if want := msgs(user, `{"role":"assistant",`+tt.without+`}`); err != nil || string(out) != want {
			t.Errorf("%v: %s, want %s", err, out, want)
		}
		for _, b := range r.Messages[1].Blocks().List() {
			if c, ok := b.(transcript.ToolCall); ok && !c.Signed {
				t.Errorf("%s: the call could be edited", tt.members)
			}
		}
	}
}

// A made result of several kinds, in the place of what was there.
func TestSpliceMadeRound(t *testing.T) {
	r, err := DecodeChat([]byte("{\"messages\": [\n  " + user + ",\n  " + user + "\n]}"))
	must(t, err)
	out, err := r.Splice(transcript.View{Messages: []transcript.ViewMessage{
		{Source: 0},
		{Source: -1, Made: transcript.Assistant(transcript.Call("a", "f", "{}"), transcript.Call("b", "f", "{}"))},
		{Source: -1, Made: transcript.Results(transcript.Result("a", "1"), transcript.Result("b", "2"))},
		{Source: 1},
	}})
	must(t, err)
	back, err := DecodeChat(out)
	must(t, err)
	if v := back.Check(model.Model{}); len(v) > 0 || len(back.Messages) != 5 {
		t.Errorf("%v\n%s", v, out)
	}
}

func TestDecodeRefuses(t *testing.T) {
	const second = "decode chat request: messages[1]: invalid JSON at offset 30"
	if _, err := DecodeChat([]byte(`{"messages":[{"role":"user"},{x}]}`)); err == nil ||
		!strings.HasPrefix(err.Error(), second) {
		t.Errorf("got %v, want %s", err, second)
	}
	for _, tt := range []struct{ body, want string }{
		{`{"messages":[`, "invalid JSON at offset 13"},
		{`{"model":"m"}`, "no "},
		{`[]`, "no "},
		{`{"messages":"x","input":7}`, "no "},
		{`{"messages":[` + strings.Repeat("[", 600), "nested too deep at offset"},
		{`{"tools":[},"messages":[]}`, "tools: invalid JSON at offset 10"},
	} {
		for _, d := range decoders {
			if _, err := d.decode([]byte(tt.body)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %.40s: got %v, want %s", d.name, tt.body, err, tt.want)
			}
		}
	}
}

// Tools that stand in the input are found, and others can be added beside them.
func TestInputTools(t *testing.T) {
	const input = `"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"}]},{"type":"web_search"}]},{"role":"user","content":"Go."}]`
	more := []model.Tool{{Name: "look", Schema: `{"type":"object"}`}}
	const list = `[{"type":"function","name":"look","parameters":{"type":"object"},"strict":false}]`
	for _, tt := range []struct{ body, want string }{
		{`{"model":"m",` + input + `}`, `{"tools":` + list + `,"model":"m",` + input + `}`},
		{` { ` + input + `,"tools":null}`, ` { ` + input + `,"tools":` + list + `}`},
		{`{` + input + `,"tools":[]}`, `{` + input + `,"tools":` + list + `}`},
		{`{"input":"Go."}`, `{"input":"Go."}`},
	} {
		r := decoded(t, tt.body)
		var names []string
		for _, tool := range r.InputTools() {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != "exec web_search" && len(r.Messages) > 1 {
			t.Errorf("tools of %s: %s", tt.body, got)
		}
		got, err := r.Splice(transcript.Whole(len(r.Messages)), more...)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s\nbecomes %s\nwant    %s\nerror   %v", tt.body, got, tt.want, err)
		}
	}
}
