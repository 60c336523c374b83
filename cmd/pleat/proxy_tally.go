package main

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// tally adds up what a proxy did since it started, for its status page and for Prometheus.
type tally struct {
	metrics http.Handler

	mu       sync.Mutex
	sessions map[store.SessionKey]*sessionTally // those used last
	all      sessionTally
	passed   int

	requests *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	usd      *prometheus.CounterVec
	epochs   prometheus.Counter
	hidden   prometheus.Counter
	retried  prometheus.Counter
	added    prometheus.Histogram
}

// sessionTally adds up what happened to the requests of a session.
type sessionTally struct {
	Requests int   `json:"requests"`
	Epochs   int   `json:"epochs"`
	Hidden   int   `json:"hidden_rounds"`
	Retried  int   `json:"retried"`
	BytesIn  int64 `json:"bytes_in"`  // what the client sent
	BytesOut int64 `json:"bytes_out"` // what the provider got
	// Prompt tokens that the provider reported, and its cache's part in them.
	Prompt     int64 `json:"prompt_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Output     int64 `json:"output_tokens"`
	// USD is what was spent according to the price table. Without is what the same requests
	// would have cost at least without folding, if the cache were always warm.
	USD     float64 `json:"usd"`
	Without float64 `json:"usd_without"`

	whole int // tokens of the whole conversation at its last request
	used  int // number of the proxy's last request for it
}

// maxTallies is how many sessions have a tally of their own. A proxy keeps fewer sessions in
// memory, so its status shows them all.
const maxTallies = 1024

func newTally() *tally {
	t := &tally{sessions: make(map[store.SessionKey]*sessionTally)}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	t.requests = vec("pleat_requests_total", "Requests of clients by wire, status and whether folds were in force.", "wire", "status", "folded")
	t.tokens = vec("pleat_tokens_total", "Tokens as providers reported them.", "kind")
	t.usd = vec("pleat_usd_total", "USD by the price table: spent, and what the same would have cost without folding and with a warm cache.", "kind")
	t.epochs = counter("pleat_epochs_total", "Epochs opened.")
	t.hidden = counter("pleat_hidden_rounds_total", "Recall rounds answered inside the proxy.")
	t.retried = counter("pleat_overflows_total", "Requests that a provider refused as too long and that were folded harder.")
	t.added = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "pleat_added_seconds", Help: "The proxy's own work before a request goes out.",
		Buckets: []float64{.0005, .001, .002, .005, .01, .025, .05, .1, .25, 1, 5, 30},
	})
	reg := prometheus.NewRegistry()
	reg.MustRegister(t.requests, t.tokens, t.usd, t.epochs, t.hidden, t.retried, t.added)
	t.metrics = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return t
}

// add counts an exchange.
func (t *tally) add(r proxy.Report) {
	t.requests.WithLabelValues(string(r.Format), strconv.Itoa(r.Status), strconv.FormatBool(r.Folded)).Inc()
	t.added.Observe(r.Added.Seconds())
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Passed {
		t.passed++
	}
	if r.Session.Session == "" {
		return
	}
	s := t.session(r)
	m, _ := model.DefaultModels().Lookup(r.Model)
	usd, _ := m.Cost(r.Usage)
	without := usd
	if r.Folded {
		without, _ = m.Cost(s.unfolded(r))
	}
	s.whole = r.Snapshot.Whole
	for _, x := range []*sessionTally{s, &t.all} {
		x.take(r, usd, without)
	}
	t.epochs.Add(float64(r.Epochs))
	t.hidden.Add(float64(r.Hidden))
	if r.Retried {
		t.retried.Inc()
	}
	u := r.Usage
	for kind, n := range map[string]int{"input": u.Input, "cache_read": u.CacheRead, "cache_write": u.CacheWrite + u.CacheWrite1h, "output": u.Output} {
		t.tokens.WithLabelValues(kind).Add(float64(n))
	}
	t.usd.WithLabelValues("spent").Add(usd)
	t.usd.WithLabelValues("without").Add(without)
}

// session is the tally of a report's session. If there are too many, a new one replaces the
// least recently used.
func (t *tally) session(r proxy.Report) *sessionTally {
	s := t.sessions[r.Session]
	if s == nil {
		if len(t.sessions) >= maxTallies {
			var oldest store.SessionKey
			for key, x := range t.sessions {
				if o := t.sessions[oldest]; o == nil || x.used < o.used {
					oldest = key
				}
			}
			delete(t.sessions, oldest)
		}
		s = &sessionTally{whole: r.Snapshot.Whole} // assume that all of it is cached
		t.sessions[r.Session] = s
	}
	s.used = t.all.Requests
	return s
}

// unfolded is what the request would have used without folding: what was there before is
// read from a warm cache, and the rest is written to it.
func (s *sessionTally) unfolded(r proxy.Report) model.Usage {
	fresh := max(r.Snapshot.Whole-s.whole, 0)
	return model.Usage{CacheRead: max(r.Snapshot.Whole-fresh, 0), CacheWrite: fresh, Output: r.Usage.Output}
}

func (s *sessionTally) take(r proxy.Report, usd, without float64) {
	s.Requests++
	s.Epochs += r.Epochs
	s.Hidden += r.Hidden
	if r.Retried {
		s.Retried++
	}
	s.BytesIn += int64(r.BytesIn)
	s.BytesOut += int64(r.BytesOut)
	s.Prompt += int64(r.Usage.Prompt())
	s.CacheRead += int64(r.Usage.CacheRead)
	s.CacheWrite += int64(r.Usage.CacheWrite + r.Usage.CacheWrite1h)
	s.Output += int64(r.Usage.Output)
	s.USD += usd
	s.Without += without
}

// proxyStatus is what "pleat proxy status --json" prints.
type proxyStatus struct {
	Format   string             `json:"format"`
	Draining bool               `json:"draining"`
	Passed   int                `json:"passed_on"` // requests that were not understood, since the proxy started
	All      sessionTally       `json:"all"`
	Sessions []proxySessionJSON `json:"sessions"` // in memory, the one used last first
}

type proxySessionJSON struct {
	Session  string        `json:"session"`
	Tenant   string        `json:"tenant"`
	Model    string        `json:"model"`
	Messages int           `json:"messages"`
	Folds    int           `json:"folds"`
	Snapshot fold.Snapshot `json:"snapshot"`
	sessionTally
}

func (t *tally) status(h *proxy.Handler) proxyStatus {
	list := h.Sessions()
	t.mu.Lock()
	defer t.mu.Unlock()
	out := proxyStatus{Format: "pleat/proxy-status/1", Draining: h.Draining(), Passed: t.passed, All: t.all, Sessions: []proxySessionJSON{}}
	for _, s := range list {
		j := proxySessionJSON{Session: s.Key.Session, Tenant: s.Key.Tenant, Model: s.Model, Messages: s.Messages, Folds: s.Folds, Snapshot: s.Snapshot}
		if k := t.sessions[s.Key]; k != nil {
			j.sessionTally = *k
		}
		out.Sessions = append(out.Sessions, j)
	}
	return out
}
