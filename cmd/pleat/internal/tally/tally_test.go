package tally

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Tenants' single requests are under one heading, which names none of the models.
func TestStatusAlone(t *testing.T) {
	var b strings.Builder
	p := &term.Console{Stdout: &b, Getenv: func(string) string { return "" }}
	row := func(tenant, model string) Row {
		return Row{BillRow: proxy.BillRow{Tenant: tenant, Model: model, Tally: proxy.Tally{Requests: 1}}}
	}
	err := p.Output(false, Status{Sessions: []Row{row("a", "opus"), row("b", "haiku")}})
	if err != nil || strings.Count(b.String(), "requests in no session") != 1 || strings.Contains(b.String(), "opus") {
		t.Errorf("%v, %s", err, &b)
	}
}

// Forks, which begin as the session that they come from, are told apart from it.
func TestStatusForks(t *testing.T) {
	var b strings.Builder
	p := &term.Console{Stdout: &b, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	var s Status
	for _, name := range []string{"jkfy3feq5rzk226m-qcpzqwc0490j7cqz", "jkfy3feq5rzk226m", "gone-x"} {
		s.Sessions = append(s.Sessions, Row{BillRow: proxy.BillRow{Tenant: "t", Session: name, Model: "opus"}})
	}
	s.Entitle(t.Context(), nil)
	err := p.Output(false, s)
	want := "jkfy3feq5rzk226m-qcpzqwc0490j7cqz · opus · fork of jkfy3feq5rzk226m · 0 requests"
	got := strings.Join(strings.Fields(b.String()), " ")
	if err != nil || !strings.Contains(got, want) || strings.Count(got, "fork of") != 1 {
		t.Errorf("%v, no %q in %s", err, want, got)
	}
}

// A line of the log says why something was folded; a failure is logged once, by the handler.
func TestLogExchange(t *testing.T) {
	for want, r := range map[string]proxy.Exchange{
		"folded from 247k (it saves money)": {
			Session: store.SessionKey{Session: "s"}, Status: 200, Folded: true, Epochs: 1,
			Snapshot: fold.Snapshot{Whole: 247_000, Trigger: fold.TriggerPays},
		},
		"folded from 90k (1 result is too large to show)": {
			Session: store.SessionKey{Session: "s"}, Status: 200, Folded: true, Stored: 1,
			Snapshot: fold.Snapshot{Whole: 90_000},
		},
		"folded from 24k (as where it forked)": {
			Session: store.SessionKey{Session: "s"}, Status: 200, Folded: true, Forked: true,
			Snapshot: fold.Snapshot{Whole: 24_000, Trigger: fold.TriggerPays},
		},
		"200  m  k3v9r2wq1hx0c5dz  2 messages  ": { // as "pleat show" takes it
			Session: store.SessionKey{Session: "k3v9r2wq1hx0c5dz"}, Status: 200, Model: "m", Messages: 2,
		},
		"200  haiku  no session  1 message  ": {Status: 200, Model: "haiku", Messages: 1},
		`200  m\u001b[2J 07:00 forged  no session`: {
			Status: 200, Model: "m\x1b[2J\n07:00 forged",
		},
		"400  passed on, not understood  ": {Status: 400, Passed: true},
		"": {
			Session: store.SessionKey{Session: "s"}, Err: errors.New("connection refused"),
		},
	} {
		var b strings.Builder
		New().Log(Logger(&b, false, false), false, r)
		if got := b.String(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("logged %q, want %q", got, want)
		}
	}
	if got := inWords(proxy.Tally{Requests: 1, Epochs: 1}, fold.TriggerPays)[1]; got != "folded once (it saves money)" {
		t.Errorf("the status says %q", got)
	}
}

// Nothing is called folded that was not, and nothing not folded that was.
func TestTallyWords(t *testing.T) {
	key := store.SessionKey{Tenant: "key-1", Session: "s"}
	small := proxy.Exchange{Status: 200, BytesIn: 300_000, BytesOut: 7000, Folded: true, Session: key}
	spilled := small
	spilled.Stored = 1
	dead := proxy.Exchange{BytesOut: 2400, Err: errors.New("connection refused")}
	whole := proxy.Exchange{Status: 200, BytesOut: 2400}
	for _, c := range []struct {
		want string
		list []proxy.Exchange
	}{
		{"2 requests, stored 1 result at once; sent 9.4 kB instead of 300 kB", []proxy.Exchange{whole, spilled}},
		{
			"2 requests, folded 1 of them; sent 9.4 kB instead of 300 kB; what was folded is in the store " +
				`("pleat browse key-1/s")`, []proxy.Exchange{whole, small},
		},
		{"1 request, 2.4 kB sent; nothing had to be folded", []proxy.Exchange{whole}},
		{"1 request, failed", []proxy.Exchange{dead}},
		{"2 requests, 1 of them failed, 4.8 kB sent; nothing had to be folded", []proxy.Exchange{dead, whole}},
	} {
		sum := New()
		for _, r := range c.list {
			sum.Add(r)
		}
		if got := sum.Closing(); !strings.HasPrefix(got, c.want) {
			t.Errorf("wrap ends with %q, want %q", got, c.want)
		}
	}
	for want, tally := range map[string]proxy.Tally{
		"2 requests · stored 1 result at once · sent 7.0 kB instead of 300 kB · $0.01 instead of $0.35": {
			Requests: 2, Folded: 1, Stored: 1, BytesIn: 300_000, BytesOut: 7000, USD: 0.01, Without: 0.35,
		},
		"1 request, failed": {Requests: 1, Failed: 1, BytesIn: 2000, BytesOut: 2400},
		"3 requests, 1 of them failed · nothing folded · sent 2.4 kB · 1 of them cost $0.19 · 1 has no known price": {
			Requests: 3, Failed: 1, Unpriced: 1, BytesOut: 2400, USD: 0.19, Without: 0.19,
		},
		"6 requests · folded 5 of them · sent 405 kB instead of 900 kB": {
			Requests: 6, Folded: 5, BytesIn: 900_000, BytesOut: 405_000,
		},
		"1 request · nothing folded · sent 2.4 kB · $0.19 with the recall tools instead of $0.17": {
			Requests: 1, BytesIn: 2000, BytesOut: 2400, USD: 0.19, Without: 0.17,
		},
		"79 requests · nothing folded · sent 2.4 kB · 63 of them cost $2.02 instead of $2.50 · 16 have no known price": {
			Requests: 79, BytesOut: 2400, USD: 2.02, Without: 2.5, Unpriced: 16,
		},
		"1 request · nothing folded · sent 2.4 kB · 1 has no known price": {Requests: 1, BytesOut: 2400, Unpriced: 1},
		"1 request · nothing folded · sent 2.4 kB · $0.19": {
			Requests: 1, BytesOut: 2400, USD: 0.19, Without: 0.19,
		},
	} {
		if got := strings.Join(inWords(tally, ""), " · "); got != want {
			t.Errorf("the status says %q, want %q", got, want)
		}
	}
}

// The metrics are in Prometheus's text format: sums of what was added, and buckets that hold all below them.
func TestMetrics(t *testing.T) {
	sum := New()
	for _, took := range []time.Duration{time.Millisecond, 3 * time.Millisecond, time.Minute} {
		sum.Add(proxy.Exchange{Status: 200, Added: took, Format: transcript.FormatChat, USD: 0.25})
	}
	w := httptest.NewRecorder()
	sum.metrics.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		"# TYPE pleat_requests_total counter\n" +
			`pleat_requests_total{folded="false",status="200",wire="` + string(transcript.FormatChat) + `"} 3`,
		`pleat_usd_total{kind="spent"} 0.75`, "\npleat_epochs_total 0\n", "# TYPE pleat_added_seconds histogram\n",
		`_bucket{le="0.0005"} 0`, `_bucket{le="0.001"} 1`, `_bucket{le="0.005"} 2`, `_bucket{le="30"} 2`,
		`_bucket{le="+Inf"} 3`, "pleat_added_seconds_sum 60.004\n", "pleat_added_seconds_count 3\n",
	} {
		if got := w.Body.String(); !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// A meter's parts are in the provider's tokens, as their sum is.
func TestPartsAddUp(t *testing.T) {
	s := asReported(fold.Snapshot{Tokens: 9385, Parts: fold.Parts{System: 7, Tools: 408, Results: 13_000, Calls: 746}})
	if s.Parts.Total() != int(s.Tokens) || s.Parts.Results < 8_600 || s.Parts.Results > 8_630 {
		t.Errorf("%+v", s)
	}
}

// Requests whose price is not known are not taken for requests that cost nothing.
func TestSpentSaysOfHowMany(t *testing.T) {
	for want, tally := range map[string]proxy.Tally{
		"2 requests · $2.02 instead of $2.50": {Requests: 2, USD: 2.02, Without: 2.5},
		"79 requests · 63 of them cost $2.02 instead of $2.50 · 16 have no known price": {
			Requests: 79, USD: 2.02, Without: 2.5, Unpriced: 16,
		},
		"1 request · 1 has no known price": {Requests: 1, Unpriced: 1},
	} {
		if got := Spent(tally); got != want {
			t.Errorf("usage says %q, want %q", got, want)
		}
	}
}

// Requests that failed cost nothing.
func TestSpentOnFailures(t *testing.T) {
	for want, tally := range map[string]proxy.Tally{
		"1 request, failed":                    {Requests: 1, Failed: 1},
		"3 requests, 1 of them failed · $1.00": {Requests: 3, Failed: 1, USD: 1, Without: 1},
	} {
		if got := Spent(tally); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
