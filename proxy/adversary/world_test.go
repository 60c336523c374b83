package adversary

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// counts are what a run went through.
type counts struct {
	Cases, Requests, Views, Folded, Epochs, Results, Spans, Unfolded, Hidden int
	Refused, Faults, Cut, Forks, Edits, Restarts, Beside                     int
}

func (c *counts) add(d counts) {
	c.Cases += d.Cases
	c.Requests += d.Requests
	c.Views += d.Views
	c.Folded += d.Folded
	c.Epochs += d.Epochs
	c.Results += d.Results
	c.Spans += d.Spans
	c.Unfolded += d.Unfolded
	c.Hidden += d.Hidden
	c.Refused += d.Refused
	c.Faults += d.Faults
	c.Cut += d.Cut
	c.Forks += d.Forks
	c.Edits += d.Edits
	c.Restarts += d.Restarts
	c.Beside += d.Beside
}

// world is one case: a store, proxies on it, a provider, and clients. All that happens
// follows from the seed.
type world struct {
	*rand.Rand
	counts
	policy   string
	options  proxy.Options
	store    *disk
	fills    bool // the store takes nothing during some hidden rounds
	handlers []*proxy.Handler
	opened   map[store.SessionKey]pleat.Options
	now      atomic.Int64 // seconds; others read it in the background
	report   proxy.Exchange
	clients  []*client
	provider *provider
	bad      []string
}

// strict reports whether the policy promises that a result is folded only after the model
// has seen it. The published designs do not, nor does the one that drops the first half.
func (w *world) strict() bool {
	switch w.policy {
	case "default", "pays", "threshold", "none":
		return true
	}
	return false
}

// own reports whether the policy is pleat's own, which always fits.
func (w *world) own() bool { return w.policy == "default" || w.policy == "pays" }

// most is how many tokens of a view the proxy may take to fit: an eighth of the window is for the
// answer, and of what is refused without numbers it takes nine tenths for too much.
func (w *world) most() int {
	p := w.provider
	switch {
	case p.limit == 0:
		return w.options.Window * 7 / 8
	case p.numbers:
		return p.limit
	}
	return p.limit * 9 / 10
}

func (w *world) chance(p float64) bool { return w.Float64() < p }

func (w *world) fail(format string, args ...any) {
	if len(w.bad) < 5 {
		w.bad = append(w.bad, fmt.Sprintf(format, args...))
	}
}

func newWorld(seed uint64, dir string) (*world, error) {
	w := &world{
		Rand: rand.New(rand.NewPCG(seed, 7)), store: &disk{Memory: store.NewMemory()},
		opened: make(map[store.SessionKey]pleat.Options),
	}
	w.now.Store(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC).Unix())
	w.Cases = 1
	all := policy.All()
	p := policy.Pays(policy.Default())
	w.policy = "pays"
	if i := w.IntN(2 * (len(all) + 1)); i < len(all) { // half of all cases are with pleat's own policies
		p, w.policy = all[i], all[i].Name
	} else if w.chance(0.5) {
		p, w.policy = policy.Default(), "default"
	}
	w.provider = &provider{w: w}
	at, _ := url.Parse("http://127.0.0.1:1")
	w.options = proxy.Options{
		Store: w.store, Anthropic: at, OpenAI: at, Gemini: at, Policy: p, Transport: w.provider,
		Window: []int{8_000, 12_000, 20_000, 40_000}[w.IntN(4)],
		Recall: []proxy.RecallMode{
			proxy.RecallByTools, proxy.RecallByTools, proxy.RecallByTools, proxy.RecallOff,
			proxy.RecallByFile,
		}[w.IntN(5)],
		Rounds: 1 + w.IntN(4), Patience: time.Millisecond,
		Now:    func() time.Time { return time.Unix(w.now.Load(), 0).UTC() },
		Report: func(r proxy.Exchange) { w.report = r },
		Session: func(key store.SessionKey, o *pleat.Options) {
			w.opened[key] = *o
		},
	}
	if w.options.Recall == proxy.RecallByFile {
		w.options.RecallDir = dir
	}
	w.fills = w.chance(0.4)
	w.provider.rate = 3 + 1.5*w.Float64()
	if w.own() && w.chance(0.4) {
		w.provider.limit, w.provider.numbers = w.options.Window*(60+w.IntN(30))/100, w.chance(0.5)
	}
	for range 1 + w.IntN(2) { // replicas
		if err := w.start(-1); err != nil {
			return nil, err
		}
	}
	for i := range 1 + w.IntN(2) {
		w.clients = append(w.clients, newClient(w, i))
	}
	return w, nil
}

// start starts a proxy, in place of another or besides.
func (w *world) start(at int) error {
	h, err := proxy.NewHandler(&w.options)
	if err != nil {
		return err
	}
	if at < 0 {
		w.handlers = append(w.handlers, h)
		return nil
	}
	w.Restarts++
	err = w.handlers[at].Close()
	w.handlers[at] = h
	return err
}

// run lets the clients take turns.
func (w *world) run() error {
	for range 20 + w.IntN(60) {
		switch {
		case w.chance(0.04):
			if err := w.start(w.IntN(len(w.handlers))); err != nil {
				return err
			}
		case w.chance(0.04):
			w.now.Add(int64(w.IntN(48)-4) * 3600)
		}
		w.now.Add(int64(w.IntN(90)))
		w.clients[w.IntN(len(w.clients))].turn()
		if len(w.bad) > 0 {
			break
		}
	}
	for _, h := range w.handlers {
		if err := h.Close(); err != nil {
			return err
		}
	}
	return nil
}

// clientOf is the client whose key a request has.
func (w *world) clientOf(h http.Header) *client {
	for _, c := range w.clients {
		for _, name := range []string{"X-Api-Key", "Authorization", "X-Goog-Api-Key"} {
			if strings.TrimPrefix(h.Get(name), "Bearer ") == c.key {
				return c
			}
		}
	}
	return nil
}

// disk is a store that can be made to take nothing.
type disk struct {
	*store.Memory
	full atomic.Bool
}

func (d *disk) Append(
	ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry,
) (uint64, error) {
	if d.full.Load() {
		return 0, store.ErrFull
	}
	return d.Memory.Append(ctx, key, last, entries...)
}

// serve lets a proxy answer, and reports whether the answer broke off.
func (w *world) serve(r *http.Request) (rec *httptest.ResponseRecorder, broke bool) {
	rec = httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		} else if p != nil {
			w.Cut++
			broke = true
		}
	}()
	r = r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, &http.Server{}))
	w.handlers[w.IntN(len(w.handlers))].ServeHTTP(rec, r)
	return rec, rec.Code == http.StatusOK && saysError(rec.Body.Bytes())
}

// saysError reports whether the last that an answer says is an error.
func saysError(body []byte) bool {
	lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
	last := parse(bytes.TrimPrefix(lines[len(lines)-1], []byte("data: ")))
	return len(last.obj("error")) > 0 || last.str("type") == "response.failed"
}
