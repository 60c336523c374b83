package protocol

import (
	"bytes"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/transcript"
)

// bodyOf is a request with a system prompt, a tool, and messages of the user.
func bodyOf(on *Protocol, texts ...string) []byte {
	content, rest := `"content":"%s"`, ""
	switch on {
	case Messages:
		rest = `"system":"You work.","tools":[{"name":"bash","description":"Run.","input_schema":{"type":"object"}}]`
	case Chat:
		rest = `"tools":[{"type":"function","function":{"name":"bash","description":"Run.","parameters":{"type":"object"}}}]`
	case Responses:
		rest = `"tools":[{"type":"function","name":"bash","description":"Run.","parameters":{"type":"object"}}]`
	case Gemini:
		content = `"parts":[{"text":"%s"}]`
		rest = `"systemInstruction":{"parts":[{"text":"You work."}]},"tools":[{"functionDeclarations":` +
			`[{"name":"bash","description":"Run.","parametersJsonSchema":{"type":"object"}}]}]`
	}
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = fmt.Sprintf(`{"role":"user",`+content+`}`, text)
	}
	return []byte(`{"model":"m","` + on.Array + `":[` + strings.Join(list, ",") + `],` + rest + `}`)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What is kept of a request that was read after an earlier one does not lie in its body.
func TestApart(t *testing.T) {
	for _, on := range Protocols {
		const begin, second = "Begin.", `It has \"escapes\" and \u00fcmlauts.`
		earlier := must(on.Read(bodyOf(on, begin, second))).Earlier()
		bodies := [][]byte{bodyOf(on, begin, second, "One more.", "And one more.")}
		if on == Responses {
			bodies = append(bodies, []byte(`{"model":"m","input":"A text \"instead\" of a list."}`))
		}
		for _, body := range bodies {
			got, want := must(on.ReadAfter(earlier, body)), must(on.Read(bytes.Clone(body)))
			system, tools := got.Head()
			if clear(body); !got.Apart || want.Apart || got.Model != want.Model {
				t.Errorf("%s: apart is %v and %v; model %q, want %q", on.Format, got.Apart, want.Apart,
					got.Model, want.Model)
			}
			if wantSystem, wantTools := want.Head(); system != wantSystem || !reflect.DeepEqual(tools, wantTools) {
				t.Errorf("%s: system %q, tools %v", on.Format, system, tools)
			}
			if !reflect.DeepEqual(got.Messages, want.Messages) {
				t.Errorf("%s: messages lie in the body:\n%v", on.Format, got.Messages)
			}
		}
	}
}

// A session does not keep the memory of the request that it was opened with.
func TestHeadIsOwn(t *testing.T) {
	for _, on := range Protocols {
		body := bodyOf(on, "Do all the steps.")
		req := must(on.Read(body))
		system, tools := req.Head()
		if len(tools) != 1 || tools[0] != req.Tools[0] || system != req.System {
			t.Errorf("%s: %q, %v", on.Format, system, tools)
		}
		first, last := uintptr(unsafe.Pointer(&body[0])), uintptr(unsafe.Pointer(&body[len(body)-1]))
		for _, s := range []string{system, tools[0].Name, tools[0].Description, tools[0].Schema, tools[0].Raw} {
			if at := uintptr(unsafe.Pointer(unsafe.StringData(s))); at >= first && at <= last {
				t.Errorf("%s: %q shares the memory of the request", on.Format, s)
			}
		}
	}
}

// A result of ours has the id of its call, as the provider gave it: the call goes back as it came.
func TestResultHasTheIDOfItsCall(t *testing.T) {
	for _, on := range Protocols {
		for _, id := range []string{"", "functions.ledger:0"} {
			if on == Gemini && id == "" {
				continue // its call is known by its name
			}
			msgs, err := on.Answer([]transcript.ToolCall{transcript.Call(id, "ledger", `{}`)},
				[]transcript.ToolResult{transcript.Result(id, "nothing")})
			difftest.Must(t, err)
			if got := msgs[0].Blocks().At(0).(transcript.ToolResult).CallID; got != id {
				t.Errorf("%s: %q for %q", on.Format, got, id)
			}
		}
	}
}

// Gateways have wires at paths of their own, some with the model in it. What is signed as it is passes.
func TestRoute(t *testing.T) {
	const cloud = "/v1/projects/p/locations/l/publishers/anthropic/models/"
	for _, tt := range []struct {
		path, auth string
		want       *Protocol
		at         Address
	}{
		{"/api/v1/chat/completions/", "", Chat, Address{}},
		{"/openai/deployments/gpt-5.4/chat/completions", "", Chat, Address{Model: "gpt-5.4"}},
		{"/anthropic/v1/messages", "Bearer key", Messages, Address{}},
		{"/anthropic/v1/messages", "AWS4-HMAC-SHA256 Credential=x", nil, Address{}},
		{cloud + "claude-sonnet-4-5@20250929:rawPredict", "", Messages, Address{Model: "claude-sonnet-4-5@20250929"}},
		{cloud + "count-tokens:rawPredict", "", Messages, Address{Model: "count-tokens", Counts: true}},
		{cloud + "claude-sonnet-4-5@20250929:predict", "", nil, Address{}},
		{"/model/anthropic.claude-sonnet-4-5-v1:0/invoke", "", nil, Address{}},
		{"/api/chat", "", nil, Address{}},
	} {
		r := must(http.NewRequest(http.MethodPost, "http://localhost"+tt.path, nil))
		r.Header.Set("Authorization", tt.auth)
		if got, at := Route(r); got != tt.want || got != nil && at != tt.at {
			t.Errorf("%s, %s: %v", tt.path, tt.auth, at)
		}
	}
}
