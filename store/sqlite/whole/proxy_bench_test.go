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
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
)

// growing is a conversation that has been going on for a while: every request has one
// round more than the one before.
type growing struct {
	buf  bytes.Buffer
	n    int
	path string
}

const benchTail = `],"system":"You work.","tools":[{"name":"bash","description":"Run.","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],"max_tokens":1000,"stream":true}`

func newGrowing(tokens int) *growing {
	g := &growing{path: "/v1/messages"}
	g.buf.WriteString(`{"model":"local-model","messages":[{"role":"user","content":"Do all the steps."}`)
	for g.buf.Len() < tokens*4 {
		g.round(8_000)
	}
	return g
}

// round adds a call and its result.
func (g *growing) round(size int) {
	g.n++
	fmt.Fprintf(&g.buf, `,{"role":"assistant","content":[{"type":"text","text":"Step %d."},{"type":"tool_use","id":"toolu_%d","name":"bash","input":{"command":"go test ./pkg%d"}}]}`, g.n, g.n, g.n)
	fmt.Fprintf(&g.buf, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"`, g.n)
	for i := 0; i*60 < size; i++ {
		fmt.Fprintf(&g.buf, `--- PASS: Test%d_%d (0.%02ds) value %06d, as it was\n`, g.n, i, i%100, (g.n*7919+i*104729)%1000003)
	}
	g.buf.WriteString(`"}]}`)
}

func (g *growing) body() []byte {
	return append(bytes.Clone(g.buf.Bytes()), benchTail...)
}

const benchReply = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":%d,\"output_tokens\":1}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Yes.\"}}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// instant is a provider that answers as soon as it has read the request.
func instant(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, benchReply, n/4)
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
// request has a round more than the one before. ns/op is the whole round trip.
func BenchmarkProxy(b *testing.B) {
	for _, tokens := range []int{10_000, 200_000, 1_000_000} {
		for _, kind := range []string{"bare", "plain", "epoch"} {
			b.Run(fmt.Sprintf("tokens=%d/%s", tokens, kind), func(b *testing.B) { benchProxy(b, tokens, kind) })
		}
	}
}

func benchProxy(b *testing.B, tokens int, kind string) {
	up := httptest.NewServer(http.HandlerFunc(instant))
	defer up.Close()
	h := bare(up.URL)
	var indexed func()
	if kind != "bare" {
		store, err := sqlite.Open(filepath.Join(b.TempDir(), "store.db"), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer store.Close()
		indexed = func() { // what search knows is made beside the requests; a search waits for it
			for info, err := range store.Sessions(b.Context(), "local") {
				if err != nil {
					b.Fatal(err)
				}
				if _, err := store.Search(b.Context(), info.Key, "nothing", 1); err != nil {
					b.Fatal(err)
				}
			}
		}
		size := 50_000_000
		if kind == "epoch" {
			size = tokens * 3 / 4
		}
		pol := policy.Default()
		if h, err = proxy.NewHandler(&proxy.Options{Store: store, Anthropic: at(up.URL), Window: size, Policy: pol}); err != nil {
			b.Fatal(err)
		}
	}
	front := httptest.NewServer(h)
	defer front.Close()
	g := newGrowing(tokens)
	client := &http.Client{Transport: transport()}
	send := func() (first time.Duration) {
		body := g.body()
		began := time.Now()
		resp, err := client.Post(front.URL+g.path, "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		one := make([]byte, 1)
		io.ReadFull(resp.Body, one)
		first = time.Since(began)
		rest, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.HasSuffix(string(rest), "\"message_stop\"}\n\n") {
			b.Fatalf("status %d, %v: %s", resp.StatusCode, err, rest)
		}
		g.round(400)
		return first
	}
	send() // the session is made
	send()
	if indexed != nil {
		indexed()
	}
	var took, firsts []time.Duration
	cpu := cpuTime()
	for b.Loop() {
		began := time.Now()
		firsts = append(firsts, send())
		took = append(took, time.Since(began))
	}
	// Client and upstream run here too; on a busy machine this says more than the clock.
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(len(took)), "cpu-µs/op")
	slices.Sort(took)
	slices.Sort(firsts)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(firsts[len(firsts)/2].Microseconds()), "first-byte-µs")
}

// BenchmarkRequests is how many requests of short conversations pass in a second, many at
// once.
func BenchmarkRequests(b *testing.B) {
	for _, kind := range []string{"bare", "plain"} {
		b.Run(kind, func(b *testing.B) {
			up := httptest.NewServer(http.HandlerFunc(instant))
			defer up.Close()
			h := bare(up.URL)
			if kind != "bare" {
				var err error
				if h, err = proxy.NewHandler(&proxy.Options{Store: store.NewMemory(), Anthropic: at(up.URL)}); err != nil {
					b.Fatal(err)
				}
			}
			front := httptest.NewServer(h)
			defer front.Close()
			client := &http.Client{Transport: transport()}
			b.RunParallel(func(pb *testing.PB) {
				g := newGrowing(5_000)
				for pb.Next() {
					resp, err := client.Post(front.URL+g.path, "application/json", bytes.NewReader(g.body()))
					if err != nil {
						b.Error(err)
						return
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
