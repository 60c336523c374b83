package meter_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/model"
)

// TestTakenRaises: what a provider has answered it takes, also where it does not report it.
func TestTakenRaises(t *testing.T) {
	for name, taken := range map[string]func(*meter.Meter){
		"reported":     func(m *meter.Meter) { m.Take(m.UsageOf(model.Usage{Input: 52_000, Output: 10}, 0)) },
		"not reported": func(m *meter.Meter) { m.Answered(m.LastSent(0)) },
	} {
		m := gauge(60_000)
		refuse(m, nil, 60_000, 38_000)
		m.Sent(52_000)
		if taken(m); m.Limits().Max != 52_000 {
			t.Errorf("%s: at most %d tokens are taken to fit", name, m.Limits().Max)
		}
		if refuse(m, nil, 52_000, 30_000); m.Limits().Max != 52_000 {
			t.Errorf("%s: refused again, at most %d tokens are taken to fit", name, m.Limits().Max)
		}
	}
}

// TestConversion: windows and what people see are in the provider's tokens, plans in ours. It reports twice what
// we count.
func TestConversion(t *testing.T) {
	m := gauge(40_000)
	if m.Reported(500) != 500 || m.Limits() != window.Limits() {
		t.Errorf("before any report %d, %+v", m.Reported(500), m.Limits())
	}
	for view := 10_000; view <= 40_000; view += 1_000 {
		m.Sent(view)
		m.Take(m.UsageOf(model.Usage{Input: view / 2, CacheRead: view, CacheWrite: view / 2, Output: 1}, 0))
	}
	near := func(what string, got, want int) {
		t.Helper()
		if got < want*97/100 || got > want*103/100 {
			t.Errorf("%s is %d, want about %d", what, got, want)
		}
	}
	near("what 30,000 tokens are reported as", int(m.Reported(30_000)), 60_000)
	near("the largest view", m.Limits().Max, 43_750)
	near("where folding begins", m.Limits().Red, 38_750)
	_, sure := m.Retry(m.ReadRefusal(&model.APIError{Kind: model.ErrorTooLong, Over: 20_000}, 40_000))
	near("what is surely refused if 40,000 were 20,000 of the provider's too much", sure, 30_000)
	s := m.Snapshot(fold.Parts{System: 10_000, Stubs: 21_000}, 60_000)
	near("the view", int(s.Tokens), 62_000)
	near("the whole transcript", int(s.Whole), 120_000)
	if s.Limits != window.Reported() || s.State != fold.Yellow || s.Utilization < 0.6 || s.Utilization > 0.64 {
		t.Errorf("the snapshot is %+v", s)
	}
	w := m.Warning(&fold.Plan{Trigger: fold.TriggerRed, After: 40_000})
	if !strings.Contains(w, "still red") || !strings.Contains(w, "77,500") {
		t.Errorf("a plan that stays red is told as %q", w)
	}
	p := &fold.Plan{Trigger: fold.TriggerRefused, After: 30_000, Limits: fold.Limits{Max: 20_000}}
	if w := m.Warning(p); !strings.Contains(w, "that may be sent") {
		t.Errorf("a retry that is too large is told as %q", w)
	}
	if p.After = 20_000; m.Warning(p) != "" {
		t.Errorf("a retry that fits is told as %q", m.Warning(p))
	}
}

// TestFalseReports: what no tokenizer explains teaches nothing, and what is barely possible leaves room for views.
func TestFalseReports(t *testing.T) {
	m := gauge(60_000)
	m.Take(m.UsageOf(model.Usage{Input: 9}, 0)) // the cached part is left out
	if m.Limits() != window.Limits() {
		t.Errorf("limits %+v", m.Limits())
	}
	for range 50 {
		m.Take(meter.Usage{Model: "m", Usage: model.Usage{Input: 99_000}, Estimated: 13_000})
	}
	if l := m.Limits(); l.Max < 87_500/8 || l.Target < 50_000/8 {
		t.Errorf("limits %+v", l)
	}
}

// TestOtherModel: what another model reports and refuses costs money, and says nothing of this one's window.
func TestOtherModel(t *testing.T) {
	m := gauge(60_000)
	m.Take(meter.Usage{Model: "small", Usage: model.Usage{Input: 90_000}, Estimated: 60_000, USD: 0.5, Limit: 8_000})
	m.Spend(0.25)
	if m.Limits() != window.Limits() || m.Bound() != "" || m.Spent() != 0.75 {
		t.Errorf("limits %+v, %q, %v USD", m.Limits(), m.Bound(), m.Spent())
	}
}

// TestUsageOf: a report is of the last view that was sent, whatever has come since; only of a restored session that
// is not known.
func TestUsageOf(t *testing.T) {
	m := meter.New(model.Model{ID: "m", Prices: []model.Price{{Input: 3, Output: 15}}}, window)
	if u := m.UsageOf(model.Usage{Input: 1_000_000}, 70); u.Estimated != 70 || u.USD != 3 || m.HasSent() {
		t.Errorf("restored: %+v", u)
	}
	m.Sent(60)
	if u := m.UsageOf(model.Usage{Input: 1}, 70); u.Estimated != 60 || u.Model != "m" || !m.HasSent() {
		t.Errorf("sent: %+v", u)
	}
}

// TestBequeath: a fork is told what the provider takes, and whether that is a guess, once.
func TestBequeath(t *testing.T) {
	m := gauge(60_000)
	if u, known := m.Bequeath(); known {
		t.Errorf("nothing is known, and %+v is told", u)
	}
	for _, e := range []*model.APIError{nil, {Kind: model.ErrorTooLong, Used: 38_000, Limit: 30_000}} {
		refuse(m, e, m.LastSent(0), 28_000)
		u, known := m.Bequeath()
		fork := gauge(0)
		if !known || fork.Knows(u) {
			t.Errorf("%v: %+v, known %v", e, u, known)
		}
		fork.Take(u)
		if !fork.Knows(u) || fork.Bound() != m.Bound() || fork.Sure() == 0 != (e != nil) {
			t.Errorf("%v: the fork says %q", e, fork.Bound())
		}
	}
}

// TestCliff: a view close below a dearer tier is folded to stay below it, by the provider's count, unless that is
// where folding begins anyway.
func TestCliff(t *testing.T) {
	prices := []model.Price{{Input: 1, CacheWrite: 1.25, CacheRead: 0.1}, {Above: 200_000, Input: 2, CacheRead: 0.2}}
	for _, tt := range []struct {
		view, red int
		times     int // what is reported of each token
		target    int
		near      bool
	}{
		{189_000, 800_000, 1, 500_000, false},
		{191_000, 800_000, 1, 160_000, true},
		{191_000, 200_000, 1, 500_000, false},
		{99_000, 800_000, 2, 80_000, true},
		{90_000, 800_000, 2, 500_000, false},
	} {
		m := meter.New(model.Model{ID: "m", Prices: prices}, fold.Budget{Window: 1_000_000})
		for n := 10_000; tt.times > 1 && n < 100_000; n += 2_000 {
			m.Take(meter.Usage{Model: "m", Usage: model.Usage{Input: n * tt.times}, Estimated: n})
		}
		target, near := m.Cliff(tt.view, fold.Limits{Target: 500_000, Red: tt.red})
		if near != tt.near || target < tt.target*98/100 || target > tt.target*102/100 {
			t.Errorf("%+v: fold to %d, near %v", tt, target, near)
		}
	}
}

// TestRates are prices beside that of a token that is not cached.
func TestRates(t *testing.T) {
	m := meter.New(model.Model{Prices: []model.Price{{Input: 2, CacheWrite: 2.5, CacheRead: 0.2}}}, window)
	if got, want := m.Rates(1), (model.Rates{Write: 1.25, Read: 0.1}); got != want {
		t.Errorf("got %+v", got)
	}
	m = meter.New(model.Model{Prices: []model.Price{{Input: 2}}}, window) // writing is never cheaper
	if got, want := m.Rates(1), (model.Rates{Write: 1}); got != want {
		t.Errorf("got %+v", got)
	}
	if got := gauge(0).Rates(1); got != model.DefaultRates {
		t.Errorf("without prices %+v", got)
	}
}
