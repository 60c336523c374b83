// Package tally says what a proxy did and how it is: in sums for Prometheus and the end of "pleat wrap", in its
// log, and as the status that its operator asks for. [Front] serves that before the proxy, and [Client] asks for
// it from another process.
package tally

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// inWords says what was done, and why it was folded the last time, if that is known.
func inWords(t proxy.Tally, last fold.Trigger) []string {
	folded := folded(t)
	if why := library.Triggers[last]; why != "" && t.Epochs > 0 {
		if t.Epochs > 1 {
			why = "last: " + why
		}
		folded += " (" + why + ")"
	}
	out := []string{requests(t)}
	if t.Failed == t.Requests {
		return out
	}
	out = append(out, folded)
	if t.Epochs+t.Folded > 0 {
		out = append(out, fmt.Sprintf("sent %s instead of %s", term.ByteSize(t.BytesOut), term.ByteSize(t.BytesIn)))
	} else {
		out = append(out, "sent "+term.ByteSize(t.BytesOut))
	}
	if t.CacheRead > 0 {
		out = append(out, term.Percent(int(t.CacheRead), int(t.Prompt))+" read from the cache")
	}
	return append(out, costs(t)...)
}

// costs says what requests cost, and of how many that is not known.
func costs(t proxy.Tally) (out []string) {
	if t.USD > 0 || t.Without > 0 {
		out = append(out, paid(t))
	}
	switch t.Unpriced {
	case 0:
		return out
	case 1:
		return append(out, "1 has no known price")
	}
	return append(out, term.Thousands(t.Unpriced)+" have no known price")
}

// Spent says how many requests came through a proxy, and what they cost.
func Spent(t proxy.Tally) string {
	return strings.Join(append([]string{requests(t)}, costs(t)...), " · ")
}

// requests says how many came, and how many of them failed.
func requests(t proxy.Tally) string {
	line := term.Plural(t.Requests, "request")
	switch t.Failed {
	case 0:
		return line
	case t.Requests:
		return line + ", failed"
	}
	return fmt.Sprintf("%s, %d of them failed", line, t.Failed)
}

func paid(t proxy.Tally) string {
	with, without := term.Cents(t.USD), term.Cents(t.Without)
	if t.Unpriced > 0 {
		with = fmt.Sprintf("%s of them cost %s", term.Thousands(t.Requests-t.Failed-t.Unpriced), with)
	}
	switch {
	case t.Without == 0, term.Cents(t.USD) == without:
		return with
	case t.Epochs+t.Folded == 0 && t.USD > t.Without:
		return with + " with the recall tools instead of " + without
	}
	return with + " instead of " + without
}

// folded says what was done to requests, as the end of a sentence.
func folded(t proxy.Tally) string {
	switch {
	case t.Epochs == 1:
		return "folded once"
	case t.Epochs > 1:
		return fmt.Sprintf("folded %d times", t.Epochs)
	case t.Stored > 0:
		return "stored " + term.Plural(t.Stored, "result") + " at once"
	case t.Folded > 0:
		return fmt.Sprintf("folded %d of them", t.Folded)
	}
	return "nothing folded"
}

// Tally adds up what a proxy did since it started, for Prometheus and "pleat wrap".
type Tally struct {
	metrics *metrics

	mu   sync.Mutex
	all  proxy.Tally
	last store.SessionKey // that went out folded
}

// New is a tally without requests.
func New() *Tally { return &Tally{metrics: newMetrics()} }

// Add adds a request that is over.
func (t *Tally) Add(r proxy.Exchange) {
	m := t.metrics
	m.count(1, `pleat_requests_total{folded="%t",status="%d",wire=%q}`, r.Folded, r.Status, r.Format)
	m.took(r.Added)
	m.count(float64(r.Epochs), "pleat_epochs_total")
	m.count(float64(r.Hidden), "pleat_hidden_rounds_total")
	if r.Retried {
		m.count(1, "pleat_overflows_total")
	}
	u := r.Usage
	for kind, n := range map[string]int{"input": u.Input, "cache_read": u.CacheRead, "cache_write": u.CacheWrite +
		u.CacheWrite1h, "output": u.Output} {
		m.count(float64(n), "pleat_tokens_total{kind=%q}", kind)
	}
	m.count(r.USD, `pleat_usd_total{kind="spent"}`)
	m.count(r.Without, `pleat_usd_total{kind="without"}`)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.Requests++
	t.all.Epochs += r.Epochs
	t.all.Stored += r.Stored
	if r.Folded {
		t.all.Folded++
		t.last = r.Session
	}
	if r.Status == 0 || r.Status >= 400 { // no answer, or an error
		t.all.Failed++
	}
	t.all.BytesIn += int64(r.BytesIn)
	t.all.BytesOut += int64(r.BytesOut)
}

// Closing says what became of the requests of a client; "": there were none.
func (t *Tally) Closing() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.all
	line := requests(all)
	switch sent := term.ByteSize(all.BytesOut); {
	case all.Requests == 0:
		return ""
	case all.Failed == all.Requests:
		return line
	case all.Folded == 0:
		return line + ", " + sent + " sent; nothing had to be folded"
	default:
		return fmt.Sprintf("%s, %s; sent %s instead of %s; what was folded is in the store (\"pleat browse %s\")",
			line, folded(all), sent, term.ByteSize(all.BytesIn), t.last)
	}
}

// counters are what Prometheus is told, with what each means. Those with labels have a series
// for every combination that was seen.
var counters = [][2]string{
	{"pleat_requests_total", "Requests of clients by wire, status and whether folds were in force."},
	{"pleat_tokens_total", "Tokens as providers reported them."},
	{"pleat_usd_total", "USD by the price list: spent, and about what the clients' own requests would have cost."},
	{"pleat_epochs_total", "Epochs opened."},
	{"pleat_hidden_rounds_total", "Recall rounds answered inside the proxy."},
	{"pleat_overflows_total", "Requests that a provider refused as too long and that were folded harder."},
}

// addedBounds are the upper bounds of the histogram's buckets, in seconds.
var addedBounds = []float64{.0005, .001, .002, .005, .01, .025, .05, .1, .25, 1, 5, 30}

// metrics are written in Prometheus's text format, of which so few numbers need little.
type metrics struct {
	mu     sync.Mutex
	series map[string]float64 // by name and labels
	within []int              // requests by bucket, the last without a bound
	added  time.Duration      // of all requests
}

func newMetrics() *metrics {
	m := &metrics{series: make(map[string]float64), within: make([]int, len(addedBounds)+1)}
	for _, c := range counters[3:] { // those without labels begin at 0
		m.series[c[0]] = 0
	}
	return m
}

// count adds to the series of a counter, which is its name and its labels.
func (m *metrics) count(n float64, series string, labels ...any) {
	m.mu.Lock()
	m.series[fmt.Sprintf(series, labels...)] += n
	m.mu.Unlock()
}

// took notes the proxy's own work for a request.
func (m *metrics) took(d time.Duration) {
	i, _ := slices.BinarySearch(addedBounds, d.Seconds())
	m.mu.Lock()
	m.added += d
	m.within[i]++
	m.mu.Unlock()
}

func (m *metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	for _, c := range counters {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s counter\n", c[0], c[1])
		for _, name := range slices.Sorted(maps.Keys(m.series)) {
			if name == c[0] || strings.HasPrefix(name, c[0]+"{") {
				fmt.Fprintln(w, name, m.series[name])
			}
		}
	}
	const added = "pleat_added_seconds"
	fmt.Fprintf(w, "# HELP %s The proxy's own work before a request goes out.\n# TYPE %[1]s histogram\n", added)
	count := 0
	for i, n := range m.within {
		bound := "+Inf"
		if i < len(addedBounds) {
			bound = fmt.Sprint(addedBounds[i])
		}
		count += n
		fmt.Fprintf(w, "%s_bucket{le=%q} %d\n", added, bound, count)
	}
	fmt.Fprintf(w, "%s_sum %v\n%[1]s_count %[3]d\n", added, m.added.Seconds(), count)
}
