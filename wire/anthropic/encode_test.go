package anthropic

import (
	"errors"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

func mustEncode(t *testing.T, req *model.Request) string {
	t.Helper()
	out, err := Encode(req)
	must(t, err)
	again, err := Encode(req)
	if err != nil || string(again) != string(out) {
		t.Errorf("encoded again: %v\n%s\nwant\n%s", err, again, out)
	}
	r := mustDecode(t, string(out))
	if vs := r.Check(model.Model{}); len(vs) > 0 {
		t.Errorf("result is not legal: %v\n%s", vs, out)
	}
	return string(out)
}

func TestEncode(t *testing.T) {
	half := 0.5
	got := mustEncode(t, &model.Request{
		Model: "m", System: "be \"good\"", MaxTokens: 100, Temperature: &half, Stream: true, NoTools: true,
		SessionKey: "s",
		Tools: []model.Tool{
			{Name: "run", Description: "runs", Schema: `{"type":"object","x":1.0}`},
			{Name: "bare"},
			{Name: "own", Raw: `{"name":"own", "input_schema":{}}`},
			{Name: "memory", Raw: `{"type":"memory_20250818","name":"memory"}`},
			{Name: "chat", Raw: `{"type":"function","function":{}}`},
		},
		Messages: []transcript.Message{
			transcript.NewMessage(transcript.RoleDeveloper, transcript.Say("and kind")),
			transcript.User("hi"),
			transcript.Assistant(transcript.Say("ok"), transcript.Call("a", "run", `{"x": 1.0}`),
				transcript.Call("b|2", "run", "free text"), transcript.Call("c", "run", "")),
			transcript.Results(transcript.Result("b|2", "two")),
			transcript.Results(transcript.Result("a", "one")),
			transcript.User("go on"),
		},
	})
	want := `{"model":"m","max_tokens":100,"system":[{"type":"text","text":"be \"good\"\n\nand kind","cache_control":{"type":"ephemeral"}}],"tools":[` +
		`{"name":"run","description":"runs","input_schema":{"type":"object","x":1.0}},{"name":"bare","input_schema":{"type":"object"}},` +
		`{"name":"own", "input_schema":{}},{"type":"memory_20250818","name":"memory"},{"name":"chat","input_schema":{"type":"object"}}],` +
		`"tool_choice":{"type":"none"},"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"hi"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"a","name":"run","input":{"x": 1.0}},` +
		`{"type":"tool_use","id":"ID","name":"run","input":{"input":"free text"}},{"type":"tool_use","id":"c","name":"run","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"` + wire.NoResult +
		`","is_error":true},` +
		`{"type":"tool_result","tool_use_id":"ID","content":"two"},{"type":"tool_result","tool_use_id":"a","content":"one"},{"type":"text","text":"go on"}]}],` +
		`"temperature":0.5,"cache_control":{"type":"ephemeral"},"stream":true}`
	if want = strings.ReplaceAll(want, "ID", callID("b|2")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A call that came off the wire goes back as it came; so its result has its id, whatever that is.
func TestEncodeResultOfOwnCall(t *testing.T) {
	for _, id := range []string{"", "functions.run:0"} {
		answer := mustDecode(t, msgs(`{"role":"assistant","content":[{"type":"tool_use","id":"`+id+
			`","name":"run","input":{}}]}`)).Messages[0]
		got, err := Encode(&model.Request{Model: "m", Messages: []transcript.Message{
			transcript.User("hi"), answer, transcript.Results(transcript.Result(id, "one")),
		}})
		if want := `"tool_use_id":"` + id + `","content":"one"`; err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%v, without %s: %s", err, want, got)
		}
	}
}

func TestEncodeMessages(t *testing.T) {
	raw := mustDecode(t, msgs(`{"role":"user", "content":"as it came"}`)).Messages[0]
	foreign := transcript.WireMessage(transcript.RoleAssistant, transcript.FormatResponses, `{"type":"reasoning"}`,
		transcript.Thinking{
			Text: transcript.Plain("hm"), Signature: "enc",
			Raw: `{"type":"reasoning"}`,
		}, transcript.Text{Text: transcript.Plain("words"), Raw: `{"type":"output_text","text":"words"}`})
	shot := transcript.Image{URL: "data:image/png;base64,AAAA"}
	failed := transcript.ToolResult{CallID: "a", Error: true, Parts: transcript.BlocksOf(transcript.Say("no"), shot)}
	tests := []struct {
		name string
		msgs []transcript.Message
		want string // the messages array
	}{
		{
			"own bytes are kept",
			[]transcript.Message{raw, raw},
			`{"role":"user", "content":"as it came"},{"role":"user", "content":"as it came"}`,
		},
		{
			"foreign reasoning is left out",
			[]transcript.Message{transcript.User("hi"), foreign, transcript.User("x")},
			`{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"text","text":"words"}]},{"role":"user","content":[{"type":"text","text":"x"}]}`,
		},
		{
			"pictures of failed tools stand behind the results",
			[]transcript.Message{
				transcript.User("hi"),
				transcript.Assistant(transcript.Call("a", "n", "{}"),
					transcript.Call("b", "n", "{}")), transcript.Results(failed, transcript.Result("b", "ok")),
			},
			`{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}},{"type":"tool_use","id":"b","name":"n","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"no","is_error":true},{"type":"tool_result","tool_use_id":"b","content":"ok"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}`,
		},
		{
			"an open call at the end",
			[]transcript.Message{transcript.User("hi"), transcript.Assistant(transcript.Call("a", "n", "{}"))},
			`{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"` + wire.NoResult + `","is_error":true}]}`,
		},
		{
			"system messages wait for the results",
			[]transcript.Message{
				transcript.User("hi"), transcript.Assistant(transcript.Call("a", "n", "{}")),
				transcript.NewMessage(transcript.RoleSystem,
					transcript.Say("note")), transcript.Results(transcript.Result("a", "r")),
			},
			`{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]},{"role":"system","content":[{"type":"text","text":"note"}]}`,
		},
		{
			"empty text and empty messages are left out",
			[]transcript.Message{
				transcript.User("hi"), transcript.Assistant(transcript.Say(" ")), transcript.User("x"),
			},
			`{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"user","content":[{"type":"text","text":"x"}]}`,
		},
		{
			"blocks of unknown wires leave a note",
			[]transcript.Message{transcript.NewMessage(transcript.RoleUser,
				transcript.Opaque{Type: "web_search_call", Raw: `{"type":"web_search_call"}`}, transcript.Opaque{
					Type: "document",
					Raw:  `{"type":"document","source":{}}`,
				}, transcript.Image{})},
			`{"role":"user","content":[{"type":"text","text":"[web_search_call left out: it has no form here]"},{"type":"document","source":{}},{"type":"text","text":"[image left out: it has no form here]"}]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := mustEncode(t, &model.Request{Model: "m", Messages: tt.msgs})
			if want := `{"model":"m","max_tokens":16000,"messages":[` + tt.want + `]}`; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestEncodeErrors(t *testing.T) {
	tests := []struct {
		name string
		req  model.Request
	}{
		{"no messages", model.Request{}},
		{
			"result without a call",
			model.Request{
				Messages: []transcript.Message{transcript.User("hi"), transcript.Results(transcript.Result("a", "r"))},
			},
		},
		{
			"second result",
			model.Request{
				Messages: []transcript.Message{
					transcript.User("hi"), transcript.Assistant(transcript.Call("a", "n", "")),
					transcript.Results(transcript.Result("a", "r"), transcript.Result("a", "r")),
				},
			},
		},
		{
			"begins with the assistant",
			model.Request{Messages: []transcript.Message{transcript.Assistant(transcript.Say("hi"))}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if out, err := Encode(&tt.req); err == nil {
				t.Errorf("no error, but %s", out)
			}
		})
	}
	if _, err := EncodeMessage(transcript.Assistant()); !errors.Is(err, errNothing) {
		t.Errorf("empty message: %v", err)
	}
}

// TestEncodeKeepsMarkers: messages that bring their own markers get no automatic one.
func TestEncodeKeepsMarkers(t *testing.T) {
	m := mustDecode(t, msgs(user(`{"type":"text","text":"x",`+marked1h+`}`))).Messages[0]
	if got := mustEncode(t, &model.Request{
		Model: "m", SessionKey: "s",
		Messages: []transcript.Message{m},
	}); strings.Count(got, "cache_control") != 1 {
		t.Errorf("got %s", got)
	}
}

// TestEncodeEdited: a message that a view has edited has lost its bytes, its untouched
// blocks have not.
func TestEncodeEdited(t *testing.T) {
	r := mustDecode(t, msgs(hi, asst(think, `{"type":"tool_use","id":"toolu_1","name":"run","input":{"n": 1.0},"x":1}`),
		user(res1)))
	v := transcript.Whole(3)
	v.Messages[1].Edits = []transcript.BlockEdit{}
	v.Messages[2].Edits = []transcript.BlockEdit{{Block: 0, Text: "stub"}}
	out, err := v.Resolve(transcript.NewTranscript(r.Messages...))
	must(t, err)
	got := mustEncode(t, &model.Request{Model: "m", Messages: out})
	if want := `"input":{"n": 1.0},"x":1}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"stub"}]}`; !strings.Contains(got, want) {
		t.Errorf("got %s, want in it %s", got, want)
	}
}

// TestChecker: a view that cuts a round is refused although Encode would repair it, and
// what the transcript itself breaks is not the view's fault.
func TestChecker(t *testing.T) {
	check := Checker(model.Model{})
	tr := transcript.NewTranscript(transcript.User("hi"), transcript.Assistant(transcript.Call("a", "n", "{}")),
		transcript.Results(transcript.Result("a", "r")),
		transcript.Assistant(transcript.Say("ok"), transcript.Call("b", "n", "{}")))
	show := func(sources ...int) transcript.View {
		var v transcript.View
		for _, s := range sources {
			v.Messages = append(v.Messages, transcript.ViewMessage{Source: s})
		}
		return v
	}
	for _, v := range []transcript.View{transcript.Whole(4), show(0, 3)} {
		if err := check(v, tr); err != nil {
			t.Errorf("legal view %v: %v", v, err)
		}
	}
	for _, v := range []transcript.View{show(0, 1, 3), show(0, 2, 3), show(3)} {
		if err := check(v, tr); !errors.Is(err, transcript.ErrIllegal) {
			t.Errorf("view %v: %v, want ErrIllegal", v, err)
		}
	}
}

func TestDecodeMessage(t *testing.T) {
	m, err := DecodeMessage([]byte(user(res1)))
	if err != nil || m.Role() != transcript.RoleUser || m.Raw() != user(res1) ||
		m.Format() != transcript.FormatAnthropic {
		t.Errorf("got %v, %v", m, err)
	}
	for _, bad := range []string{"", "{", hi + "," + hi} {
		if _, err := DecodeMessage([]byte(bad)); err == nil {
			t.Errorf("DecodeMessage(%s) has no error", bad)
		}
	}
}

var must = difftest.Must

const (
	twoCalls = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"a","input":{}},{"type":"tool_use","id":"toolu_2","name":"b","input":{}}]}`
	itsOwn   = `{ "role": "user", "content": [ {"type":"tool_result","tool_use_id":"toolu_2","content":"two"}, {"type":"text","text":"And?"} ] }`
	both     = `{ "role": "user", "content": [ {"type":"tool_result","tool_use_id":"toolu_1","content":"one"},{"type":"tool_result","tool_use_id":"toolu_2","content":"two"}, {"type":"text","text":"And?"} ] }`
)

// The results of one answer stand in one message, whoever has which of them.
func TestResultsStandTogether(t *testing.T) {
	begin := `{"role":"user","content":"Go."}`
	r := mustDecode(t, `{"model":"m","messages":[`+begin+`,`+twoCalls+`,`+itsOwn+`]}`)
	one := transcript.Results(transcript.Result("toolu_1", "one"))
	want := begin + `,` + twoCalls + `,` + both
	out, err := r.Splice(transcript.View{
		Messages: []transcript.ViewMessage{{Source: 0}, {Source: 1}, {Source: -1, Made: one}, {Source: 2}},
	})
	if got := string(out); err != nil || got != `{"model":"m","messages":[`+want+`]}` {
		t.Errorf("a view: %s, %v", got, err)
	}
	msgs := []transcript.Message{r.Messages[0], r.Messages[1], one, r.Messages[2]}
	out, err = Encode(&model.Request{Model: "m", MaxTokens: 1, Messages: msgs})
	if got := string(out); err != nil || got != `{"model":"m","max_tokens":1,"messages":[`+want+`]}` {
		t.Errorf("a request: %s, %v", got, err)
	}
	out, err = Encode(&model.Request{Model: "m", MaxTokens: 1, Messages: r.Messages})
	must(t, err)
	if again, err := Decode(out); err != nil || len(again.Messages) != 3 || again.Messages[2].Blocks().Len() != 3 {
		t.Errorf("with a call that nothing answers: %s, %v", out, err)
	}
}
