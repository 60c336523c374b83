package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// What another replica writes while a conversation is being refreshed is not known by halves:
// its mark comes with its messages.
func TestMarksComeWithMessages(t *testing.T) {
	st := store.NewMemory()
	to := httptest.NewServer(upstreamtest.New(upstreamtest.Options{Calls: 2}))
	defer to.Close()
	rw := New(Options{
		Store: st, Transport: http.DefaultTransport, Models: model.DefaultModels(), Logger: slog.New(slog.DiscardHandler),
		Policy: policy.Default(), Principal: lineage.Principal, Recall: lineage.RecallByTools, Now: time.Now,
		Memory: 1 << 30, MaxBody: 1 << 20, MaxEvent: 1 << 20, Sessions: 1, Timeout: time.Minute,
	})
	const body = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Do all the steps."}],` +
		`"tools":[{"name":"bash","input_schema":{"type":"object"}}]}`
	r, _ := http.NewRequest(http.MethodPost, to.URL+"/v1/messages", strings.NewReader(body))
	resp, err := rw.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if err := rw.Written(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := rw.pool.get(rw.Statuses()[0].Key)
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := inside.Of(c.sess).LastSeq(), len(c.track.Requests)
	m := lineage.Mark{Mode: c.track.Mode, Hash: transcript.HashOf("its request").String(), Client: 99, At: c.sess.Len()}
	if _, err := st.Append(t.Context(), c.key, last, store.Entry{Kind: store.EntryPrefix, Data: m.Encode()}); err != nil {
		t.Fatal(err)
	}
	if err := c.load(t.Context(), last); err != nil || len(c.track.Requests) != known {
		t.Errorf("%d marks, want %d: %v", len(c.track.Requests), known, err)
	}
	if err := c.refresh(t.Context()); err != nil || len(c.track.Requests) != known+1 || c.alone != 0 {
		t.Errorf("%d marks, want %d; alone for %d answers: %v", len(c.track.Requests), known+1, c.alone, err)
	}
}

// What cannot be written is no matter of waiting, and clients are told what is.
func TestReason(t *testing.T) {
	for err, want := range map[error]string{
		store.ErrReadOnly: "start the proxy again", store.ErrFull: "free space", store.ErrCorrupt: "pleat store verify",
		errors.New("timeout"): "try again later",
	} {
		passes := err != store.ErrReadOnly && err != store.ErrCorrupt
		if why, again := reason(fmt.Errorf("append: %w", err)); !strings.Contains(why, want) || again != passes {
			t.Errorf("%v: %q, %t", err, why, again)
		}
	}
}

// Stubs are renamed from any prefix to any other.
func TestRenamed(t *testing.T) {
	const pre = lineage.ToolPrefix
	for _, from := range []string{"", pre, pre + pre, pre + pre + pre} {
		for _, to := range []string{"", pre, pre + pre} {
			got := renamed(lineage.Mode{Recall: lineage.RecallByTools, Prefix: to}, `get it: `+from+`unfold("h1") or `+from+
				`unfold("h2")`)
			if want := `get it: ` + to + `unfold("h1") or ` + to + `unfold("h2")`; got != want {
				t.Errorf("from %q to %q: %s", from, to, got)
			}
		}
	}
}

// TestLegal: what goes out breaks no rule that the request does not break itself.
func TestLegal(t *testing.T) {
	whole := []byte(`{"model":"m","messages":[{"role":"user","content":"Go."},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"c2","name":"bash","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"2"}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"c3","name":"bash","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","content":"3"}]}]}`)
	read, err := protocol.Messages.Read(whole)
	if err != nil {
		t.Fatal(err)
	}
	req := request{Request: read}
	rw := New(Options{Models: model.DefaultModels()})
	if !rw.legal(req, whole) ||
		rw.legal(req, bytes.Replace(whole, []byte(`"tool_use_id":"c3"`), []byte(`"tool_use_id":"c2"`), 1)) {
		t.Error("a result is taken without its call, or with it is not")
	}
}
