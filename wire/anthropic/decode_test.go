package anthropic

import (
	"errors"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/transcript"
)

func mustDecode(t testing.TB, body string) *Request {
	t.Helper()
	r, err := Decode([]byte(body))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return r
}

func TestDecodeTop(t *testing.T) {
	r := mustDecode(t, `{"messages":[{"role":"user","content":"hi"}],"system":[{"type":"text","text":"a"},{"type":"text","text":"b"}],
		"tools":[{"name":"run","description":"runs\n","input_schema":{"type":"object"}},{"type":"memory_20250818","name":"memory"}],
		"model":"m","max_tokens":1e3,"stream":true}`)
	if r.Model != "m" || len(r.System) != 2 || len(r.Tools) != 2 || len(r.Messages) != 1 {
		t.Errorf("decoded %+v", r)
	}
	if tool := r.Tools[0]; tool.Name != "run" || tool.Description != "runs\n" || tool.Schema != `{"type":"object"}` ||
		!strings.HasPrefix(tool.Raw, `{"name"`) {
		t.Errorf("tool is %+v", tool)
	}
}

// TestDecodeTwice: of a member that occurs twice the last one counts, as it does for
// every JSON reader that providers use.
func TestDecodeTwice(t *testing.T) {
	r := mustDecode(t, `{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}],"model":"x","model":"y",
		"messages":[{"role":"user","role":"assistant","content":[{"type":"text","text":"old","cache_control":{"type":"ephemeral"}}],"content":[{"type":"text","text":"old","text":"new"}]}]}`)
	if r.Model != "y" || len(r.Messages) != 1 || r.Messages[0].Role() != transcript.RoleAssistant ||
		r.Messages[0].Text() != "new" {
		t.Errorf("decoded %+v", r)
	}
	if n := len(r.Markers()); n != 0 {
		t.Errorf("%d markers, want none", n)
	}
}

func TestDecodeBlocks(t *testing.T) {
	tests := []struct {
		name, block string
		kind        transcript.Kind
		editable    bool
		text        string
	}{
		{"text", `{"type":"text","text":"a\nb"}`, transcript.KindText, true, "a\nb"},
		{"type last", `{"text":"a","type":"text"}`, transcript.KindText, true, "a"},
		{"cited text", `{"type":"text","text":"a","citations":[{"n":1}]}`, transcript.KindText, false, "a"},
		{"text without text", `{"type":"text"}`, transcript.KindOpaque, false, ""},
		{"thinking", `{"type":"thinking","thinking":"t","signature":"s"}`, transcript.KindThinking, false, "t"},
		{"redacted thinking", `{"type":"redacted_thinking","data":"d"}`, transcript.KindThinking, false, ""},
		{"call", `{"type":"tool_use","id":"i","name":"n","input":{"a": 1}}`, transcript.KindToolCall, true, `{"a": 1}`},
		{"call without input", `{"type":"tool_use","id":"i","name":"n"}`, transcript.KindToolCall, false, ""},
		{"call without id", `{"type":"tool_use","name":"n","input":{}}`, transcript.KindOpaque, false, ""},
		{"result", `{"type":"tool_result","tool_use_id":"i","content":"r"}`, transcript.KindToolResult, true, "r"},
		{"result of parts", `{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"r"},{"type":"image","source":{}},{"type":"text","text":"s"}]}`, transcript.KindToolResult, true, "r\ns"},
		{"result without content", `{"type":"tool_result","tool_use_id":"i"}`, transcript.KindToolResult, false, ""},
		{
			"result of null", `{"type":"tool_result","tool_use_id":"i","content":null}`, transcript.KindToolResult,
			false, "",
		},
		{
			"result of a wrong kind", `{"type":"tool_result","tool_use_id":"i","content":{}}`,
			transcript.KindToolResult, false,
			"",
		},
		{
			"result with a reference",
			`{"type":"tool_result","tool_use_id":"i","content":[{"type":"tool_reference","tool_name":"x"}]}`,
			transcript.KindToolResult, false, "",
		},
		{
			"image", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`,
			transcript.KindImage, false, "",
		},
		{"document", `{"type":"document","source":{"type":"text","data":"x"}}`, transcript.KindOpaque, false, ""},
		{"not an object", `"words"`, transcript.KindOpaque, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := mustDecode(t, `{"messages":[{"role":"user","content":[`+tt.block+`]}]}`)
			b, place := r.Messages[0].Blocks().At(0), r.body.Elements[0].Places[0]
			if b.Kind() != tt.kind || transcript.BlockText(b) != tt.text {
				t.Errorf("got %s %q, want %s %q", b.Kind(), transcript.BlockText(b), tt.kind, tt.text)
			}
			if got := !place.Content.IsZero(); got != tt.editable {
				t.Errorf("editable: %v, want %v", got, tt.editable)
			}
			if got := string(place.Whole.Of([]byte(r.Messages[0].Raw()))); got != tt.block {
				t.Errorf("its bytes are %s, want %s", got, tt.block)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	tests := []struct{ body, want string }{
		{``, "decode request: "},
		{`[]`, "decode request: "},
		{`{"model":"m"}`, "decode request: no messages array"},
		{`{"messages":{}}`, "decode request: no messages array"},
		{`{"messages":[{"role":"user","content":"x"}]`, "decode request: "},
		{`{"messages":[{"role":"user","content":"x"},{"role":}]}`, "decode request: messages[1]: "},
		{
			`{"messages":[{"role":"user","content":[{},{"type":"text","text":"` + "\x01" + `"}]}]}`,
			"decode request: messages[0]: ",
		},
		{`{"system":[{},{]}`, "decode request: system: "},
		{`{"tools":[{},{},!]}`, "decode request: tools: "},
		{`{"messages":[],"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, "decode request: "},
	}
	for _, tt := range tests {
		_, err := Decode([]byte(tt.body))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("Decode(%.60s): %v, want %q…", tt.body, err, tt.want)
		}
	}
	var syntax *jsonspan.SyntaxError
	if _, err := Decode([]byte(`{"messages":[}`)); !errors.As(err, &syntax) || syntax.Offset != 13 {
		t.Errorf("error is %v, want a syntax error at byte 13", err)
	}
}

func TestSpliceRefuses(t *testing.T) {
	r := mustDecode(t, msgs(hi, asst(think, say, use1, use2),
		user(res1, `{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"tool_reference","tool_name":"x"}]}`)))
	edit := func(message int, e transcript.BlockEdit) transcript.View {
		v := transcript.Whole(3)
		v.Messages[message].Edits = []transcript.BlockEdit{e}
		return v
	}
	tests := []struct {
		name string
		view transcript.View
		want error
	}{
		{"edit thinking", edit(1, transcript.BlockEdit{Block: 0, Text: "x"}), transcript.ErrNotEditable},
		{"edit a reference", edit(2, transcript.BlockEdit{Block: 1, Text: "x"}), transcript.ErrNotEditable},
		{"drop a reference", edit(2, transcript.BlockEdit{Block: 1, Drop: true}), transcript.ErrNotEditable},
		{"drop string content", edit(0, transcript.BlockEdit{Block: 0, Drop: true}), transcript.ErrNotEditable},
		{
			"edit a block that is not there", edit(1, transcript.BlockEdit{Block: 9, Text: "x"}),
			transcript.ErrNoSuchBlock,
		},
		{"input that is not JSON", edit(1, transcript.BlockEdit{Block: 2, Text: "{"}), transcript.ErrBadView},
		{
			"messages out of order",
			transcript.View{Messages: []transcript.ViewMessage{{Source: 1}, {Source: 0}}},
			transcript.ErrBadView,
		},
		{
			"message that is not there",
			transcript.View{Messages: []transcript.ViewMessage{{Source: 3}}},
			transcript.ErrBadView,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := r.Splice(tt.view); !errors.Is(err, tt.want) {
				t.Errorf("error is %v, want %v", err, tt.want)
			}
		})
	}
	out, err := r.Splice(edit(1, transcript.BlockEdit{Block: 0, Drop: true}))
	if want := msgs(hi, asst(say, use1, use2), r.Messages[2].Raw()); err != nil || string(out) != want {
		t.Errorf("dropping thinking: %v\ngot  %s\nwant %s", err, out, want)
	}
}

func TestMarkers(t *testing.T) {
	r := mustDecode(t, `{`+marked5m+`,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x",`+marked5m+`}]},
		{"type":"text","text":"y",`+marked5m+`}]}],"system":[{"type":"text","text":"s",`+marked1h+`}],"tools":[{"name":"a"},{"name":"b",`+marked1h+`}]}`)
	want := []Marker{
		{"tools.1", "1h"},
		{"system.0", "1h"},
		{"messages.0.content.0.content.0", "5m"},
		{"messages.0.content.1", "5m"},
		{"", "5m"},
	}
	got := r.Markers()
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("marker %d is %v, want %v", i, got[i], want[i])
		}
	}
}
