package anthropic_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

const conversation = `{"model":"claude-opus-5-5", "max_tokens":1000, "messages":[
  {"role":"user","content":"What is in notes.txt?"},
  {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"notes.txt"}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"milk\neggs\nbread"}]}
]}`

func ExampleDecode() {
	r, err := anthropic.Decode([]byte(conversation))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Model)
	for i, m := range r.Messages {
		for _, b := range m.Blocks().All() {
			fmt.Println(i, m.Role(), b.Kind())
		}
	}
	// Output:
	// claude-opus-5-5
	// 0 user text
	// 1 assistant tool_call
	// 2 user tool_result
}

// A view replaces the result by a stub. Everything else stays as the client wrote it.
func ExampleRequest_Splice() {
	r, err := anthropic.Decode([]byte(conversation))
	if err != nil {
		fmt.Println(err)
		return
	}
	view := transcript.Whole(len(r.Messages))
	view.Messages[2].Edits = []transcript.BlockEdit{{Block: 0, Text: "[3 lines, folded]"}}
	out, err := r.Splice(view)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(out))
	// Output:
	// {"model":"claude-opus-5-5", "max_tokens":1000, "messages":[
	//   {"role":"user","content":"What is in notes.txt?"},
	//   {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"notes.txt"}}]},
	//   {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"[3 lines, folded]"}]}
	// ]}
}

// A round that is cut in two is not legal.
func ExampleRequest_Check() {
	r, _ := anthropic.Decode([]byte(conversation))
	cut := transcript.View{Messages: []transcript.ViewMessage{{Source: 0}, {Source: 2}}}
	out, _ := r.Splice(cut)
	r, _ = anthropic.Decode(out)
	model, _ := model.DefaultModels().Lookup(r.Model)
	for _, v := range r.Check(model) {
		fmt.Println(v.Rule, "at", v.Path)
	}
	// Output:
	// tool-result-unexpected at messages.1.content.0
}

func ExampleMessageHash() {
	r, _ := anthropic.Decode([]byte(conversation))
	marked := strings.Replace(conversation, `"What is in notes.txt?"`,
		`[{"type":"text","text":"What is in notes.txt?","cache_control":{"type":"ephemeral"}}]`, 1)
	again, _ := anthropic.Decode([]byte(marked))
	hash := func(m transcript.Message) transcript.Hash { return anthropic.MessageHash([]byte(m.Raw())) }
	fmt.Println(hash(r.Messages[0]) == hash(again.Messages[0]))
	// Output: true
}

func ExampleRequest_Markers() {
	r, _ := anthropic.Decode([]byte(`{"messages":[{"role":"user","content":[
		{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],
		"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`))
	for _, m := range r.Markers() {
		fmt.Println(m.Path, m.TTL)
	}
	// Output:
	// system.0 1h
	// messages.0.content.0 5m
}

func ExampleEncode() {
	body, err := anthropic.Encode(&model.Request{
		Model:     "claude-opus-5-5",
		System:    "Answer in one word.",
		MaxTokens: 100,
		Messages:  []transcript.Message{transcript.User("What is the capital of France?")},
	})
	fmt.Println(string(body), err)
	// Output:
	// {"model":"claude-opus-5-5","max_tokens":100,"system":"Answer in one word.","messages":[{"role":"user","content":[{"type":"text","text":"What is the capital of France?"}]}]} <nil>
}

func ExampleEncodeMessage() {
	element, err := anthropic.EncodeMessage(transcript.Results(transcript.ErrorResult("toolu_1", "no such file")))
	fmt.Println(string(element), err)
	// Output:
	// {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"no such file","is_error":true}]} <nil>
}

func ExampleDecodeReply() {
	reply, err := anthropic.DecodeReply([]byte(`{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5",
		"content":[{"type":"text","text":"Paris."}],"stop_reason":"end_turn","usage":{"input_tokens":20,"output_tokens":4}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Messages[0].Text(), reply.Stop, reply.Usage.Output)
	fmt.Println(reply.Messages[0].Raw())
	// Output:
	// Paris. end 4
	// {"role":"assistant","content":[{"type":"text","text":"Paris."}]}
}

// The stream goes to the client while the recorder looks on.
func ExampleNewRecorder() {
	upstream := strings.NewReader(`event: message_start
data: {"type":"message_start","message":{"id":"msg_1","model":"claude-opus-5-5","usage":{"input_tokens":20,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Par"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"is."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}

event: message_stop
data: {"type":"message_stop"}

`)
	recorder := anthropic.NewRecorder(func(d model.Delta) { fmt.Printf("%q ", d.Text) }, 0)
	client := io.Discard
	if _, err := io.Copy(io.MultiWriter(client, recorder), upstream); err != nil {
		fmt.Println(err)
		return
	}
	reply, err := recorder.Reply()
	fmt.Println(reply.Messages[0].Text(), reply.Stop, reply.Usage.Output, err)
	// Output:
	// "Par" "is." Paris. end 4 <nil>
}

// A session reads stored messages with the wire's codec, and asks it about every view that
// folds have changed.
func ExampleMessages() {
	known, _ := model.DefaultModels().Lookup("claude-sonnet-5-5")
	w := anthropic.Messages(known)
	var msgs []transcript.Message
	for _, raw := range []string{
		`{"role":"user","content":"What is in notes.txt?"}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"milk"}]}`,
	} {
		m, err := w.Codec([]byte(raw))
		if err != nil {
			fmt.Println(err)
			return
		}
		msgs = append(msgs, m)
	}
	t := transcript.NewTranscript(msgs...)
	view := transcript.Whole(t.Len())
	fmt.Println("whole:", w.Check(view, t))
	view.Messages = view.Messages[:2]
	err := w.Check(view, t)
	fmt.Println("without the result:", errors.Is(err, transcript.ErrIllegal))
	// Output:
	// whole: <nil>
	// without the result: true
}
