package gemini

import (
	"errors"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

func decode(t *testing.T, body string) *Request {
	t.Helper()
	r, err := Decode([]byte(body))
	must(t, err)
	return r
}

func contents(list ...string) string { return `{"contents":[` + strings.Join(list, ",") + `]}` }

const (
	asks   = `{"role":"user","parts":[{"text":"go"}]}`
	calls  = `{"role":"model","parts":[{"functionCall":{"name":"run","args":{"x": 1.0}},"thoughtSignature":"c2ln"}]}`
	answer = `{"role":"user","parts":[{"functionResponse":{"name":"run","response":{"output":"done"}}}]}`
	says   = `{"role":"model","parts":[{"text":"ok"}]}`
)

func TestDecodeRequest(t *testing.T) {
	r := decode(t, `{"contents":[`+asks+`],"system_instruction":{"parts":[{"text":"be"},{"text":"kind"}]},"cachedContent":"cachedContents/1",
		"tools":[{"googleSearch":{}},{"function_declarations":[{"name":"run","description":"d","parameters":{"type":"OBJECT"}}]}],
		"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"generationConfig":{"maxOutputTokens":1e3}}`)
	if len(r.System) != 2 || len(r.Tools) != 2 || r.Tools[0].Name != "googleSearch" || r.Tools[1].Name != "run" ||
		r.Tools[1].Description != "d" ||
		r.Tools[1].Schema != `{"type":"OBJECT"}` || !r.Partial() {
		t.Errorf("%+v", r)
	}
	for _, body := range []string{`{`, `{}`, `{"contents":{}}`, `[]`, `{"contents":[1}`} {
		if _, err := Decode([]byte(body)); err == nil {
			t.Errorf("%s decodes", body)
		}
	}
}

// Each part becomes a block that says what it holds.
func TestDecodeParts(t *testing.T) {
	for _, tt := range []struct {
		part string
		want transcript.Block
		text string
	}{
		{`{"text":"x"}`, transcript.Text{}, "x"},
		{`{"text":"x","thoughtSignature":"cw=="}`, transcript.Text{}, "x"},
		{`{"text":"x","thought":true}`, transcript.Thinking{}, "x"},
		{`{"text":"","thoughtSignature":"cw=="}`, transcript.Thinking{Redacted: true, Signature: "cw=="}, ""},
		{`{"functionCall":{"id":"c1","name":"f","args":{"a":1}}}`, transcript.ToolCall{ID: "c1", Name: "f"}, `{"a":1}`},
		{`{"functionCall":{"id":"f__c1","name":"f"}}`, transcript.ToolCall{ID: "c1", Name: "f"}, ""},
		{`{"functionCall":{"id":"f__f_1763231123456_0","name":"f"}}`, transcript.ToolCall{ID: "f", Name: "f"}, ""},
		{
			`{"functionCall":{"id":"f__synth_p_1763231123456_0","name":"f"}}`,
			transcript.ToolCall{ID: "f", Name: "f"},
			"",
		},
		{
			`{"function_call":{"name":"f"},"thought_signature":"cw=="}`,
			transcript.ToolCall{ID: "f", Name: "f", Signed: true},
			"",
		},
		{
			`{"functionResponse":{"id":"c1","name":"f","response":{"output":"x\n"}}}`,
			transcript.ToolResult{CallID: "c1"},
			"x\n",
		},
		{
			`{"functionResponse":{"name":"f","response":{"error":"no"}}}`,
			transcript.ToolResult{CallID: "f", Error: true},
			"no",
		},
		{
			`{"functionResponse":{"name":"f","response":{"a":1,"b":"x"}}}`,
			transcript.ToolResult{CallID: "f"},
			`{"a":1,"b":"x"}`,
		},
		{`{"functionResponse":{"name":"f","response":{}}}`, transcript.ToolResult{CallID: "f"}, `{}`},
		{`{"functionResponse":{"name":"f","response":{"output":"x"},"parts":[{"inlineData":{"mimeType":"image/png","data":"aa=="}}]}}`, transcript.ToolResult{CallID: "f"}, "x"},
		{`{"inlineData":{"mimeType":"image/png","data":"aa=="}}`, transcript.Image{MediaType: "image/png"}, ""},
		{`{"fileData":{"mimeType":"image/png","fileUri":"u"}}`, transcript.Image{MediaType: "image/png", URL: "u"}, ""},
		{`{"inlineData":{"mimeType":"application/pdf","data":"aa=="}}`, transcript.Opaque{Type: "inlineData"}, ""},
		{`{"executableCode":{}}`, transcript.Opaque{Type: "executableCode"}, ""},
		{`{"functionCall":{}}`, transcript.Opaque{Type: "functionCall"}, ""},
		{`{}`, transcript.Opaque{}, ""},
		{`7`, transcript.Opaque{}, ""},
	} {
		m, err := DecodeMessage([]byte(`{"role":"model","parts":[` + tt.part + `]}`))
		if err != nil || m.Blocks().Len() != 1 || m.Format() != transcript.FormatGemini ||
			m.Role() != transcript.RoleAssistant {
			t.Fatalf("%s: %v", tt.part, err)
		}
		b := m.Blocks().At(0)
		if raw, _ := transcript.BlockJSON(b); raw != tt.part {
			t.Errorf("%s is kept as %s", tt.part, raw)
		}
		if got, want := brief(b), brief(tt.want); got != want || transcript.BlockText(b) != tt.text &&
			b.Kind() != transcript.KindImage && b.Kind() != transcript.KindOpaque {
			t.Errorf("%s is %s %q, want %s %q", tt.part, got, transcript.BlockText(b), want, tt.text)
		}
	}
}

// brief says of a block what is not its content.
func brief(b transcript.Block) string {
	out := b.Kind().String()
	switch b := b.(type) {
	case transcript.Thinking:
		if b.Redacted {
			out += " redacted " + b.Signature
		}
	case transcript.ToolCall:
		if out += " " + b.ID + " " + b.Name; b.Signed {
			out += " signed"
		}
	case transcript.ToolResult:
		if out += " " + b.CallID; b.Error {
			out += " failed"
		}
	case transcript.Image:
		out += " " + b.MediaType + b.URL
	case transcript.Opaque:
		out += " " + b.Type
	}
	return out
}

// Calls and responses without ids belong together by name and order, and read one by one
// they still do.
func TestPairing(t *testing.T) {
	body := contents(asks,
		`{"role":"model","parts":[{"functionCall":{"name":"a"}},{"functionCall":{"name":"b"}},{"functionCall":{"name":"a"}},{"functionCall":{"id":"x","name":"a"}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"id":"x","name":"a","response":{"output":"4"}}},{"functionResponse":{"name":"a","response":{"output":"1"}}},
			{"functionResponse":{"name":"b","response":{"output":"2"}}},{"functionResponse":{"name":"a","response":{"output":"3"}}}]}`,
		calls, answer, calls, answer)
	var msgs []transcript.Message
	for _, m := range decode(t, body).Messages {
		one, err := DecodeMessage([]byte(m.Raw()))
		must(t, err)
		msgs = append(msgs, one)
	}
	tr := transcript.NewTranscript(msgs...)
	if len(tr.Rounds()) != 3 || len(tr.Orphans()) > 0 {
		t.Fatalf("%d rounds, %d orphans", len(tr.Rounds()), len(tr.Orphans()))
	}
	for i, c := range tr.Rounds()[0].Calls {
		if got := transcript.BlockText(tr.Block(c.Result)); !c.Answered || got != string(rune('1'+i)) {
			t.Errorf("call %d: answered by %q", i, got)
		}
	}
	if vs := decode(t, body).Check(model.Model{}); len(vs) > 0 {
		t.Error(vs)
	}
}

func TestSplice(t *testing.T) {
	stub := func(part, want string) {
		t.Helper()
		body := contents(asks, calls, `{"role":"user","parts":[`+part+`]}`)
		v := transcript.Whole(3)
		v.Messages[2].Edits = []transcript.BlockEdit{{Block: 0, Text: "[s]"}}
		out, err := decode(t, body).Splice(v)
		if got := strings.TrimPrefix(string(out), strings.TrimSuffix(contents(asks, calls), "]}")); err != nil ||
			got != `,{"role":"user","parts":[`+want+`]}]}` {
			t.Errorf("%s\nbecame %s, %v\nwant %s", part, got, err, want)
		}
	}
	stub(`{"functionResponse":{"id":"c" ,"name":"run","response":{ "output" :"x"}}}`,
		`{"functionResponse":{"id":"c" ,"name":"run","response":{ "output" :"[s]"}}}`)
	stub(`{"functionResponse":{"name":"run","response":{"a":1,"b":"x"}}}`,
		`{"functionResponse":{"name":"run","response":{"output":"[s]"}}}`)
	stub(`{"functionResponse":{"name":"run","response":{"error":{"code":1}}}}`,
		`{"functionResponse":{"name":"run","response":{"error":"[s]"}}}`)
	stub(`{"functionResponse":{"name":"run"}}`, `{"functionResponse":{"name":"run","response":{"output":"[s]"}}}`)
	stub(`{"functionResponse":{"name":"run","parts":[{"inlineData":{"mimeType":"image/png","data":"aa=="}}],"id":"7","response":{"output":"x"}}}`,
		`{"functionResponse":{"name":"run","id":"7","response":{"output":"[s]"}}}`)
	stub(`{"text" : "x","partMetadata":{}}`, `{"text" : "[s]","partMetadata":{}}`)
	stub(`{"text":"x","thoughtSignature":"cw==","partMetadata":{}}`, `{"partMetadata":{},"text":"[s]"}`)
	stub(`{"thought_signature":"cw==","text":"x"}`, `{"text":"[s]"}`)

	body := contents(asks, `{"role":"model","parts":[{"text":"x","thought":true},{"executableCode":{}},`+
		`{"functionCall":{"name":"run"}},{"functionCall":{"name":"run","args":{"x":1}},"thoughtSignature":"cw=="}]}`,
		answer)
	for _, e := range []transcript.BlockEdit{
		{Block: 0, Text: "x"}, {Block: 1, Text: "x"}, {Block: 2, Text: "{}"}, {Block: 3, Text: "{}"},
	} {
		v := transcript.Whole(3)
		v.Messages[1].Edits = []transcript.BlockEdit{e}
		if _, err := decode(t, body).Splice(v); !errors.Is(err, transcript.ErrNotEditable) {
			t.Errorf("block %d: %v", e.Block, err)
		}
	}
}

// Responses that a view adds stand in one content with the client's own, because the
// provider takes the responses of an answer only together.
func TestSpliceResponses(t *testing.T) {
	both := `{"role":"model","parts":[{"functionCall":{"name":"run"}},{"functionCall":{"name":"unfold","id":"u"}}]}`
	hidden, err := DecodeMessage([]byte(both))
	must(t, err)
	ours, err := DecodeMessage(EncodeResults(hidden.Calls()[1:], []transcript.ToolResult{transcript.Result("u", "it")}))
	must(t, err)
	r := decode(t, contents(asks, calls, answer, asks))
	out, err := r.Splice(transcript.View{Messages: []transcript.ViewMessage{
		{Source: 0}, {Source: -1, Made: hidden}, {Source: -1, Made: ours}, {Source: 2}, {Source: 3},
	}})
	want := contents(asks, both,
		`{"role":"user","parts":[{"functionResponse":{"id":"u","name":"unfold","response":{"output":"it"}}},`+
			`{"functionResponse":{"name":"run","response":{"output":"done"}}}]}`, asks)
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
	if vs := decode(t, string(out)).Check(model.Model{}); len(vs) > 0 {
		t.Error(vs)
	}
}

// An answer that is shown as the provider gave it has its responses behind it under its own
// ids, whatever the client calls them.
func TestSpliceIDs(t *testing.T) {
	for _, tt := range []struct{ call, response, want string }{
		{
			`{"id":"c1","name":"run"}`, `{"id":"run__c1","name":"run","response":{ }}`,
			`{"id":"c1","name":"run","response":{ }}`,
		},
		{
			`{"name":"run"}`, `{"id":"run__run_1763231123456_0","name":"run","response":{}}`,
			`{"name":"run","response":{}}`,
		},
		{`{"name":"run"}`, `{"name":"run", "response":{}}`, `{"name":"run", "response":{}}`},
	} {
		made, err := DecodeMessage([]byte(`{"role":"model","parts":[{"functionCall":` + tt.call + `}]}`))
		must(t, err)
		content := func(response string) string {
			return `{"role":"user","parts":[{"functionResponse":` + response +
				`}]}`
		}
		out, err := decode(t, contents(asks, calls,
			content(tt.response))).Splice(transcript.View{Messages: []transcript.ViewMessage{
			{Source: 0},
			{Source: -1, Made: made},
			{Source: 2},
		}})
		if want := contents(asks, made.Raw(), content(tt.want)); err != nil || string(out) != want {
			t.Errorf("%v\n%s\nwant\n%s", err, out, want)
		}
	}
}

func TestSpliceTools(t *testing.T) {
	tools := []model.Tool{{Name: "unfold", Description: "d", Schema: `{"type":"object"}`}}
	const own = `{"name":"unfold","description":"d","parametersJsonSchema":{"type":"object"}}`
	for _, tt := range []struct{ tools, want string }{
		{`[{"functionDeclarations":[]}]`, `[{"functionDeclarations":[` + own + `]}]`},
		{
			`[{"functionDeclarations":[{"name":"a"}]},{"googleSearch":{}}]`,
			`[{"functionDeclarations":[{"name":"a"},` + own + `]},{"googleSearch":{}}]`,
		},
		{`[{"googleSearch":{}}]`, `[{"googleSearch":{}}]`},
	} {
		out, err := decode(t, `{"contents":[`+asks+`],"tools":`+tt.tools+`}`).Splice(transcript.Whole(1), tools...)
		if want := `{"contents":[` + asks + `],"tools":` + tt.want + `}`; err != nil || string(out) != want {
			t.Errorf("%v\n%s\nwant\n%s", err, out, want)
		}
	}
}

var must = difftest.Must
