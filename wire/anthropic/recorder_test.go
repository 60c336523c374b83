package anthropic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// stream writes events in wire form; each is the JSON of one.
func stream(events ...string) string {
	var sb strings.Builder
	for _, e := range events {
		fmt.Fprintf(&sb, "event: %s\ndata: %s\n\n", jsonspan.Value(e).Get("type").Text(), e)
	}
	return sb.String()
}

const (
	startEvent = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":10},"output_tokens":1}}}`
	stopEvent  = `{"type":"message_stop"}`
)

func deltaEvent(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason +
		`","stop_sequence":null},"usage":{"output_tokens":42,"output_tokens_details":{"thinking_tokens":7}}}`
}

func blockEvents(index int, start string, deltas ...string) []string {
	out := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, start)}
	for _, d := range deltas {
		out = append(out, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d))
	}
	return append(out, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

func record(t *testing.T, chunk int, wire string, r model.Recorder) (model.Reply, error) {
	t.Helper()
	for len(wire) > 0 {
		n := min(chunk, len(wire))
		if m, err := r.Write([]byte(wire[:n])); m != n || err != nil {
			t.Fatalf("Write = %d, %v; want %d, nil", m, err, n)
		}
		wire = wire[n:]
	}
	return r.Reply()
}

// full is an answer with everything that has deltas.
func full() string {
	events := []string{startEvent, `{"type":"ping"}`}
	events = append(events, blockEvents(0, `{"type":"thinking","thinking":"","signature":""}`,
		`{"type":"thinking_delta","thinking":"Let me "}`, `{"type":"thinking_delta","thinking":"see \ud83d"}`,
		`{"type":"thinking_delta","thinking":"\ude00"}`, `{"type":"signature_delta","signature":"c2ln"}`)...)
	events = append(events, blockEvents(1, `{"type":"text","text":"","x_new":{"kept":1.0}}`,
		`{"type":"text_delta","text":"It is"}`, `{"type":"from_the_future","level":3}`,
		`{"type":"text_delta","text":" \u00e9 here"}`,
		`{"type":"citations_delta","citation":{"type":"char_location","n":1}}`)...)
	events = append(events, `{"type":"news","what":"unknown event"}`)
	events = append(events, blockEvents(2,
		`{"type":"tool_use","id":"toolu_1","name":"run","input":{},"caller":{"type":"direct"}}`,
		`{"type":"input_json_delta","partial_json":""}`, `{"type":"input_json_delta","partial_json":"{\"cmd\": \"ls"}`,
		`{"type":"input_json_delta","partial_json":" -l\", \"n\": 1.0}"}`)...)
	events = append(events, blockEvents(3, `{"type":"tool_use","id":"toolu_2","name":"now","input":{}}`)...)
	events = append(events, deltaEvent("tool_use"), stopEvent)
	return stream(events...)
}

func TestRecorder(t *testing.T) {
	want := `{"role":"assistant","content":[` +
		`{"type":"thinking","thinking":"Let me see \ud83d\ude00","signature":"c2ln"},` +
		`{"type":"text","text":"It is \u00e9 here","x_new":{"kept":1.0},"citations":[{"type":"char_location","n":1}]},` +
		`{"type":"tool_use","id":"toolu_1","name":"run","input":{"cmd": "ls -l", "n": 1.0},"caller":{"type":"direct"}},` +
		`{"type":"tool_use","id":"toolu_2","name":"now","input":{}}]}`
	for _, chunk := range []int{1, 2, 7, 64, 1 << 20} {
		var deltas []model.Delta
		reply, err := record(t, chunk, full(),
			NewRecorder(func(d model.Delta) { deltas = append(deltas, d) }, 0))
		if err != nil {
			t.Fatalf("chunk %d: %v", chunk, err)
		}
		if len(reply.Messages) != 1 || reply.Messages[0].Raw() != want {
			t.Fatalf("chunk %d: got %s\nwant %s", chunk, reply.Messages[0].Raw(), want)
		}
		if reply.ID != "msg_1" || reply.Model != "claude-opus-5-5" || reply.Stop != model.StopToolUse ||
			reply.StopRaw != "tool_use" {
			t.Errorf("chunk %d: reply is %+v", chunk, reply)
		}
		usage := model.Usage{Input: 10, CacheRead: 100, CacheWrite: 20, CacheWrite1h: 10, Output: 42, Reasoning: 7}
		if reply.Usage != usage {
			t.Errorf("chunk %d: usage is %+v, want %+v", chunk, reply.Usage, usage)
		}
		difftest.Equal(t, wantDeltas, deltas, "chunk ", chunk, ": deltas")
	}
	thought := transcript.Thinking{}
	reply, _ := record(t, 99, full(), NewRecorder(nil, 0))
	thought = reply.Messages[0].Blocks().At(0).(transcript.Thinking)
	if thought.Text.String() != "Let me see 😀" || thought.Signature != "c2ln" {
		t.Errorf("thinking is %q, signature %q", thought.Text, thought.Signature)
	}
}

var wantDeltas = []model.Delta{
	{Kind: transcript.KindThinking, Text: "Let me "},
	{Kind: transcript.KindThinking, Text: "see \ufffd"},
	{Kind: transcript.KindThinking, Text: "\ufffd"},
	{Kind: transcript.KindText, Index: 1, Text: "It is"},
	{Kind: transcript.KindText, Index: 1, Text: " é here"},
	{Kind: transcript.KindToolCall, Index: 2, CallID: "toolu_1", Name: "run"},
	{Kind: transcript.KindToolCall, Index: 2, Text: `{"cmd": "ls`},
	{Kind: transcript.KindToolCall, Index: 2, Text: ` -l", "n": 1.0}`},
	{Kind: transcript.KindToolCall, Index: 3, CallID: "toolu_2", Name: "now"},
}

// TestRecorderBlocks is one block each: what came, and what is sent back.
func TestRecorderBlocks(t *testing.T) {
	tests := []struct{ name, start, want string }{
		{
			"signed compaction has no deltas", `{"type":"compaction","content":"sum","signature":"s"}`,
			`{"type":"compaction","content":"sum","signature":"s"}`,
		},
		{"fallback has no deltas", `{"type":"fallback","model":"m"}`, `{"type":"fallback","model":"m"}`},
		{"empty text is left out", `{"type":"text","text":""}`, ``},
		{"blank text is left out", `{"type":"text","text":"\n\n"}`, ``},
		{
			"omitted thinking", `{"type":"thinking","thinking":"","signature":"s"}`,
			`{"type":"thinking","thinking":"","signature":"s"}`,
		},
		{
			"server tool result",
			`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"encrypted_content":"x"}]}`,
			`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"encrypted_content":"x"}]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events := append([]string{startEvent}, blockEvents(0, tt.start)...)
			reply, err := record(t, 100, stream(append(events, deltaEvent("end_turn"), stopEvent)...), NewRecorder(nil, 0))
			must(t, err)
			got := ""
			if len(reply.Messages) > 0 {
				got = strings.TrimSuffix(strings.TrimPrefix(reply.Messages[0].Raw(),
					`{"role":"assistant","content":[`), `]}`)
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestRecorderDeltas(t *testing.T) {
	tests := []struct {
		name, start string
		deltas      []string
		want        string
	}{
		{
			"threshold compaction", `{"type":"compaction","content":null}`,
			[]string{`{"type":"compaction_delta","content":"the sum","encrypted_content":"enc"}`},
			`{"type":"compaction","content":"the sum","encrypted_content":"enc"}`,
		},
		{
			"failed compaction", `{"type":"compaction","content":null}`,
			[]string{`{"type":"compaction_delta","content":null,"encrypted_content":null}`},
			`{"type":"compaction","content":null}`,
		},
		{
			"citations join", `{"type":"text","text":"a","citations":[{"n":1}]}`,
			[]string{`{"type":"citations_delta","citation":{"n":2}}`},
			`{"type":"text","text":"a","citations":[{"n":1},{"n":2}]}`,
		},
		{
			"input that is not JSON", `{"type":"tool_use","id":"t","name":"n","input":{}}`,
			[]string{`{"type":"input_json_delta","partial_json":"{\"a\": \"b"}`},
			`{"type":"tool_use","id":"t","name":"n","input":{"INVALID_JSON":"{\"a\": \"b"}}`,
		},
		{
			"signature without a member", `{"type":"thinking","thinking":""}`,
			[]string{`{"type":"thinking_delta","thinking":"x"}`, `{"type":"signature_delta","signature":"s"}`},
			`{"type":"thinking","thinking":"x","signature":"s"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events := append([]string{startEvent}, blockEvents(0, tt.start, tt.deltas...)...)
			reply, err := record(t, 13, stream(append(events, deltaEvent("max_tokens"), stopEvent)...), NewRecorder(nil, 0))
			must(t, err)
			want := `{"role":"assistant","content":[` + tt.want + `]}`
			if len(reply.Messages) != 1 || reply.Messages[0].Raw() != want {
				t.Errorf("got  %v\nwant %s", reply.Messages, want)
			}
		})
	}
}

func TestRecorderEnds(t *testing.T) {
	begun := append([]string{startEvent}, blockEvents(0, `{"type":"text","text":"whole"}`)...)
	cut := append(begun[:len(begun):len(begun)],
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"half"}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"half","signature":""}}`)

	t.Run("cut off", func(t *testing.T) {
		reply, err := record(t, 50, stream(cut...), NewRecorder(nil, 0))
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error is %v, want an unexpected end", err)
		}
		if got := reply.Messages[0].Text(); got != "whole\nhalf" || reply.Messages[0].Blocks().Len() != 2 {
			t.Errorf("collected %q", got)
		}
	})
	t.Run("nothing came", func(t *testing.T) {
		if _, err := new(recorder).Reply(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error is %v, want an unexpected end", err)
		}
	})
	t.Run("without the last empty line", func(t *testing.T) {
		wire := strings.TrimSuffix(stream(append(begun, deltaEvent("end_turn"), stopEvent)...), "\n\n")
		r := NewRecorder(nil, 0)
		for range 2 { // asking again changes nothing
			if reply, err := record(t, 50, wire, r); err != nil || len(reply.Messages) != 1 {
				t.Errorf("got %v, %v", reply, err)
			}
			wire = ""
		}
	})
	t.Run("error inside the stream", func(t *testing.T) {
		reply, err := record(t, 50,
			stream(append(begun, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)...),
			NewRecorder(nil, 0))
		if err != nil || reply.Err == nil || reply.Err.Kind != model.ErrorOverloaded {
			t.Errorf("got %v, %v", reply.Err, err)
		}
	})
	t.Run("too large", func(t *testing.T) {
		big := blockEvents(0, `{"type":"text","text":""}`,
			`{"type":"text_delta","text":"`+strings.Repeat("x", 500)+`"}`)
		_, err := record(t, 50, stream(append(append([]string{startEvent}, big...), stopEvent)...),
			NewRecorder(nil, 400))
		if !errors.Is(err, wire.ErrTooLarge) {
			t.Errorf("error is %v, want wire.ErrTooLarge", err)
		}
	})
	t.Run("not JSON", func(t *testing.T) {
		reply, err := record(t, 50, stream(begun...)+"event: x\ndata: {oops\n\n"+stream(stopEvent), NewRecorder(nil, 0))
		if err == nil || len(reply.Messages) != 1 {
			t.Errorf("got %v, %v", reply, err)
		}
	})
}

func TestDecodeCompactionReply(t *testing.T) {
	body := `{"id":"m","type":"message","role":"assistant","content":[{"type":"compaction","content":"s","signature":"x"}],"stop_reason":"compaction",
		"usage":{"input_tokens":0,"output_tokens":0,"iterations":[{"type":"compaction","input_tokens":900,"output_tokens":50},{"type":"message","input_tokens":70,"cache_read_input_tokens":5,"output_tokens":3}]}}`
	reply, err := DecodeReply([]byte(body))
	must(t, err)
	if reply.Stop != model.StopCompact || reply.Usage != (model.Usage{}) {
		t.Errorf("reply is %+v", reply)
	}
}

func TestDecodeReply(t *testing.T) {
	body := `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":" "}, {"type":"tool_use","id":"t","name":"n","input":{"a": 1.0}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":6,"cache_read_input_tokens":null}}`
	reply, err := DecodeReply([]byte(body))
	must(t, err)
	const want = `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"a": 1.0}}]}`
	if got := reply.Messages[0].Raw(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if reply, err = DecodeReply([]byte(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`)); err != nil || reply.Err.Kind != model.ErrorTooLong {
		t.Errorf("error body: %v, %v", reply.Err, err)
	}
	for _, bad := range []string{``, `[]`, `{"type":"message"}`, `{"content":[}`, `null`} {
		if _, err := DecodeReply([]byte(bad)); err == nil {
			t.Errorf("DecodeReply(%s) has no error", bad)
		}
	}
	words := map[string]model.StopReason{
		"end_turn":      model.StopEnd,
		"stop_sequence": model.StopEnd,
		"max_tokens":    model.StopMaxTokens,
		"tool_use":      model.StopToolUse,
		"pause_turn":    model.StopPause, "compaction": model.StopCompact, "refusal": model.StopRefusal,
		"model_context_window_exceeded": model.StopWindow, "later_invention": model.StopUnknown,
	}
	for word, want := range words {
		reply, err := DecodeReply(bytes.ReplaceAll([]byte(body), []byte(`"stop_reason":"tool_use"`),
			[]byte(`"stop_reason":"`+word+`"`)))
		if err != nil || reply.Stop != want || reply.StopRaw != word {
			t.Errorf("stop %s: %v, %v", word, reply.Stop, err)
		}
	}
}
