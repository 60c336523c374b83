package proxy

import (
	"bytes"
	"strings"
	"testing"
)

const plainReply = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":%d,\"output_tokens\":1}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Yes.\"}}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// Whatever the chunks, the events are the same, and no byte is lost.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("event: a\ndata: 1\n\n: c\r\n\r\ndata: 2\r\rrest"), uint8(3))
	f.Add([]byte("\n\n\n\r\n\r\n\r\r"), uint8(1))
	f.Add([]byte(plainReply), uint8(7))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		split := func(size int) (events []string, all string) {
			var s splitter
			for rest := stream; len(rest) > 0; {
				n := min(size, len(rest))
				s.feed(rest[:n], func(raw, _ []byte) { events = append(events, string(raw)) })
				rest = rest[n:]
			}
			return events, strings.Join(events, "") + string(s.rest())
		}
		whole, all := split(len(stream) + 1)
		if all != string(stream) {
			t.Fatalf("%q became %q", stream, all)
		}
		for _, n := range []int{1, int(size)%16 + 1} {
			if pieces, again := split(n); strings.Join(pieces, "|") != strings.Join(whole, "|") || again != all {
				t.Fatalf("in chunks of %d: %q, whole: %q", n, pieces, whole)
			}
		}
	})
}

func TestDataOf(t *testing.T) {
	for raw, want := range map[string]string{
		"event: x\ndata: {}\n\n":      "{}",
		"data:{}\r\n\r\n":             "{}",
		"data: a\ndata: b\nid: 1\n\n": "a\nb",
		": comment\n\n":               "",
		"data\n\n":                    "",
	} {
		if got := string(dataOf([]byte(raw))); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

// Edits of JSON leave everything else as it was.
func TestJSON(t *testing.T) {
	const data = `{ "a": [1, {"b":"\ud83d <x>"} , null], "c":{}, "d":1.0e2 }`
	tests := []struct{ name, got, want string }{
		{"get", string(get([]byte(data), "a", 1, "b")), `"\ud83d <x>"`},
		{"get nothing", string(get([]byte(data), "a", 7)), ""},
		{"get in a number", string(get([]byte(data), "d", "x")), ""},
		{"set", string(set([]byte(data), []byte("2"), "a", 1, "b")), strings.Replace(data, `"\ud83d <x>"`, "2", 1)},
		{"add", string(set([]byte(data), []byte("2"), "c", "n")), strings.Replace(data, `{}`, `{"n":2}`, 1)},
		{"add to others", string(set([]byte(data), []byte("2"), "a", 1, "n")), strings.Replace(data, `<x>"}`, `<x>","n":2}`, 1)},
		{"set nowhere", string(set([]byte(data), []byte("2"), "x", "y")), data},
		{"without", string(without([]byte(data), "c")), `{"a": [1, {"b":"\ud83d <x>"} , null],"d":1.0e2}`},
		{"without nothing", string(without([]byte(`[1]`), "c")), `[1]`},
		{"elements", string(arrayOf(elements([]byte(` [ 1 , {"a": 2} ]`)))), `[1,{"a": 2}]`},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, tt.got, tt.want)
		}
	}
}

// Where nothing is ours a screen passes on every event as it came; what ends an answer
// comes last. With calls of ours in a stream it must at least not fail.
func FuzzScreens(f *testing.F) {
	f.Add([]byte(plainReply), uint8(0))
	f.Add([]byte("data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":3,\"id\":\"x\",\"function\":{\"name\":\"unfold\",\"arguments\":\"{}\"}}]}}]}\n\ndata: [DONE]\n\n"), uint8(1))
	f.Add([]byte("data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"name\":\"unfold\"}}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":[]}}\n\n"), uint8(2))
	f.Add([]byte("data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"unfold\"}}]}}]}\r\n\r\ndata: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n"), uint8(3))
	f.Fuzz(func(t *testing.T, stream []byte, wire uint8) {
		on := protocols[int(wire)%len(protocols)]
		run := func(own func(string) bool) (events []string, out []byte) {
			s, over := on.stream(own), false
			var split splitter
			split.feed(stream, func(raw, data []byte) {
				if over {
					return
				}
				events = append(events, string(raw))
				var o []byte
				o, over = s.event(raw, data)
				out = append(out, o...)
			})
			return events, append(out, s.end()...)
		}
		run(mode{Recall: RecallTools}.own)
		events, out := run(func(string) bool { return false })
		if len(out) != len(strings.Join(events, "")) {
			t.Fatalf("%q became %q", events, out)
		}
		for _, e := range events {
			if !bytes.Contains(out, []byte(e)) {
				t.Fatalf("%q is not in %q", e, out)
			}
		}
	})
}
