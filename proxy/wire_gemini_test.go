package proxy

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
)

// Gemini's conversations go past the window in all their forms: by models that give calls no
// ids, as an array instead of events, with the key in the URL, and from clients that change
// the ids of calls, as Gemini CLI does. What was folded comes back exactly, with recall calls
// by themselves and beside the client's own.
func TestGeminiForms(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	const key = "AIza-very-secret"
	rename := func(raw string) string { // as Gemini CLI does
		return strings.ReplaceAll(raw, `"id":"call_`, `"id":"bash__call_`)
	}
	for name, tt := range map[string]struct {
		model, to string
		streams   bool
		rename    func(string) string
	}{
		"no ids":       {model: "gemini-2.5-pro", streams: true},
		"array":        {to: "/v1beta/models/gemini-3.8-flash:streamGenerateContent"},
		"key in URL":   {to: "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse&key=" + key, streams: true},
		"cloud's path": {to: "/v1/projects/p/locations/l/publishers/google/models/gemini-3.8-flash:generateContent"},
		"ids changed":  {streams: true, rename: rename},
	} {
		for _, beside := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", name, beside), func(t *testing.T) {
				up := upstreamtest.New(upstreamtest.Options{
					Calls: 24, Bytes: 12_000, Limit: window, RecallAt: 12, Beside: beside,
					Parallel: 2, Thinking: true,
				})
				var log bytes.Buffer
				reports := newReports()
				st := store.NewMemory()
				a := newAgent(protocol.Gemini, start(t, up,
					Options{
						Window: window, Store: st, Report: reports.add,
						Logger: slog.New(slog.NewTextHandler(&log, nil)),
					}), "Do all the steps.")
				a.model, a.to, a.streams = cmp.Or(tt.model, a.model), tt.to, tt.streams
				for more := true; more; {
					n := len(a.history)
					var err error
					if more, err = a.step(); err != nil {
						t.Fatal(err)
					}
					for i := n; i < len(a.history) && tt.rename != nil; i++ {
						a.history[i] = tt.rename(a.history[i])
					}
				}
				wellBehaved(t, up.Log())
				recalled, hidden, sessions := "", 0, map[string]bool{}
				for _, x := range up.Log() {
					recalled = cmp.Or(recalled, x.Recalled)
				}
				for _, r := range reports.wait(len(a.bodies)) {
					hidden += r.Hidden
					sessions[r.Session.Session] = true
					if r.Model != a.model && tt.to == "" {
						t.Errorf("reported as a request to %q", r.Model)
					}
				}
				if recalled != "exact" || hidden == 0 || len(sessions) != 1 || up.Log()[len(up.Log())-1].Step != 24 {
					t.Errorf("recalled %q, %d hidden rounds, %d sessions, %d steps", recalled, hidden, len(sessions),
						up.Log()[len(up.Log())-1].Step)
				}
				if strings.Contains(log.String(), key) || strings.Contains(log.String(), "key=") {
					t.Errorf("the key is logged:\n%s", log.String())
				}
			})
		}
	}
}

// A request whose tools are all the provider's own gets none of ours, and no stub names them.
func TestGeminiProviderTools(t *testing.T) {
	up := &capture{to: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"responseId":"g","candidates":[{"content":{"parts":[{"text":%q}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3,"totalTokenCount":12}}`,
			strings.Repeat("The web says so. ", 1000))
	})}
	reports := newReports()
	a := newAgent(protocol.Gemini, start(t, up, Options{Window: window, Report: reports.add}), "Look it up.")
	a.tools, a.streams = `[{"googleSearch":{}}]`, false
	for range 24 {
		a.turn(t)
		a.say("And what else?")
	}
	if list := reports.wait(24); !list[23].Folded {
		t.Error("nothing was folded")
	}
	for i, body := range up.all() {
		if bytes.Contains(body, []byte("unfold")) {
			t.Errorf("request %d names a tool that the model does not have", i)
		}
	}
}

// Tokens of a folded conversation are counted as it is sent, and a request that names cached
// content passes as it came.
func TestGeminiBeside(t *testing.T) {
	up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 16, Bytes: 12_000})}
	reports := newReports()
	url := start(t, up, Options{Window: window, Report: reports.add})
	a := newAgent(protocol.Gemini, url, "Do all the steps.")
	a.run(t)
	post := func(path string, body []byte) string {
		t.Helper()
		req, _ := http.NewRequest(http.MethodPost, url+path, bytes.NewReader(body))
		req.Header.Set("X-Goog-Api-Key", a.key)
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		defer resp.Body.Close()
		out, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", resp.StatusCode, out)
		}
		return string(out)
	}
	body := a.body()
	if got := post("/v1beta/models/gemini-3.8-flash:countTokens", body); !strings.Contains(got, "totalTokens") {
		t.Error(got)
	}
	if sent := up.all()[len(up.all())-1]; len(sent) > len(body)/2 {
		t.Errorf("%d bytes of %d were counted", len(sent), len(body))
	}
	cached := bytes.Replace(body, []byte(`{"contents"`), []byte(`{"cachedContent":"cachedContents/x","contents"`), 1)
	post("/v1beta/models/gemini-3.8-flash:generateContent", cached)
	if sent := up.all()[len(up.all())-1]; !bytes.Equal(sent, cached) {
		t.Error("a request with cached content was changed")
	}
}
