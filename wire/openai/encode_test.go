package openai

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

func half() *float64 { f := 0.5; return &f }

// mixed is a conversation as a program holds it that has talked to several providers.
func mixed() *model.Request {
	img := transcript.Image{MediaType: "image/png", Data: transcript.Plain("iVBO")}
	chatCall := transcript.WireMessage(transcript.RoleAssistant, transcript.FormatChat,
		`{"role":"assistant", "content":null, "tool_calls":[{"id":"c3","type":"function","function":{"name":"read","arguments":"{}"}}]}`,
		transcript.Call("c3", "read", "{}"))
	itemCall := transcript.WireMessage(transcript.RoleAssistant, transcript.FormatResponses,
		`{"type":"custom_tool_call","call_id":"c4","name":"patch","input":"free text"}`,
		transcript.ToolCall{
			ID: "c4", Name: "patch", Input: transcript.Plain("free text"),
			Raw: `{"type":"custom_tool_call","call_id":"c4","name":"patch","input":"free text"}`,
		})
	return &model.Request{
		Model:  "gpt-x",
		System: "You are \"brief\".",
		Tools: []model.Tool{
			{Name: "read", Description: "Reads.", Schema: `{"type":"object"}`},
			{Name: "look", Raw: `{"name":"look","input_schema":{"type":"object"}}`, Schema: `{"type":"object"}`},
		},
		Messages: []transcript.Message{
			transcript.User("go"),
			transcript.Assistant(
				transcript.Thinking{Text: transcript.Plain("secret"), Signature: "sig"},
				transcript.Say("I look."), transcript.Call("c1", "read", `{"path":"a"}`),
				transcript.Call("c2", "look", "")),
			transcript.NewMessage(transcript.RoleUser, // as on the Anthropic wire
				transcript.ToolResult{CallID: "c2", Parts: transcript.BlocksOf(transcript.Say("seen"), img)},
				transcript.Result("c1", "text"), transcript.Say("and hurry")),
			chatCall,
			transcript.Results(transcript.ErrorResult("c3", "no such file")),
			itemCall,
			transcript.Results(transcript.Result("c4", "patched")),
			transcript.Assistant(transcript.Thinking{Redacted: true, Signature: "x"}),
			transcript.NewMessage(transcript.RoleUser, transcript.Say("look"), img),
		},
		MaxTokens: 100, Temperature: half(), Stream: true, NoTools: true, SessionKey: strings.Repeat("s", 70),
	}
}

const chatMixed = `{"model":"gpt-x","messages":[{"role":"system","content":"You are \"brief\"."},{"role":"user","content":"go"},` +
	`{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},` +
	`{"id":"c2","type":"function","function":{"name":"look","arguments":"{}"}}]},` +
	`{"role":"tool","tool_call_id":"c2","content":"seen"},{"role":"tool","tool_call_id":"c1","content":"text"},` +
	`{"role":"user","content":[{"type":"text","text":"Attached to the result of tool call c2:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBO"}},{"type":"text","text":"and hurry"}]},` +
	`{"role":"assistant", "content":null, "tool_calls":[{"id":"c3","type":"function","function":{"name":"read","arguments":"{}"}}]},` +
	`{"role":"tool","tool_call_id":"c3","content":"no such file"},` +
	`{"role":"assistant","content":null,"tool_calls":[{"id":"c4","type":"function","function":{"name":"patch","arguments":"{\"input\":\"free text\"}"}}]},` +
	`{"role":"tool","tool_call_id":"c4","content":"patched"},` +
	`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBO"}}]}],` +
	`"tools":[{"type":"function","function":{"name":"read","description":"Reads.","parameters":{"type":"object"}}},{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}],` +
	`"tool_choice":"none","max_completion_tokens":100,"temperature":0.5,"prompt_cache_key":"KEY","stream":true,"stream_options":{"include_usage":true}}`

const responsesMixed = `{"model":"gpt-x","instructions":"You are \"brief\".","input":[{"type":"message","role":"user","content":"go"},` +
	`{"type":"message","role":"assistant","content":"I look."},` +
	`{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"path\":\"a\"}"},{"type":"function_call","call_id":"c2","name":"look","arguments":"{}"},` +
	`{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"seen"},{"type":"input_image","image_url":"data:image/png;base64,iVBO"}]},` +
	`{"type":"function_call_output","call_id":"c1","output":"text"},{"type":"message","role":"user","content":"and hurry"},` +
	`{"type":"function_call","call_id":"c3","name":"read","arguments":"{}"},{"type":"function_call_output","call_id":"c3","output":"no such file"},` +
	`{"type":"custom_tool_call","call_id":"c4","name":"patch","input":"free text"},{"type":"custom_tool_call_output","call_id":"c4","output":"patched"},` +
	`{"type":"message","role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,iVBO"}]}],` +
	`"tools":[{"type":"function","name":"read","description":"Reads.","parameters":{"type":"object"},"strict":false},{"type":"function","name":"look","parameters":{"type":"object"},"strict":false}],` +
	`"tool_choice":"none","max_output_tokens":100,"temperature":0.5,"prompt_cache_key":"KEY","stream":true,"store":false,"include":["reasoning.encrypted_content"]}`

func TestEncodeMixedConversation(t *testing.T) {
	for _, tt := range []struct {
		name   string
		encode func(*model.Request) ([]byte, error)
		want   string
		d      decoder
	}{
		{"chat", EncodeChat, chatMixed, decoders[0]},
		{"responses", EncodeResponses, responsesMixed, decoders[1]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := mixed()
			got, err := tt.encode(req)
			must(t, err)
			if want := strings.ReplaceAll(tt.want, "KEY", cacheKey(req.SessionKey)); string(got) != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			r, err := tt.d.decode(got)
			must(t, err)
			if v := r.Check(model.Model{}); len(v) > 0 {
				t.Errorf("encoded request breaks %v", v)
			}
			again, _ := tt.encode(mixed())
			if !bytes.Equal(got, again) {
				t.Error("the same request gave other bytes")
			}
		})
	}
}

func TestEncodeReusesRawBytes(t *testing.T) {
	for _, d := range decoders {
		g := newGen(11)
		r, err := d.decode(d.make(g))
		must(t, err)
		req := &model.Request{Model: "m", Messages: r.common().Messages, Tools: r.common().Tools}
		encode := EncodeChat
		if d.name == "responses" {
			encode = EncodeResponses
		}
		out, err := encode(req)
		must(t, err)
		for _, m := range r.common().Messages {
			if !strings.Contains(string(out), m.Raw()) {
				t.Errorf("%s: message is not there as it came: %s", d.name, m.Raw())
			}
		}
		for _, tool := range r.common().Tools {
			if !strings.Contains(string(out), tool.Raw) {
				t.Errorf("%s: tool is not there as it came: %s", d.name, tool.Raw)
			}
		}
	}
}

// Whatever a program says, in whatever pieces, is legal on both wires.
func TestEncodeRandomConversations(t *testing.T) {
	for seed := range uint64(500) {
		g := newGen(seed)
		var list []transcript.Message
		n := 0
		for range 1 + g.IntN(6) {
			list = append(list, transcript.User("go"))
			var calls []transcript.Block
			var results []transcript.Message
			for range g.IntN(4) {
				n++
				id := fmt.Sprint("call_", n)
				calls = append(calls, transcript.Call(id, "run", g.Pick("", "{}", `{"a":1}`, "free text")))
				parts := []transcript.Block{transcript.Say("out")}
				if g.Chance(30) {
					parts = append(parts, transcript.Image{URL: "https://example.com/x.png"})
				}
				results = append(results,
					transcript.NewMessage(transcript.RoleTool,
						transcript.ToolResult{CallID: id, Parts: transcript.BlocksOf(parts...)}))
			}
			if g.Chance(50) {
				calls = append([]transcript.Block{
					transcript.Thinking{Text: transcript.Plain("hm"), Signature: g.Pick("", "sig")},
					transcript.Say("well"),
				}, calls...)
			}
			if g.Chance(50) {
				list = append(list, transcript.Assistant(calls...))
			} else {
				for _, c := range calls {
					list = append(list, transcript.Assistant(c))
				}
			}
			g.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
			for _, r := range results {
				if g.Chance(20) {
					list = append(list, transcript.User("by the way"))
				}
				list = append(list, r)
			}
		}
		for i, encode := range []func(*model.Request) ([]byte, error){EncodeChat, EncodeResponses} {
			body, err := encode(&model.Request{Model: "m", Messages: list})
			must(t, err)
			r, err := decoders[i].decode(body)
			must(t, err)
			if v := r.Check(model.Model{}); len(v) > 0 {
				t.Fatalf("seed %d: %v\n%s", seed, v, body)
			}
		}
	}
}

// What has no form on a wire is said as text.
func TestEncodeNotes(t *testing.T) {
	for _, tt := range []struct {
		block transcript.Block
		want  string
	}{
		{
			transcript.Opaque{
				Type: "web_search_call", Raw: `{"type":"web_search_call","action":{"type":"search","query":"go \"1.26\""}}`,
			},
			`[web_search_call: go \"1.26\"]`,
		},
		{transcript.Opaque{Type: "document", Raw: "{}"}, "[document left out: it has no form here]"},
		{transcript.Image{}, "[image left out: it has no form here]"},
	} {
		m := transcript.NewMessage(transcript.RoleAssistant, tt.block)
		for _, got := range [][][]byte{EncodeChatMessage(m), EncodeItems(m)} {
			if len(got) != 1 || !strings.Contains(string(got[0]), tt.want) {
				t.Errorf("%s: %s", tt.want, got)
			}
		}
	}
}

// Results in several messages stay together, and what hangs on them comes behind.
func TestEncodeChatKeepsResultsTogether(t *testing.T) {
	img := transcript.Image{URL: "https://example.com/a.png"}
	body, err := EncodeChat(&model.Request{Model: "m", Messages: []transcript.Message{
		transcript.Assistant(transcript.Call("a", "f", "{}"), transcript.Call("b", "f", "{}")),
		transcript.Results(transcript.ToolResult{CallID: "a", Parts: transcript.BlocksOf(img)}),
		transcript.Results(transcript.Result("b", "x")),
		transcript.User("next"),
	}})
	must(t, err)
	r, err := DecodeChat(body)
	must(t, err)
	if v := r.Check(model.Model{}); len(v) > 0 {
		t.Errorf("%v\n%s", v, body)
	}
	if n := len(r.Messages); n != 5 {
		t.Errorf("%d messages, want 5: %s", n, body)
	}
}

// An edited message has lost its bytes but not the kind of its calls.
func TestEncodeAnswersCustomCallsInKind(t *testing.T) {
	r := decoded(t, input(asks, ctcB, outB))
	v := transcript.Whole(3)
	v.Messages[2].Edits = []transcript.BlockEdit{{Block: 0, Text: "stub"}}
	msgs, err := v.Resolve(transcript.NewTranscript(r.Messages...))
	must(t, err)
	body, err := EncodeResponses(&model.Request{Model: "m", Messages: msgs})
	must(t, err)
	if !strings.Contains(string(body), `{"type":"custom_tool_call_output","call_id":"b","output":"stub"}`) {
		t.Errorf("got %s", body)
	}
}

// On the Responses wire calls stand alone and results where they like.
func TestEncodeChatArranges(t *testing.T) {
	r := decoded(t, input(asks, rs1, fcA, ctcB, asks, outB, says, outA, asks))
	body, err := EncodeChat(&model.Request{Model: "m", Messages: r.Messages})
	must(t, err)
	const want = `{"model":"m","messages":[{"role":"user","content":"hi"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},` +
		`{"id":"b","type":"function","function":{"name":"patch","arguments":"{\"input\":\"x\"}"}}]},` +
		`{"role":"tool","tool_call_id":"b","content":"2"},{"role":"tool","tool_call_id":"a","content":"1"},` +
		`{"role":"user","content":"hi"},{"role":"assistant","content":"ok"},{"role":"user","content":"hi"}]}`
	if string(body) != want {
		t.Errorf("got\n%s\nwant\n%s", body, want)
	}
}

// TestEncodeChatSystem: system messages that follow each other among the turns are written as one, since
// some servers refuse two; those at the beginning are the program's own.
func TestEncodeChatSystem(t *testing.T) {
	system := func(text string) transcript.Message {
		return transcript.NewMessage(transcript.RoleSystem, transcript.Say(text))
	}
	body, err := EncodeChat(&model.Request{Messages: []transcript.Message{
		system("A"), system("B"), transcript.User("1"), system("C"), system("D"), transcript.Assistant(transcript.Say("2")),
	}})
	want := `[{"role":"system","content":"A"},{"role":"system","content":"B"},{"role":"user","content":"1"},` +
		`{"role":"system","content":"C\n\nD"},{"role":"assistant","content":"2"}]`
	if err != nil || !strings.Contains(string(body), want) {
		t.Errorf("%s, %v", body, err)
	}
}

var must = difftest.Must
