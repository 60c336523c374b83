package main

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// tally adds up what this proxy did since it started, for Prometheus and "pleat wrap".
type tally struct {
	metrics http.Handler

	mu  sync.Mutex
	all proxy.Tally

	requests *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	usd      *prometheus.CounterVec
	epochs   prometheus.Counter
	hidden   prometheus.Counter
	retried  prometheus.Counter
	added    prometheus.Histogram
}

func newTally() *tally {
	t := &tally{}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	t.requests = vec("pleat_requests_total", "Requests of clients by wire, status and whether folds were in force.", "wire", "status", "folded")
	t.tokens = vec("pleat_tokens_total", "Tokens as providers reported them.", "kind")
	t.usd = vec("pleat_usd_total", "USD by the price table: spent, and about what the clients' own requests would have cost.", "kind")
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
	t.epochs.Add(float64(r.Epochs))
	t.hidden.Add(float64(r.Hidden))
	if r.Retried {
		t.retried.Inc()
	}
	u := r.Usage
	for kind, n := range map[string]int{"input": u.Input, "cache_read": u.CacheRead, "cache_write": u.CacheWrite + u.CacheWrite1h, "output": u.Output} {
		t.tokens.WithLabelValues(kind).Add(float64(n))
	}
	t.usd.WithLabelValues("spent").Add(r.USD)
	t.usd.WithLabelValues("without").Add(r.Without)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.Epochs += r.Epochs
	t.all.BytesIn += int64(r.BytesIn)
	t.all.BytesOut += int64(r.BytesOut)
}

func (t *tally) sum() proxy.Tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all
}

// proxyStatus is what "pleat proxy status --json" prints.
type proxyStatus struct {
	Format   string             `json:"format"`
	Draining bool               `json:"draining"`
	All      proxy.Tally        `json:"all"`
	Sessions []proxySessionJSON `json:"sessions"` // the one used last first
}

// proxySessionJSON is a session's row of the bill. What a proxy has in memory of it is zero
// if it has not.
type proxySessionJSON struct {
	proxy.BillRow
	Messages int           `json:"messages"`
	Folds    int           `json:"folds"`
	Snapshot fold.Snapshot `json:"snapshot"`
}

func readStatus(ctx context.Context, h *proxy.Handler) (proxyStatus, error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	bill, err := h.Bill(ctx)
	if err != nil {
		return proxyStatus{}, err
	}
	inMemory := make(map[store.SessionKey]proxy.SessionStatus)
	for _, s := range h.Sessions() {
		inMemory[s.Key] = s
	}
	out := proxyStatus{Format: "pleat/proxy-status/1", Draining: h.Draining(), All: bill.All, Sessions: []proxySessionJSON{}}
	for _, row := range bill.Rows {
		s := inMemory[store.SessionKey{Tenant: row.Tenant, Session: row.Session}]
		out.Sessions = append(out.Sessions, proxySessionJSON{BillRow: row, Messages: s.Messages, Folds: s.Folds, Snapshot: s.Snapshot})
	}
	return out, nil
}
