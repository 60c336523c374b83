package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/transcript"
)

// cutReply is an answer that calls ledger, perhaps after a text, on a wire.
func cutReply(on *protocol.Protocol, n int, text, stop string) (whole, stream string) {
	var blocks []string
	add := func(format string, args ...any) { blocks = append(blocks, fmt.Sprintf(format, args...)) }
	switch on {
	case protocol.Messages:
		add(`{"type":"thinking","thinking":"Hm.","signature":"c2ln"}`)
		if text != "" {
			add(`{"type":"text","text":%q}`, text)
		}
		add(`{"type":"tool_use","id":"t%d","name":"ledger","input":{}}`, n)
		stream = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n"
		for i, b := range blocks {
			stream += fmt.Sprintf("data: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}\n\ndata: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", i, b, i)
		}
		stream += fmt.Sprintf("data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":%q},\"usage\":{\"output_tokens\":3}}\n\ndata: {\"type\":\"message_stop\"}\n\n", stop)
		return fmt.Sprintf(`{"id":"m","type":"message","role":"assistant","content":[%s],"stop_reason":%q,"usage":{"input_tokens":9,"output_tokens":3}}`, strings.Join(blocks, ","), stop), stream
	case protocol.Chat:
		const call = `"tool_calls":[{"index":0,"id":"t%d","type":"function","function":{"name":"ledger","arguments":"{}"}}]`
		if text != "" {
			stream = fmt.Sprintf("data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%q}}]}\n\n", text)
		}
		stream += fmt.Sprintf("data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{"+call+"}}]}\n\n", n)
		stream += fmt.Sprintf("data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", stop)
		return fmt.Sprintf(`{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":%q,`+call+`},"finish_reason":%q}]}`, text, n, stop), stream
	case protocol.Gemini:
		if text != "" {
			add(`{"text":%q}`, text)
		}
		add(`{"functionCall":{"id":"t%d","name":"ledger","args":{}},"thoughtSignature":"c2ln"}`, n)
		whole = fmt.Sprintf(`{"responseId":"g","candidates":[{"content":{"parts":[%s],"role":"model"},"finishReason":%q}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3,"totalTokenCount":12}}`, strings.Join(blocks, ","), stop)
		return whole, "data: " + whole + "\n\n"
	}
	add(`{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"x"}`, n)
	if text != "" {
		add(`{"type":"message","id":"msg_%d","role":"assistant","content":[{"type":"output_text","text":%q}]}`, n, text)
	}
	add(`{"type":"function_call","id":"fc_%d","call_id":"t%d","name":"ledger","arguments":"{}"}`, n, n)
	for i, b := range blocks {
		for _, is := range []string{"added", "done"} {
			stream += fmt.Sprintf("data: {\"type\":\"response.output_item.%s\",\"output_index\":%d,\"item\":%s}\n\n",
				is, i, b)
		}
	}
	status := `"incomplete","incomplete_details":{"reason":"` + stop + `"}`
	kind := "incomplete"
	if stop == "" {
		status, kind = `"completed"`, "completed"
	}
	whole = fmt.Sprintf(`{"id":"r","object":"response","status":%s,"output":[%s],"usage":{"input_tokens":9,"output_tokens":3,"total_tokens":12}}`, status, strings.Join(blocks, ","))
	return whole, stream + "data: {\"type\":\"response." + kind + "\",\"response\":" + whole + "}\n\n"
}

// Where an answer is cut off with calls of pleat's own in it, also after hidden rounds, the
// client gets neither these calls nor another reason for the end, and what it got is legal when
// it comes back.
func TestRecallCutOff(t *testing.T) {
	stops := map[*protocol.Protocol][]string{
		protocol.Messages:  {"tool_use", "max_tokens", "refusal", "model_context_window_exceeded"},
		protocol.Chat:      {"tool_calls", "length", "content_filter"},
		protocol.Responses: {"", "max_output_tokens", "content_filter"},
		protocol.Gemini:    {"STOP", "MAX_TOKENS", "SAFETY"},
	}
	for _, on := range protocol.Protocols {
		for _, stop := range stops[on][1:] {
			for at := range 8 { // all ways to set the three
				streams, rounds, text := at&1 > 0, at&2>>1, "I look."[:at&4/4*7]
				t.Run(fmt.Sprint(on.Format, stop, streams, rounds, text), func(t *testing.T) {
					n := 0
					up := &capture{to: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						because := stop
						if n++; n <= rounds {
							because = stops[on][0]
						}
						whole, stream := cutReply(on, n, text, because)
						if w.Header().Set("Content-Type", "application/json"); streams {
							w.Header().Set("Content-Type", "text/event-stream")
							whole = stream
						}
						_, _ = io.WriteString(w, whole)
					})}
					a := newAgent(on, start(t, up, Options{}), "Hello.")
					a.streams = streams
					reply, err := a.send()
					if err != nil || reply.StopRaw != stop {
						t.Fatalf("the client got %+v, %v", reply, err)
					}
					if more, err := a.take(reply); more || err != nil {
						t.Fatal(more, err)
					}
					a.say("Go on.")
					a.ask(t)
					sent := up.all()
					last, err := on.Read(sent[len(sent)-1])
					must(t, err)
					if got := strings.Contains(string(sent[len(sent)-1]), `"t1"`); got != (rounds > 0 &&
						len(reply.Messages) > 0) {
						t.Errorf("the hidden round is in the next request: %t", got)
					}
					open := transcript.Unanswered(last.Messages...)
					if v := last.Check(model.Model{}); len(sent) != rounds+2 || len(v) > 0 || len(open) > 0 {
						t.Errorf("%d requests; %v, open %v in %s", len(sent), v, open, sent[len(sent)-1])
					}
				})
			}
		}
	}
}
