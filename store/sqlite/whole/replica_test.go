package whole_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
)

// TestReplicas sends a conversation through two proxies that take turns on one file. The
// provider gets at last what it gets from a single proxy.
func TestReplicas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	var replicas []store.Store
	for range 2 {
		st, err := sqlite.Open(path, nil)
		must(t, err)
		defer st.Close()
		replicas = append(replicas, st)
	}
	want := sendThroughProxies(t, []store.Store{store.NewMemory()}, 1, 40)
	if got := sendThroughProxies(t, replicas, 1, 40); got != want {
		t.Error("the provider gets other bytes from two proxies than from one")
	}
}

// sendThroughProxies sends requests through proxies with these stores in turn, the first
// with so many rounds, each with one more, and returns the hash of what the provider gets
// at last.
func sendThroughProxies(t *testing.T, stores []store.Store, first, last int) string {
	t.Helper()
	var got []byte
	rounds := 0
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(
			w,
			`{"id":"msg_1","type":"message","role":"assistant","model":"small-model","content":%s,"stop_reason":"tool_use",`+
				`"usage":{"input_tokens":%d,"output_tokens":5}}`,
			proxyStep(rounds),
			len(got)/2,
		)
	}))
	defer provider.Close()
	to, err := url.Parse(provider.URL)
	must(t, err)
	var fronts []string
	for _, st := range stores {
		h, err := proxy.NewHandler(&proxy.Options{Store: st, Anthropic: to, Window: 5_000})
		must(t, err)
		defer h.Close()
		front := httptest.NewServer(h)
		defer front.Close()
		fronts = append(fronts, front.URL)
	}
	for rounds = first; rounds <= last; rounds++ {
		req, err := http.NewRequestWithContext(
			t.Context(),
			http.MethodPost,
			fronts[rounds%len(fronts)]+"/v1/messages",
			strings.NewReader(proxyRequest(rounds)),
		)
		must(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Api-Key", "key")
		req.Header.Set("Anthropic-Version", "2023-06-01")
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", resp.Status, text)
		}
	}
	return fmt.Sprintf("%x", sha256.Sum256(got))
}

func proxyRequest(rounds int) string {
	var b strings.Builder
	b.WriteString(
		`{"model":"small-model","max_tokens":500,"system":"You work.","messages":[{"role":"user","content":"Run the tests ` +
			`of every package. Never touch legacy/."}`,
	)
	for n := range rounds {
		fmt.Fprintf(&b, `,{"role":"assistant","content":%s}`, proxyStep(n))
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"`, n)
		for i := range 24 {
			fmt.Fprintf(&b, `--- PASS: Test%d_%d (0.%02ds) value %06d\n`, n, i, i%100, (n*7919+i*104729)%1000003)
		}
		b.WriteString(`"}]}`)
	}
	b.WriteString(
		`],"tools":[{"name":"bash","description":"Run.","input_schema":{"type":"object",` +
			`"properties":{"command":{"type":"string"}},"required":["command"]}}]}`,
	)
	return b.String()
}

func proxyStep(n int) string {
	return fmt.Sprintf(
		`[{"type":"text","text":"Step %d."},{"type":"tool_use","id":"toolu_%d","name":"bash","input":{"command":"go test `+
			`./pkg%d"}}]`,
		n,
		n,
		n,
	)
}
