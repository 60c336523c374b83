package whole_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store/sqlite"
)

// growing is a conversation that has been going on for a while: every request has one
// round more than the one before. Those with other numbers share no round.
type growing struct {
	buf  bytes.Buffer
	n    int
	path string
}

const benchTail = `],"system":"You work.","tools":[{"name":"bash","description":"Run.",` +
	`"input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],"max_tokens":1000,"stream":true}`

func newGrowing(tokens, n int) *growing {
	g := &growing{path: "/v1/messages", n: n}
	g.buf.WriteString(`{"model":"local-model","messages":[{"role":"user","content":"Do all the steps."}`)
	for g.buf.Len() < tokens*4 {
		g.round(8_000)
	}
	return g
}

// round adds a call and its result.
func (g *growing) round(size int) {
	g.n++
	fmt.Fprintf(&g.buf, `,{"role":"assistant","content":[{"type":"text","text":"Step."},`+
		`{"type":"tool_use","id":"toolu_%d","name":"bash","input":{"command":"go test"}}]}`, g.n)
	fmt.Fprintf(&g.buf, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"`, g.n)
	for i := 0; i*60 < size; i++ {
		const line = `--- PASS: Test%d_%d (0.%02ds) value %06d, as it was\n`
		fmt.Fprintf(&g.buf, line, g.n, i, i%100, (g.n*7919+i*104729)%1000003)
	}
	g.buf.WriteString(`"}]}`)
}

func (g *growing) body() []byte {
	return append(bytes.Clone(g.buf.Bytes()), benchTail...)
}

const benchReply = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"," +
	"\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":%d," +
	"\"output_tokens\":1}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0," +
	"\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0," +
	"\"delta\":{\"type\":\"text_delta\",\"text\":\"Step.\"}}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1," +
	"\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_%s\",\"name\":\"bash\",\"input\":{}}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1," +
	"\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"command\\\":\\\"go test\\\"}\"}}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n" +
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}," +
	"\"usage\":{\"output_tokens\":5}}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

const benchStep = "X-Step"

// request is the conversation as it is.
func (g *growing) request(url string) *http.Request {
	r, _ := http.NewRequest(http.MethodPost, url+g.path, bytes.NewReader(g.body()))
	r.Header.Set(benchStep, fmt.Sprint(g.n+1))
	return r
}

// instant is a provider that answers as soon as it has read the request, with the call that
// the client's next request has.
func instant(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, benchReply, n/4, r.Header.Get(benchStep))
}

func at(text string) *url.URL {
	u, _ := url.Parse(text)
	return u
}

func transport() http.RoundTripper {
	return &http.Transport{MaxIdleConns: 512, MaxIdleConnsPerHost: 128, DisableCompression: true}
}

// bare is a proxy that reads the body whole, as every one must that looks at it, and does
// nothing else.
func bare(to string) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			var body bytes.Buffer
			body.Grow(int(p.In.ContentLength) + bytes.MinRead)
			if _, err := body.ReadFrom(p.In.Body); err != nil {
				panic(http.ErrAbortHandler)
			}
			p.SetURL(at(to))
			p.Out.Body = io.NopCloser(&body)
		},
		Transport: transport(), FlushInterval: -1,
	}
}

// BenchmarkProxy compares the time that a request takes through a proxy that only reads
// the body with that through this one: while nothing is folded, and in an epoch. Each
// request has a round more than the one before; a conversation that has grown by a quarter
// gives way to a new one, whose first requests, and the epoch that they open, are not
// measured. Both proxies are asked in turns, so that a busy machine slows both down, and each
// pays for what it does after its answers. The client and the upstream run here too: their
// processor time is part of both sides of cpu-ratio.
func BenchmarkProxy(b *testing.B) {
	for _, tokens := range []int{10_000, 200_000, 1_000_000} {
		for _, kind := range []string{"plain", "epoch"} {
			b.Run(fmt.Sprintf("tokens=%d/%s", tokens, kind), func(b *testing.B) {
				window := 50_000_000
				if kind == "epoch" {
					window = tokens * 3 / 4
				}
				benchProxy(b, tokens, window)
			})
		}
	}
}

// side is one of the two proxies that are compared, with a conversation of its own.
type side struct {
	url  string
	talk *growing
	took []time.Duration
	cpu  time.Duration
}

func benchProxy(b *testing.B, tokens, window int) {
	sides := newSides(b, 0, window)
	for b.Loop() {
		for i := range sides {
			s := &sides[i]
			if size := s.talk.buf.Len(); size < tokens*4 || size > tokens*5 {
				s.begin(b, tokens)
			}
			began := cpuTime()
			for range 10 {
				s.send(b)
			}
			rest()
			s.cpu += cpuTime() - began
		}
	}
	bare, ours := &sides[0], &sides[1]
	perRequest := func(s *side) float64 { return float64(s.cpu.Microseconds()) / float64(len(s.took)) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(bare.took), "bare-p50-µs")
	b.ReportMetric(median(ours.took), "p50-µs")
	b.ReportMetric(perRequest(bare), "bare-cpu-µs")
	b.ReportMetric(perRequest(ours), "cpu-µs")
	b.ReportMetric(median(ours.took)/median(bare.took), "p50-ratio")
	b.ReportMetric(perRequest(ours)/perRequest(bare), "cpu-ratio")
}

// begin begins another conversation, with a session that is made and stored.
func (s *side) begin(b *testing.B, tokens int) {
	took := s.took
	s.talk = newGrowing(tokens, s.talk.n)
	s.send(b)
	s.send(b)
	s.took = took
	rest()
}

// rest waits until nothing is done any more behind the answers.
func rest() {
	for busy := true; busy; {
		began := cpuTime()
		time.Sleep(120 * time.Millisecond) // longer than writes are held back
		busy = cpuTime()-began > 2*time.Millisecond
	}
}

func median(took []time.Duration) float64 {
	return float64(slices.Sorted(slices.Values(took))[len(took)/2].Microseconds())
}

// newSides starts both proxies.
func newSides(b *testing.B, tokens, window int) (sides [2]side) {
	up := httptest.NewServer(http.HandlerFunc(instant))
	b.Cleanup(up.Close)
	st, err := sqlite.Open(filepath.Join(b.TempDir(), "store.db"), nil)
	must(b, err)
	b.Cleanup(func() { st.Close() })
	h, err := proxy.NewHandler(&proxy.Options{
		Store: st, Anthropic: at(up.URL), Window: window, Policy: policy.Default(),
	})
	must(b, err)
	b.Cleanup(func() { h.Close() })
	for i, h := range []http.Handler{bare(up.URL), h} {
		front := httptest.NewServer(h)
		b.Cleanup(front.Close)
		sides[i] = side{url: front.URL, talk: newGrowing(tokens, 0)}
	}
	return sides
}

// BenchmarkTurns compares both proxies in a conversation of 2,000 turns: in its second hundred,
// and in its last.
func BenchmarkTurns(b *testing.B) {
	for _, window := range []int{8_000, 60_000} {
		b.Run(fmt.Sprint("window=", window), func(b *testing.B) {
			for b.Loop() {
				sides := newSides(b, 0, window)
				for range 2000 {
					for i := range sides {
						sides[i].send(b)
					}
				}
				bare, ours := sides[0].took, sides[1].took
				for _, at := range []int{100, 1900} {
					b.ReportMetric(median(bare[at:at+100]), fmt.Sprint("bare-µs/", at))
					b.ReportMetric(median(ours[at:at+100]), fmt.Sprint("µs/", at))
				}
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

var benchClient = &http.Client{Transport: transport()}

// send sends the conversation as it is, reads the answer, and adds a round.
func (s *side) send(b *testing.B) {
	r := s.talk.request(s.url)
	began := time.Now()
	resp, err := benchClient.Do(r)
	must(b, err)
	answer, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || !strings.HasSuffix(string(answer), "\"message_stop\"}\n\n") {
		b.Fatalf("status %d, %v: %s", resp.StatusCode, err, answer)
	}
	s.took = append(s.took, time.Since(began))
	s.talk.round(400)
}
