package relay

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/sse"
)

const plainReply = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"output_tokens\":1}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"name\":\"unfold\"}}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// Edits of JSON leave everything else as it was.
func TestJSON(t *testing.T) {
	const data = `{ "a": [1, {"b":"\ud83d <x>"} , null], "c":{}, "d":1.0e2 }`
	tests := []struct{ name, got, want string }{
		{"get", string(get([]byte(data), "a", 1, "b")), `"\ud83d <x>"`},
		{"get nothing", string(get([]byte(data), "a", 7)), ""},
		{"get in a number", string(get([]byte(data), "d", "x")), ""},
		{"set", string(set([]byte(data), []byte("2"), "a", 1, "b")), strings.Replace(data, `"\ud83d <x>"`, "2", 1)},
		{"add", string(set([]byte(data), []byte("2"), "c", "n")), strings.Replace(data, `{}`, `{"n":2}`, 1)},
		{
			"add to others", string(set([]byte(data), []byte("2"), "a", 1, "n")),
			strings.Replace(data, `<x>"}`, `<x>","n":2}`, 1),
		},
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

// A client of the Responses wire gets no reasoning item that only our calls followed: the
// provider refuses it without them.
func TestReasoningOfHiddenCalls(t *testing.T) {
	own := func(name string) bool { return name == "unfold" }
	const (
		first   = `{"type":"reasoning","id":"rs_1"}`
		thought = `{"type":"reasoning","id":"rs_2"}`
		ours    = `{"type":"function_call","name":"unfold"}`
		said    = `{"type":"message","id":"m"}`
	)
	for _, tt := range []struct {
		answers [][]string
		want    string
	}{
		{[][]string{{first, ours}, {thought, said}}, "[" + thought + "," + said + "]"},
		{[][]string{{first, said, ours}, {thought, said}}, "[" + first + "," + said + "," + thought + "," + said + "]"},
		{
			[][]string{{first, ours, `{"type":"function_call","name":"bash"}`}},
			"[" + first + `,{"type":"function_call","name":"bash"}]`,
		},
		{[][]string{{first, thought, ours}}, "[]"},
		{[][]string{{first, said}, {thought}}, "[" + first + "," + said + "," + thought + "]"},
	} {
		s := Responses.Stream(own)
		var bodies [][]byte
		var out []byte
		for i, items := range tt.answers {
			if i > 0 {
				s.Next()
			}
			for k, item := range items {
				for _, typ := range []string{"added", "done"} {
					data := fmt.Sprintf(`{"type":"response.output_item.%s","output_index":%d,"item":%s}`, typ, k, item)
					got, _ := s.Event([]byte("data: "+data+"\n\n"), []byte(data))
					out = append(out, got...)
				}
			}
			body := `{"output":[` + strings.Join(items, ",") + `]}`
			bodies = append(bodies, []byte(body))
			data := `{"type":"response.completed","response":` + body + `}`
			s.Event([]byte("data: "+data+"\n\n"), []byte(data))
		}
		out = append(out, s.End()...)
		if got := string(get(Responses.Join(bodies, own), "output")); got != tt.want {
			t.Errorf("%v: joined %s, want %s", tt.answers, got, tt.want)
		}
		last := bytes.LastIndex(out, []byte("data: "))
		if got := string(get(out[last+6:], "response", "output")); got != tt.want {
			t.Errorf("%v: the stream ends with %s, want %s", tt.answers, got, tt.want)
		}
		for _, typ := range []string{"item.added", "item.done"} {
			if n := bytes.Count(out, []byte(typ)); n != len(elements([]byte(tt.want))) {
				t.Errorf("%v: the client got %d times %s: %s", tt.answers, n, typ, out)
			}
		}
		for i := range elements([]byte(tt.want)) {
			if n := bytes.Count(out, fmt.Appendf(nil, `"output_index":%d,`, i)); n != 2 {
				t.Errorf("%v: the client got %d events of item %d: %s", tt.answers, n, i, out)
			}
		}
	}
}

// What the model tells of its thinking passes at once, also where nothing but our calls follows.
func TestReasoningTold(t *testing.T) {
	s := Responses.Stream(func(name string) bool { return name == "unfold" })
	var all, out string
	for i, data := range []string{
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1"}}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_1","delta":"Hm."}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1"}}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","name":"unfold"}}`,
		`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{}"}`,
	} {
		raw := "data: " + data + "\n\n"
		if i < 2 {
			all += raw
		}
		got, _ := s.Event([]byte(raw), []byte(data))
		if out += string(got); i > 0 && out != all {
			t.Errorf("after event %d the client has %s", i, out)
		}
	}
}

// Where nothing is ours a stream passes on every event as it came; what ends an answer
// comes last. With calls of ours in a stream it must at least not fail.
func FuzzStreams(f *testing.F) {
	f.Add([]byte(plainReply), uint8(0))
	f.Add([]byte("data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":3,\"id\":\"x\",\"function\":{\"name\":\"unfold\",\"arguments\":\"{}\"}}]}}]}\n\ndata: [DONE]\n\n"), uint8(1))
	f.Add([]byte("data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"name\":\"unfold\"}}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":[]}}\n\n"), uint8(2))
	f.Add([]byte("data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"unfold\"}}]}}]}\r\n\r\ndata: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n"), uint8(3))
	f.Fuzz(func(t *testing.T, stream []byte, wire uint8) {
		on := []*Wire{Messages, Chat, Responses, Gemini}[wire%4]
		run := func(own func(string) bool) (events []string, out []byte) {
			s, over := on.Stream(own), false
			var split sse.Splitter
			split.Feed(stream, func(raw, data []byte) {
				if over {
					return
				}
				events = append(events, string(raw))
				var o []byte
				o, over = s.Event(raw, data)
				out = append(out, o...)
			})
			return events, append(out, s.End()...)
		}
		run(func(name string) bool { return name == "unfold" })
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

// Words that come with the end of an answer are not lost when another one follows.
func TestWordsWithTheEnd(t *testing.T) {
	own := func(name string) bool { return name == "unfold" }
	for on, events := range map[*Wire][]string{
		Chat: {
			`{"choices":[{"index":0,"delta":{"content":"One.","tool_calls":[{"index":0,"id":"x","function":{"name":"unfold"}}]},"finish_reason":"tool_calls"}]}`,
			`{"choices":[{"index":0,"delta":{"content":"Two."},"finish_reason":"stop"}]}`,
		},
		Gemini: {
			`{"candidates":[{"content":{"parts":[{"text":"One."},{"functionCall":{"name":"unfold"}}]},"finishReason":"STOP"}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"Two."}]},"finishReason":"STOP"}]}`,
		},
	} {
		s := on.Stream(own)
		one, _ := s.Event([]byte("data: "+events[0]+"\n\n"), []byte(events[0]))
		s.Next()
		two, _ := s.Event([]byte("data: "+events[1]+"\n\n"), []byte(events[1]))
		out := string(append(append(one, two...), s.End()...))
		if strings.Count(out, "One.") != 1 || strings.Count(out, "Two.") != 1 ||
			strings.Count(strings.ToLower(out), `"stop"`) != 1 {
			t.Errorf("the client got %s", out)
		}
	}
}

// The words of several answers are on lines of their own, streamed or not.
func TestChatLines(t *testing.T) {
	own := func(name string) bool { return name == "unfold" }
	s := Chat.Stream(own)
	var out []byte
	var bodies [][]byte
	for i, said := range []string{"One", "", "Two", "Three"} {
		if i > 0 {
			s.Next()
		}
		call := `"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"unfold","arguments":"{}"}}]`
		for _, delta := range []string{
			`"role":"assistant","content":""`, fmt.Sprintf(`"content":%q`, said), `"content":"."`, call,
		} {
			if said == "" && strings.Contains(delta, `"."`) {
				continue
			}
			data := `{"id":"c","choices":[{"index":0,"delta":{` + delta + `}}]}`
			got, _ := s.Event([]byte("data: "+data+"\n\n"), []byte(data))
			out = append(out, got...)
		}
		if said != "" {
			said += "."
		}
		bodies = append(bodies,
			fmt.Appendf(nil, `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":%q,%s}}]}`, said, call))
	}
	var streamed []byte
	for line := range bytes.Lines(out) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			streamed = append(streamed, text(get(data, "choices", 0, "delta", "content"))...)
		}
	}
	whole := text(get(Chat.Join(bodies, own), "choices", 0, "message", "content"))
	if want := "One.\nTwo.\nThree."; string(streamed) != want || whole != want {
		t.Errorf("streamed %q, whole %q", streamed, whole)
	}
}

// Streams as gateways and servers write them reach the client at once, without our calls.
func TestServersStreams(t *testing.T) {
	const (
		call  = `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","name":"unfold"}}`
		bash  = `{"index":0,"id":"b","function":{"name":"bash","arguments":"{}"}}`
		block = `{"type":"content_block_start","index":%d,"content_block":{"type":%q,"name":"unfold"}}`
	)
	chat := func(delta, finish string) string {
		return fmt.Sprintf("data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{%s},\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	for name, tt := range map[string]struct {
		on         *Wire
		sent, want []string // of each event, before the end
	}{
		"comments after a hidden call": {
			Responses,
			[]string{": OPENROUTER PROCESSING\n\n", "data: " + call + "\n\n", ": keep-alive\n\n"},
			[]string{": OPENROUTER PROCESSING\n\n", "", ": keep-alive\n\n"},
		},
		"a comment before a type": {
			Messages,
			[]string{"data: " + fmt.Sprintf(block, 0, "tool_use") + "\n\n", ": x\r\nevent: content_block_start\r\nid: 7\r\ndata: " + fmt.Sprintf(block, 1, "text") + "\r\n\r\n"},
			[]string{"", ": x\nevent: content_block_start\nid: 7\ndata: " + fmt.Sprintf(block, 0, "text") + "\n\n"},
		},
		"a first chunk without choices": {
			Chat,
			[]string{"data: {\"id\":\"\",\"choices\":[],\"prompt_filter_results\":[]}\n\n", chat(`"content":"Hm"`, "null")},
			[]string{"data: {\"id\":\"\",\"choices\":[],\"prompt_filter_results\":[]}\n\n", chat(`"content":"Hm"`, "null")},
		},
		"empty reasons for stopping": {
			Chat, []string{chat(`"content":"Hm"`, `""`), chat(`"content":"!"`, `"stop"`)}, []string{chat(`"content":"Hm"`, `""`), ""},
		},
		"names after ids": {
			Chat,
			[]string{
				chat(`"tool_calls":[{"index":0,"id":"a","type":"function"}]`, "null"),
				chat(`"tool_calls":[{"index":0,"function":{"name":"unfold","arguments":"{}"}}]`, "null"),
				chat(`"tool_calls":[{"index":1,"id":"b"}]`, "null"),
				chat(`"tool_calls":[{"index":1,"function":{"name":"bash","arguments":"{"}}]`, "null"),
				chat(`"tool_calls":[{"index":1,"function":{"arguments":"}"}}]`, "null"),
			},
			[]string{
				"", "", "", chat(`"tool_calls":[{"index":0,"id":"b"},{"index":0,"function":{"name":"bash","arguments":"{"}}]`, "null"),
				chat(`"tool_calls":[{"index":0,"function":{"arguments":"}"}}]`, "null"),
			},
		},
		"all calls with one index": {
			Chat,
			[]string{
				chat(`"tool_calls":[{"index":0,"id":"a","function":{"name":"unfold","arguments":"{}"}}]`, "null"),
				chat(`"tool_calls":[`+bash+`]`, "null"), chat(`"tool_calls":[`+strings.ReplaceAll(bash, `"b"`, `"c"`)+`]`, "null"),
			},
			[]string{
				"", chat(`"tool_calls":[`+bash+`]`, "null"),
				chat(`"tool_calls":[`+strings.NewReplacer(`"b"`, `"c"`, `:0`, `:1`).Replace(bash)+`]`, "null"),
			},
		},
	} {
		s := tt.on.Stream(func(name string) bool { return name == "unfold" })
		for i, raw := range tt.sent {
			got, _ := s.Event([]byte(raw), sse.Data([]byte(raw)))
			if string(got) != tt.want[i] {
				t.Errorf("%s: event %d became %q, want %q", name, i, got, tt.want[i])
			}
		}
	}
}
