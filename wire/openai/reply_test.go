package openai

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/internal/wire/wiretest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

func TestDecodeChatReply(t *testing.T) {
	r, err := DecodeChatReply([]byte(`{"id":"c1","model":"m","choices":[
		{"index":1,"message":{"role":"assistant","content":"other"},"finish_reason":"length"},
		{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi","refusal":null,"annotations":[]}}],
		"usage":{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}`))
	must(t, err)
	got := showReply(r, nil)
	want := "id c1, model m, stop end (stop)\nusage {Input:6 CacheRead:4 CacheWrite:0 CacheWrite1h:0 Output:3 Reasoning:0}\n" +
		"assistant: text(\"hi\")\n  {\"role\":\"assistant\",\"content\":\"hi\",\"refusal\":null,\"annotations\":[]}\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestStopReasons(t *testing.T) {
	chat := func(finish, message string) string {
		return fmt.Sprintf(`{"choices":[{"message":%s,"finish_reason":%q}]}`, message, finish)
	}
	resp := func(status, more, output string) string {
		return fmt.Sprintf(`{"status":%q%s,"output":[%s]}`, status, more, output)
	}
	const text, call = `{"role":"assistant","content":"x"}`, `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`
	for _, tt := range []struct {
		body string
		want model.StopReason
	}{
		{chat("stop", text), model.StopEnd},
		{chat("stop", call), model.StopToolUse},
		{chat("tool_calls", call), model.StopToolUse},
		{chat("length", text), model.StopMaxTokens},
		{chat("content_filter", text), model.StopRefusal},
		{chat("stop", `{"role":"assistant","content":null,"refusal":"no"}`), model.StopRefusal},
		{chat("model_context_window_exceeded", text), model.StopWindow},
		{chat("?", text), model.StopUnknown},
		{resp("completed", "", says), model.StopEnd},
		{resp("completed", "", says+","+fcA), model.StopToolUse},
		{resp("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`, says), model.StopMaxTokens},
		{resp("incomplete", `,"incomplete_details":{"reason":"content_filter"}`, says), model.StopRefusal},
		{
			resp("completed", "",
				`{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`),
			model.StopRefusal,
		},
		{resp("completed", "", `{"type":"compaction","encrypted_content":"g"}`), model.StopCompact},
		{resp("", "", asks+`,{"type":"compaction","encrypted_content":"g"}`), model.StopCompact},
		{resp("cancelled", "", says), model.StopUnknown},
	} {
		decode := DecodeChatReply
		if strings.Contains(tt.body, `"status"`) {
			decode = DecodeResponsesReply
		}
		if r, err := decode([]byte(tt.body)); err != nil || r.Stop != tt.want {
			t.Errorf("%s: got %v, %v; want %v", tt.body, r.Stop, err, tt.want)
		}
	}
}

func TestRepliesThatAreErrors(t *testing.T) {
	body := []byte(`{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130123 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`)
	for _, decode := range []func([]byte) (model.Reply, error){DecodeChatReply, DecodeResponsesReply} {
		r, err := decode(body)
		if err != nil || r.Err == nil || !r.Err.Overflow() {
			t.Errorf("got %v, %v", r.Err, err)
		}
		if _, err := decode([]byte(`{"object":"list"}`)); !errors.Is(err, errNoChoices) {
			t.Errorf("got %v, want %v", err, errNoChoices)
		}
		if _, err := decode([]byte(`<html>`)); err == nil {
			t.Error("no error for what is not JSON")
		}
	}
}

func newRecorder(chat bool, onDelta func(model.Delta)) model.Recorder {
	if chat {
		return NewChatRecorder(onDelta, 0)
	}
	return NewResponsesRecorder(onDelta, 0)
}

// record feeds a stream in chunks of the given sizes, over and over.
func record(chat bool, data []byte, sizes ...int) string {
	var sb strings.Builder
	w := newRecorder(chat, func(d model.Delta) { fmt.Fprintf(&sb, "%+v\n", d) })
	for i := 0; len(data) > 0; i++ {
		n := min(max(sizes[i%len(sizes)], 1), len(data))
		chunk := append([]byte(nil), data[:n]...)
		if m, err := w.Write(chunk); m != n || err != nil {
			return fmt.Sprintf("write: %d, %v", m, err)
		}
		for k := range chunk {
			chunk[k] = '#' // the writer must not keep what is not its own
		}
		data = data[n:]
	}
	r, err := w.Reply()
	r2, err2 := w.Reply() // asking again changes nothing
	first, second := showReply(r, err), showReply(r2, err2)
	if first != second {
		return "second reply differs: " + second
	}
	return sb.String() + first
}

func TestRecordersDoNotCareAboutChunks(t *testing.T) {
	files, _ := filepath.Glob("testdata/stream/*.txtar")
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		chat := strings.HasPrefix(filepath.Base(file), "chat")
		_, files := wiretest.Archive(string(text))
		data := files[0].Data
		want := record(chat, []byte(data), len(data))
		for _, sizes := range [][]int{{1}, {2}, {3, 17}, {64}, {1000, 1}} {
			if got := record(chat, []byte(data), sizes...); got != want {
				t.Errorf("%s in chunks of %v:\n got %s\nwant %s", file, sizes, got, want)
			}
		}
		if got := record(chat, []byte(strings.ReplaceAll(data, "\n", "\r\n")), 7); got != want {
			t.Errorf("%s with CRLF:\n got %s\nwant %s", file, got, want)
		}
	}
}

func TestRecordedMessagesAreLegal(t *testing.T) {
	files, _ := filepath.Glob("testdata/stream/*-tools.txtar")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		chat := strings.HasPrefix(filepath.Base(file), "chat")
		w := newRecorder(chat, nil)
		_, files := wiretest.Archive(string(text))
		io.WriteString(w, files[0].Data)
		r, err := w.Reply()
		must(t, err)
		msgs := append([]transcript.Message{transcript.User("x")}, r.Messages...)
		var results []transcript.ToolResult
		for _, m := range r.Messages {
			for _, b := range m.Blocks().All() {
				if c, ok := b.(transcript.ToolCall); ok {
					results = append(results, transcript.Result(c.ID, "done"))
				}
			}
		}
		req := &model.Request{Model: "m", Messages: append(msgs, transcript.Results(results...))}
		encode, d := EncodeChat, decoders[0]
		if !chat {
			encode, d = EncodeResponses, decoders[1]
		}
		body, err := encode(req)
		must(t, err)
		back, err := d.decode(body)
		must(t, err)
		if v := back.Check(model.Model{}); len(v) > 0 || len(results) == 0 {
			t.Errorf("%s: %v\n%s", file, v, body)
		}
	}
}

func TestRecorderLimits(t *testing.T) {
	event := `data: {"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 100) + `"}}]}` + "\n\n"
	r := NewChatRecorder(nil, 1000)
	for range 100 {
		if n, err := io.WriteString(r, event); n != len(event) || err != nil {
			t.Fatalf("the stream was failed: %d, %v", n, err)
		}
	}
	reply, err := r.Reply()
	if !errors.Is(err, wire.ErrTooLarge) || len(reply.Messages) != 1 || len(reply.Messages[0].Raw()) > 1100 {
		t.Errorf("got %v, %d messages", err, len(reply.Messages))
	}
	q := NewResponsesRecorder(nil, 1000)
	io.WriteString(q, `data: {"type":"response.output_item.done","item":{"x":"`+strings.Repeat("x", 2000)+`"}}`)
	io.WriteString(q, "\n\n")
	if _, err := q.Reply(); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("got %v, want %v", err, wire.ErrTooLarge)
	}
}

func TestRecorderOfSomethingElse(t *testing.T) {
	for _, chat := range []bool{true, false} {
		w := newRecorder(chat, nil)
		io.WriteString(w, "data: {\"oops\n\ndata: {}\n\n")
		if _, err := w.Reply(); !errors.Is(err, wire.ErrEvent) {
			t.Errorf("got %v, want %v", err, wire.ErrEvent)
		}
		w = newRecorder(chat, nil)
		if r, err := w.Reply(); !errors.Is(err, io.ErrUnexpectedEOF) || len(r.Messages) > 0 {
			t.Errorf("empty stream: %v, %v", r, err)
		}
	}
}
