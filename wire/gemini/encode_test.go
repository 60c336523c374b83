package gemini

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

func TestEncode(t *testing.T) {
	user, call := transcript.User("go"), transcript.Assistant(transcript.Call("c1", "run", `{"x": 1}`))
	result := transcript.Results(transcript.Result("c1", "done"))
	own := decode(t, contents(asks, calls, answer)).Messages
	foreign, err := anthropic.DecodeMessage([]byte(`{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"},{"type":"text","text":"so"},{"type":"tool_use","id":"c1","name":"run","input":{"x":1}}]}`))
	must(t, err)
	half := 0.5
	const called = `{"role":"model","parts":[{"functionCall":{"id":"c1","name":"run","args":{"x": 1}}}]}`
	const done = `{"functionResponse":{"id":"c1","name":"run","response":{"output":"done"}}}`
	for _, tt := range []struct {
		name string
		req  model.Request
		want string
	}{
		{"as it came", model.Request{Messages: own}, contents(asks, calls, answer)},
		{
			"made here",
			model.Request{Messages: []transcript.Message{user, call, result}},
			contents(asks, called, `{"role":"user","parts":[`+done+`]}`),
		},
		{
			"signed",
			model.Request{
				Model: "gemini-4-argon",
				Messages: []transcript.Message{
					user,
					transcript.Assistant(transcript.Call("a", "f", ""),
						transcript.Call("g", "g", "words")), transcript.Results(transcript.Result("g", "1"), transcript.ErrorResult("a",
						"2")),
				},
			},
			contents(asks, `{"role":"model","parts":[{"functionCall":{"id":"a","name":"f"},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"g","args":{"input":"words"}}}]}`,
				`{"role":"user","parts":[{"functionResponse":{"name":"g","response":{"output":"1"}}},{"functionResponse":{"id":"a","name":"f","response":{"error":"2"}}}]}`),
		},
		{
			"of another wire",
			model.Request{Messages: []transcript.Message{user, foreign, result}},
			contents(asks,
				`{"role":"model","parts":[{"text":"so"},{"functionCall":{"id":"c1","name":"run","args":{"x":1}}}]}`,
				`{"role":"user","parts":[`+done+`]}`),
		},
		{
			"results together",
			model.Request{Messages: []transcript.Message{
				user,
				transcript.Assistant(transcript.Call("c1", "run", ""),
					transcript.Call("c2", "run", "")), result, transcript.Results(transcript.Result("c2", "2")), user,
			}},
			contents(asks, `{"role":"model","parts":[{"functionCall":{"id":"c1","name":"run"}},{"functionCall":{"id":"c2","name":"run"}}]}`,
				`{"role":"user","parts":[`+done+`,{"functionResponse":{"id":"c2","name":"run","response":{"output":"2"}}},{"text":"go"}]}`),
		},
		{
			"no result",
			model.Request{Messages: []transcript.Message{user, call}},
			contents(asks, called,
				`{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"run","response":{"error":"`+wire.NoResult+`"}}}]}`),
		},
		{
			"system and options",
			model.Request{
				System: "s", Messages: []transcript.Message{
					transcript.NewMessage(transcript.RoleSystem, transcript.Say("t")), user,
				},
				Tools: []model.Tool{
					{Name: "run", Description: "d", Schema: `{"type":"object"}`},
					{Name: "f", Raw: `{"name":"f","parameters":{}}`},
				}, NoTools: true, MaxTokens: 9, Temperature: &half,
			},
			`{"contents":[` + asks + `],"systemInstruction":{"parts":[{"text":"s\n\nt"}]},"tools":[{"functionDeclarations":[{"name":"run","description":"d","parametersJsonSchema":{"type":"object"}},{"name":"f","parameters":{}}]}],` +
				`"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},"generationConfig":{"maxOutputTokens":9,"temperature":0.5}}`,
		},
		{
			"pictures",
			model.Request{Messages: []transcript.Message{transcript.NewMessage(transcript.RoleUser,
				transcript.Image{
					MediaType: "image/gif",
					Data:      transcript.Plain("aa=="),
				}, transcript.Image{URL: "data:image/png;base64,bb=="}, transcript.Image{URL: "u"}, transcript.Image{}, transcript.Opaque{Type: "document"})}},
			contents(`{"role":"user","parts":[{"inlineData":{"mimeType":"image/gif","data":"aa=="}},{"inlineData":{"mimeType":"image/png","data":"bb=="}},{"fileData":{"mimeType":"image/png","fileUri":"u"}},{"text":"[image left out: it has no form here]"},{"text":"[document left out: it has no form here]"}]}`),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := Encode(&tt.req)
			if err != nil || string(out) != tt.want {
				t.Errorf("%v\n%s\nwant\n%s", err, out, tt.want)
			}
			m, _ := model.DefaultModels().Lookup(tt.req.Model)
			if vs := decode(t, string(out)).Check(m); len(vs) > 0 {
				t.Error(vs)
			}
		})
	}
	for name, req := range map[string]model.Request{
		"nothing": {}, "empty": {Messages: []transcript.Message{transcript.User("")}},
		"orphan":      {Messages: []transcript.Message{user, result}},
		"twice":       {Messages: []transcript.Message{user, call, result, result}},
		"no response": {Messages: []transcript.Message{transcript.NewMessage(transcript.RoleUser)}},
	} {
		if out, err := Encode(&req); err == nil {
			t.Errorf("%s: %s", name, out)
		}
	}
	if _, err := EncodeMessage(transcript.User("")); err == nil {
		t.Error("an empty message is written")
	}
	if raw, err := EncodeMessage(result); err != nil || !strings.Contains(string(raw), `"name":"c1"`) {
		t.Errorf("%s, %v", raw, err)
	}
}
