package gemini

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
)

// events is a stream as alt=sse has it.
func events(chunks ...string) string {
	var sb strings.Builder
	for _, c := range chunks {
		sb.WriteString("data: " + c + "\r\n\r\n")
	}
	return sb.String()
}

func candidate(parts, rest string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}` + rest + `}]}`
}

const end = `,"finishReason":"STOP","index":0`

var replies = []struct {
	name   string
	chunks []string
	want   string // the message
	stop   model.StopReason
	usage  model.Usage
	deltas string
}{
	{
		"text in pieces",
		[]string{
			`{"candidates":[{"content":{"parts":[{"text":"Hel"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":5},"modelVersion":"gemini-x","responseId":"r1"}`,
			candidate(`{"text":"l\ud83d"}`, ""), candidate(`{"text":"\ude00"}`, ""),
			`{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":50,"cachedContentTokenCount":30,"candidatesTokenCount":7,"thoughtsTokenCount":4,"toolUsePromptTokenCount":2,"totalTokenCount":63},"responseId":"r1"}`,
		},
		`{"role":"model","parts":[{"text":"Hell\ud83d\ude00"}]}`, model.StopEnd,
		model.Usage{Input: 22, CacheRead: 30, Output: 11, Reasoning: 4},
		`0 text "Hel" 0 text "l�" 0 text "�"`,
	},
	{
		"thoughts, then text, then a late signature",
		[]string{
			candidate(`{"text":"hm","thought":true}`, ""), candidate(`{"text":" so","thought":true}`, ""),
			candidate(`{"text":"A"}`, ""), candidate(`{"text":"","thoughtSignature":"cw=="}`, end),
		},
		`{"role":"model","parts":[{"thought":true,"text":"hm so"},{"text":"A"},{"text":"","thoughtSignature":"cw=="}]}`,
		model.StopEnd,
		model.Usage{},
		`0 thinking "hm" 0 thinking " so" 1 text "A"`,
	},
	{
		"a signed text is not joined with its neighbours",
		[]string{
			candidate(`{"text":"a"}`, ""), candidate(`{"text":"b","thoughtSignature":"cw=="}`, ""),
			candidate(`{"text":"c"}`, end),
		},
		`{"role":"model","parts":[{"text":"a"},{"text":"b","thoughtSignature":"cw=="},{"text":"c"}]}`, model.StopEnd,
		model.Usage{},
		`0 text "a" 1 text "b" 2 text "c"`,
	},
	{
		"calls as they came",
		[]string{candidate(`{"functionCall":{"name":"run","args":{"x": 1.0,"\u00e9":null}},"thoughtSignature":"c2\u006cn"},{"functionCall":{"id":"7","name":"run"},"new":true}`, end)},
		`{"role":"model","parts":[{"functionCall":{"name":"run","args":{"x": 1.0,"\u00e9":null}},"thoughtSignature":"c2\u006cn"},{"functionCall":{"id":"7","name":"run"},"new":true}]}`,
		model.StopToolUse,
		model.Usage{},
		`0 tool_call "{\"x\": 1.0,\"\\u00e9\":null}" 1 tool_call ""`,
	},
	{
		"cut off",
		[]string{candidate(`{"text":"a"}`, `,"finishReason":"MAX_TOKENS"`)},
		`{"role":"model","parts":[{"text":"a"}]}`, model.StopMaxTokens,
		model.Usage{},
		`0 text "a"`,
	},
	{"refused", []string{`{"candidates":[{"finishReason":"SAFETY"}]}`}, "", model.StopRefusal, model.Usage{}, ""},
	{
		"prompt refused",
		[]string{`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`},
		"", model.StopRefusal,
		model.Usage{},
		"",
	},
	{
		"malformed",
		[]string{`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}`},
		"", model.StopUnknown,
		model.Usage{},
		"",
	},
	{"other candidates", []string{`{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]}},{"index":0,"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`}, `{"role":"model","parts":[{"text":"a"}]}`, model.StopEnd, model.Usage{}, `0 text "a"`},
}

// An answer is the same streamed as events, as an array, and where there is only one chunk
// also by itself.
func TestReplies(t *testing.T) {
	for _, tt := range replies {
		t.Run(tt.name, func(t *testing.T) {
			var deltas []string
			rec := NewRecorder(func(d model.Delta) {
				deltas = append(deltas,
					fmt.Sprintf("%d %s %q", d.Index, d.Kind, d.Text))
			}, 0)
			io.WriteString(rec, events(tt.chunks...))
			streamed, err := rec.Reply()
			if err != nil || !rec.Done() {
				t.Fatalf("%v, done: %v", err, rec.Done())
			}
			if got := strings.Join(deltas, " "); got != tt.deltas {
				t.Errorf("deltas %s, want %s", got, tt.deltas)
			}
			array, err := DecodeReply([]byte("[" + strings.Join(tt.chunks, "\n,\r\n") + "]"))
			must(t, err)
			for _, r := range []model.Reply{streamed, array} {
				raw := ""
				if len(r.Messages) == 1 {
					raw = r.Messages[0].Raw()
				}
				if raw != tt.want || r.Stop != tt.stop || r.Usage != tt.usage {
					t.Errorf("%s\nwant %s; %v, %+v", raw, tt.want, r.Stop, r.Usage)
				}
			}
			if len(tt.chunks) == 1 {
				if r, err := DecodeReply([]byte(tt.chunks[0])); err != nil || r.Stop != tt.stop {
					t.Errorf("by itself: %v, %v", r.Stop, err)
				}
			}
		})
	}
	rec := NewRecorder(nil, 0)
	io.WriteString(rec, events(replies[0].chunks...))
	if reply, _ := rec.Reply(); reply.ID != "r1" || reply.Model != "gemini-x" {
		t.Errorf("%q %q", reply.ID, reply.Model)
	}
}

func TestReplyErrors(t *testing.T) {
	const busy = `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`
	const long = `{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}`
	for body, want := range map[string]model.ErrorKind{busy: model.ErrorOverloaded, long: model.ErrorTooLong, "[" +
		long +
		"]": model.ErrorTooLong} {
		r, err := DecodeReply([]byte(body))
		if err != nil || r.Err == nil || r.Err.Kind != want {
			t.Errorf("%s: %v, %v", body, r.Err, err)
		}
	}
	rec := NewRecorder(nil, 0)
	io.WriteString(rec, events(candidate(`{"text":"a"}`, ""), busy))
	if r, err := rec.Reply(); err != nil || r.Err == nil || r.Err.Kind != model.ErrorOverloaded || !rec.Done() {
		t.Errorf("%v, %v", r.Err, err)
	}
	rec = NewRecorder(nil, 0) // as the provider has it: not as an event
	io.WriteString(rec, events(candidate(`{"text":"a"}`, ""))+strings.ReplaceAll(busy, ",", ",\n  ")+"\n")
	if r, err := rec.Reply(); err != nil || r.Err == nil || r.Err.Kind != model.ErrorOverloaded {
		t.Errorf("%v, %v", r.Err, err)
	}
	rec = NewRecorder(nil, 0)
	io.WriteString(rec, events(candidate(`{"text":"a"}`, "")))
	if r, err := rec.Reply(); !errors.Is(err, io.ErrUnexpectedEOF) || len(r.Messages) != 1 {
		t.Errorf("%v, %v", r.Messages, err)
	}
	rec = NewRecorder(nil, 20)
	io.WriteString(rec, events(candidate(`{"text":"aaaaaaaaaaaaaaaaaaaaaaaaa"}`, end)))
	if _, err := rec.Reply(); err == nil {
		t.Error("no limit")
	}
	for _, body := range []string{"", "{", "[{}", "{}", "[]", "7", `{"candidates":[]}`} {
		if r, err := DecodeReply([]byte(body)); err == nil {
			t.Errorf("%q is %+v", body, r)
		}
	}
}
