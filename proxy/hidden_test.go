package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// shaky fails in hidden rounds: the requests after an answer that calls one of our tools.
type shaky struct {
	to    http.Handler
	how   string
	fails int // how many times in a row
	left  atomic.Int64
	calls atomic.Int64 // answers with such a call
}

func (s *shaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.left.Load() > 0 {
		s.left.Add(-1)
		switch s.how {
		case "reset":
			panic(http.ErrAbortHandler)
		case "silent":
			_, _ = io.Copy(io.Discard, r.Body) // only then it is noticed that the client has gone
			<-r.Context().Done()
		case "event":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w,
				"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n")
		case "429":
			w.Header().Set("Retry-After", "0.001")
			http.Error(w, `{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}`,
				http.StatusTooManyRequests)
		case "500":
			http.Error(w, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, 500)
		case "529":
			http.Error(w, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, 529)
		}
		return
	}
	rec := httptest.NewRecorder()
	s.to.ServeHTTP(rec, r)
	if strings.Contains(rec.Body.String(), `"name":"unfold"`) {
		s.calls.Add(1)
		s.left.Store(int64(s.fails))
	}
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

// An error that passes is waited out in a hidden round, which no client can send again.
func TestHiddenRoundOutwaitsErrors(t *testing.T) {
	for _, how := range []string{"429", "500", "529", "reset", "event"} {
		eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
			if how == "event" && (on != protocol.Messages || !streams) {
				t.Skip("an error in a stream, on one wire")
			}
			script := upstreamtest.New(upstreamtest.Options{Calls: 14, Bytes: 12_000, Limit: window, RecallAt: 10})
			up := &shaky{to: script, how: how, fails: 3}
			a := newAgent(on, start(t, up, Options{Window: window, Patience: 2 * time.Second}), "Do all the steps.")
			a.streams = streams
			a.run(t)
			wellBehaved(t, script.Log())
			if up.calls.Load() != 1 || up.left.Load() != 0 {
				t.Errorf("%s: %d recalls, %d errors left", how, up.calls.Load(), up.left.Load())
			}
		})
	}
}

// If it does not pass, the client gets an error that it can try again after, and its request
// goes on where it was: the recall is not asked for again.
func TestHiddenRoundIsResumed(t *testing.T) {
	for _, how := range []string{"429", "500", "529", "reset"} {
		eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
			script := upstreamtest.New(upstreamtest.Options{Calls: 14, Bytes: 12_000, Limit: window, RecallAt: 10})
			up := &shaky{to: script, how: how, fails: 100}
			reports := newReports()
			o := Options{Window: window, Patience: time.Millisecond, Report: reports.add}
			a := newAgent(on, start(t, up, o), "Do all the steps.")
			a.streams = streams
			failed := 0
			for {
				more, err := a.step()
				if err != nil {
					failed++
					up.left.Store(0)
					var e *model.APIError
					if errors.As(err, &e) && !e.Retryable() || !errors.As(err, &e) && (how != "reset" || !streams) ||
						failed > 1 {
						t.Fatalf("%s: the client got %v", how, err)
					}
					continue
				}
				if !more {
					break
				}
			}
			log := script.Log()
			wellBehaved(t, log)
			if failed != 1 || up.calls.Load() != 1 || log[len(log)-1].Step != 14 {
				t.Errorf("%s: %d failures, %d recalls, step %d", how, failed, up.calls.Load(), log[len(log)-1].Step)
			}
			for _, r := range reports.wait(len(a.bodies)) {
				if r.Forked {
					t.Errorf("%s: the conversation was forked", how)
				}
			}
		})
	}
}

// The time that an upstream is silent counts: otherwise each of many tries would take as long
// as it may be silent, while the client's stream hears pings.
func TestHiddenRoundOfSilentUpstream(t *testing.T) {
	t.Parallel()
	script := upstreamtest.New(upstreamtest.Options{Calls: 14, Bytes: 12_000, Limit: window, RecallAt: 10})
	up := &shaky{to: script, how: "silent", fails: 100}
	o := Options{
		Window:   window,
		Timeout:  500 * time.Millisecond,
		Patience: 250 * time.Millisecond,
		Ping:     10 * time.Millisecond,
	}
	a := newAgent(protocol.Messages, start(t, up, o), "Do all the steps.")
	a.streams = true
	var err error
	for more := true; more && err == nil; {
		more, err = a.step()
	}
	if tries := 100 - up.left.Load(); err == nil || tries > 3 {
		t.Errorf("tried %d times: %v", tries, err)
	}
	up.left.Store(0)
	a.run(t)
	wellBehaved(t, script.Log())
}

// What another replica writes to the session while the model answers breaks no answer off,
// and no hidden round is lost: neither by a mark, nor by a conversation that goes on from
// the same request.
func TestConflictInHiddenRound(t *testing.T) {
	for name, say := range map[string]string{"mark": "", "message": "And be quick."} {
		t.Run(name, func(t *testing.T) {
			eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
				if say != "" && on != protocol.Messages {
					t.Skip("the same on every wire")
				}
				script := upstreamtest.Options{Calls: 15, Bytes: 12_000, Limit: window, RecallAt: 12}
				up := upstreamtest.New(script)
				st := store.NewMemory()
				var a, other *agent
				var h *Handler
				var busy atomic.Bool
				meddle := func() {
					if say == "" {
						key := h.Sessions()[0].Key
						last := uint64(0)
						for e, err := range st.Scan(t.Context(), key, 1) {
							if err != nil {
								t.Error(err)
							}
							last = e.Seq
						}
						if _, err := st.Append(t.Context(), key, last,
							store.Entry{Kind: store.EntryPrefix, Data: []byte(`{"recall":"tools"}`)}); err != nil {
							t.Error(err)
						}
						return
					}
					b := *other
					b.history = append(a.history[:len(a.history):len(a.history)], other.history[0])
					if _, err := b.send(); err != nil {
						t.Error(err)
					}
				}
				at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if busy.CompareAndSwap(false, true) {
						// Else the request itself is lost.
						_ = h.rw.Written(t.Context())
						meddle()
						busy.Store(false)
					}
					up.ServeHTTP(w, r)
				}))
				reports := newReports()
				var url string
				h, url = handlerAt(t, at, Options{Window: window, Store: st, Report: reports.add})
				a = newAgent(on, url, "Do all the steps.")
				other = newAgent(on,
					startAt(t, serve(t, upstreamtest.New(script)), Options{Window: window, Store: st}), say)
				a.streams, other.streams = streams, streams
				a.run(t)
				wellBehaved(t, up.Log())
				hidden := 0
				for i, r := range reports.wait(len(a.bodies)) {
					hidden += r.Hidden
					if r.Err != nil {
						t.Errorf("turn %d: %v", i, r.Err)
					}
				}
				if hidden == 0 {
					t.Error("no round was hidden")
				}
			})
		})
	}
}

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
