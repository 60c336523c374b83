package openai_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/openai"
)

// A proxy folds an old tool result and leaves everything else as the client wrote it.
func ExampleDecodeChat() {
	body := []byte(`{"model":"gpt-x", "temperature":1.0, "messages":[
  {"role":"user","content":"Is main.go long?"},
  {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read","arguments":"{}"}}]},
  {"role":"tool","tool_call_id":"call_1","content":"package main\n…9,000 lines…"},
  {"role":"assistant","content":"Very."}
]}`)
	req, err := openai.DecodeChat(body)
	if err != nil {
		panic(err)
	}
	view := transcript.Whole(len(req.Messages))
	view.Messages[2].Edits = []transcript.BlockEdit{{Block: 0, Text: "[folded: read, 9,002 lines]"}}
	out, err := req.Splice(view)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(out))
	// Output:
	// {"model":"gpt-x", "temperature":1.0, "messages":[
	//   {"role":"user","content":"Is main.go long?"},
	//   {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read","arguments":"{}"}}]},
	//   {"role":"tool","tool_call_id":"call_1","content":"[folded: read, 9,002 lines]"},
	//   {"role":"assistant","content":"Very."}
	// ]}
}

func ExampleChatRequest_Check() {
	req, err := openai.DecodeChat([]byte(`{"messages":[{"role":"tool","tool_call_id":"call_1","content":"x"}]}`))
	if err != nil {
		panic(err)
	}
	for _, v := range req.Check(model.Model{}) {
		fmt.Println(v.Rule)
		fmt.Println(v)
	}
	// Output:
	// tool-result-orphan
	// messages.[0].role: Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.
}

// Leaving out a reasoning item takes the ids from the items that came behind it.
func ExampleResponsesRequest_Splice() {
	req, err := openai.DecodeResponses([]byte(`{"store":false,"input":[
  {"role":"user","content":"Go."},
  {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},
  {"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Done."}]},
  {"role":"user","content":"More."}
]}`))
	if err != nil {
		panic(err)
	}
	view := transcript.View{Messages: []transcript.ViewMessage{{Source: 0}, {Source: 2}, {Source: 3}}}
	out, err := req.Splice(view)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(out))
	// Output:
	// {"store":false,"input":[
	//   {"role":"user","content":"Go."},
	//   {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]},
	//   {"role":"user","content":"More."}
	// ]}
}

func ExampleDecodeResponses() {
	req, err := openai.DecodeResponses([]byte(`{"model":"gpt-x","input":"Hello","previous_response_id":"resp_1"}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(req.Messages[0].Role(), req.Messages[0].Text(), req.Partial())
	// Output: user Hello true
}

func ExampleEncodeChat() {
	body, err := openai.EncodeChat(&model.Request{
		Model:  "gpt-x",
		System: "Be brief.",
		Messages: []transcript.Message{
			transcript.User("Two files, please."),
			transcript.Assistant(transcript.Call("a", "read", `{"path":"a"}`),
				transcript.Call("b", "read", `{"path":"b"}`)),
			transcript.Results(transcript.Result("a", "A"), transcript.Result("b", "B")),
		},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.ReplaceAll(string(body), `{"role"`, "\n"+`{"role"`))
	// Output:
	// {"model":"gpt-x","messages":[
	// {"role":"system","content":"Be brief."},
	// {"role":"user","content":"Two files, please."},
	// {"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},{"id":"b","type":"function","function":{"name":"read","arguments":"{\"path\":\"b\"}"}}]},
	// {"role":"tool","tool_call_id":"a","content":"A"},
	// {"role":"tool","tool_call_id":"b","content":"B"}]}
}

func ExampleEncodeChatMessage() {
	elements := openai.EncodeChatMessage(transcript.User("Hi"))
	fmt.Printf("%s\n", elements[0])
	// Output: {"role":"user","content":"Hi"}
}

func ExampleEncodeResponses() {
	body, err := openai.EncodeResponses(&model.Request{
		Model:    "gpt-x",
		Messages: []transcript.Message{transcript.User("Hi")},
	})
	fmt.Printf("%s %v\n", body, err)
	// Output: {"model":"gpt-x","input":[{"type":"message","role":"user","content":"Hi"}],"store":false,"include":["reasoning.encrypted_content"]} <nil>
}

func ExampleEncodeItems() {
	items := openai.EncodeItems(transcript.Assistant(transcript.Say("I look."),
		transcript.Call("call_1", "read", "{}")))
	for _, item := range items {
		fmt.Println(string(item))
	}
	// Output:
	// {"type":"message","role":"assistant","content":"I look."}
	// {"type":"function_call","call_id":"call_1","name":"read","arguments":"{}"}
}

func ExampleDecodeChatReply() {
	reply, err := openai.DecodeChatReply([]byte(`{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],
		"usage":{"prompt_tokens":1000,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":900}}}`))
	fmt.Println(reply.Messages[0].Text(), reply.Stop, reply.Usage.Input, reply.Usage.CacheRead, err)
	// Output: Hi end 100 900 <nil>
}

func ExampleDecodeResponsesReply() {
	reply, err := openai.DecodeResponsesReply([]byte(`{"id":"resp_1","status":"completed","output":[
		{"type":"function_call","id":"fc_1","call_id":"call_1","name":"read","arguments":"{}"}]}`))
	fmt.Println(len(reply.Messages), reply.Stop, err)
	// Output: 1 tool_use <nil>
}

// A proxy passes a stream on and learns what was said.
func ExampleNewChatRecorder() {
	upstream := strings.NewReader("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	rec := openai.NewChatRecorder(func(d model.Delta) { fmt.Println("delta:", d.Text) }, 0)
	if _, err := io.Copy(io.Discard, io.TeeReader(upstream, rec)); err != nil {
		panic(err)
	}
	reply, err := rec.Reply()
	fmt.Println(reply.Messages[0].Raw(), err)
	// Output:
	// delta: Hel
	// delta: lo
	// {"role":"assistant","content":"Hello"} <nil>
}

func ExampleNewResponsesRecorder() {
	rec := openai.NewResponsesRecorder(nil, 0)
	w := io.MultiWriter(os.Stdout, rec)
	fmt.Fprint(w, `data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","content":[]}}`, "\n\n")
	_, err := rec.Reply() // the stream has no end
	fmt.Println(err)
	// Output:
	// data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","content":[]}}
	//
	// record answer: the stream broke off: unexpected EOF
}

// The wire of a session refuses a view that hides the result of a call.
func ExampleChat() {
	known, _ := model.DefaultModels().Lookup("gpt-6.1-terra")
	t := transcript.NewTranscript(
		transcript.User("Is main.go long?"),
		transcript.Assistant(transcript.Call("call_1", "read", `{"path":"main.go"}`)),
		transcript.Results(transcript.Result("call_1", "package main")),
	)
	view := transcript.Whole(t.Len())
	view.Messages = view.Messages[:2]
	for _, w := range []model.Wire{openai.Chat(known), openai.Responses(known)} {
		err := w.Check(view, t)
		fmt.Println(w.Format, w.Model.ID, errors.Is(err, transcript.ErrIllegal))
	}
	// Output:
	// chat gpt-6.1-terra true
	// responses gpt-6.1-terra true
}

// The codec of the Responses wire reads back what a session has stored.
func ExampleResponses() {
	w := openai.Responses(model.Model{ID: "gpt-6.1-terra"})
	m, err := w.Codec([]byte(
		`{"type":"function_call","call_id":"call_1","name":"read","arguments":"{\"path\":\"main.go\"}"}`))
	if err != nil {
		panic(err)
	}
	for _, c := range m.Calls() {
		fmt.Println(m.Format(), c.Name, c.Input)
	}
	// Output: responses read {"path":"main.go"}
}
