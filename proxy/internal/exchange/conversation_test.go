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
	"sync"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/behind"
	"github.com/pleat-dev/pleat/internal/difftest"
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
	difftest.Must(t, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	difftest.Must(t, rw.Written(t.Context()))
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
	difftest.Must(t, err)
	req := request{Request: read}
	rw := New(Options{Models: model.DefaultModels()})
	if !rw.legal(req, whole) ||
		rw.legal(req, bytes.Replace(whole, []byte(`"tool_use_id":"c3"`), []byte(`"tool_use_id":"c2"`), 1)) {
		t.Error("a result is taken without its call, or with it is not")
	}
}

// The index keeps the newest prefixes of a conversation, and none of one that was let go.
func TestIndexIsBounded(t *testing.T) {
	p := newPool(1, new(sync.WaitGroup))
	of := func(name string, n int) indexKey { return indexKey{prefix: transcript.HashOf(fmt.Sprint(name, n))} }
	add := func(name string) *conversation {
		c := &conversation{key: store.SessionKey{Session: name}, sess: openSession(t), behind: new(behind.Store)}
		p.keep(c, lineage.Scope{})
		for n := range 3 * indexed {
			p.remember(c, of(name, n))
			p.remember(c, of(name, n)) // an epoch marks its request again
		}
		return c
	}
	c := add("one")
	if len(p.index) != indexed || len(c.slot.indexed) != indexed {
		t.Errorf("%d prefixes of a conversation, %d in the index; want %d", len(c.slot.indexed), len(p.index), indexed)
	}
	if _, ok := p.index[of("one", 3*indexed-1)]; !ok {
		t.Error("the newest is not in the index")
	}
	add("two")
	if len(p.index) != indexed {
		t.Errorf("%d prefixes in the index, want %d", len(p.index), indexed)
	}
	// opened twice at once
	p.keep(&conversation{key: store.SessionKey{Session: "two"}, sess: openSession(t), behind: new(behind.Store)},
		lineage.Scope{})
	p.keep(&conversation{key: store.SessionKey{Session: "three"}, sess: openSession(t), behind: new(behind.Store)},
		lineage.Scope{})
	if len(p.index) != 0 {
		t.Errorf("%d prefixes in the index of conversations that were let go", len(p.index))
	}
	if p.close(); p.weight.Load() != 0 {
		t.Errorf("%d bytes of sessions that have all left", p.weight.Load())
	}
}

func openSession(t *testing.T) *pleat.Session {
	t.Helper()
	s, err := pleat.OpenSession(t.Context(), store.NewMemory(), store.SessionKey{Session: "s"}, nil)
	difftest.Must(t, err)
	return s
}

// Of hidden rounds only the messages that the newest view shows stay in memory.
func TestHiddenMessagesAreBounded(t *testing.T) {
	c := &conversation{sess: openSession(t), behind: new(behind.Store), hidden: make(map[int]transcript.Message)}
	for i := range 6 {
		difftest.Must(t, c.sess.Append(t.Context(), transcript.User(fmt.Sprint("message ", i))))
	}
	client := []int{0, -1, -1, -1, -1, 1}
	for _, shown := range [][]int{{0, 1, 2, 5}, {0, 3, 4, 5}, {0, 5}} {
		var v transcript.View
		want := 0
		for _, i := range shown {
			v.Messages = append(v.Messages, transcript.ViewMessage{Source: i})
			if client[i] < 0 {
				want++
			}
		}
		req := request{Request: &protocol.Request{Protocol: protocol.Messages}}
		if _, err := c.view(t.Context(), v, req, client); err != nil {
			t.Fatal(err)
		}
		if len(c.hidden) != want {
			t.Errorf("%d hidden messages in memory, want %d", len(c.hidden), want)
		}
	}
}
