package tally

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

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

// count adds to a counter, whose labels are pairs of a name and a value.
func (m *metrics) count(name string, n float64, labels ...string) {
	for i := 0; i+1 < len(labels); i += 2 {
		sep := ","
		if i == 0 {
			sep = "{"
		}
		name += fmt.Sprintf("%s%s=%q", sep, labels[i], labels[i+1])
	}
	if len(labels) > 0 {
		name += "}"
	}
	m.mu.Lock()
	m.series[name] += n
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
