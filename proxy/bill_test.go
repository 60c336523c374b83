package proxy

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
)

// sonnet is what a million tokens of claude-sonnet-5-5 cost.
var sonnet = model.Price{Input: 2, CacheWrite: 2.50, CacheRead: 0.10, Output: 10}

func cents(usd float64) string { return fmt.Sprintf("%.2f", usd) }

func billed(t *testing.T, h *Handler) Bill {
	t.Helper()
	b, err := h.Bill(t.Context())
	must(t, err)
	return b
}

// A request that got no answer, or an error, is on the bill as one that failed.
func TestBillOfFailures(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	for _, base := range []string{gone.URL, refusing.URL} {
		up := serveAt(base)
		reports := newReports()
		h := newHandler(t, &Options{Anthropic: up, Store: store.NewMemory(), Report: reports.add})
		a := newAgent(protocol.Messages, serve(t, h).String(), "Hello.")
		if _, err := a.step(); err == nil {
			t.Error("it was answered")
		}
		reports.wait(1)
		if all := billed(t, h).All; all.Requests != 1 || all.Failed != 1 {
			t.Errorf("%+v", all)
		}
	}
}

// recorded is what a session's own entries say that it cost.
func recorded(t *testing.T, st store.Store, row BillRow) (usd float64) {
	t.Helper()
	key := store.SessionKey{Tenant: row.Tenant, Session: row.Session}
	for e, err := range st.Scan(t.Context(), key, 1, store.EntryUsage) {
		must(t, err)
		var u struct{ USD float64 }
		must(t, json.Unmarshal(e.Data, &u))
		usd += u.USD
	}
	return usd
}

// Every request to the provider is on the bill once, to the cent and to the token: hidden
// rounds, requests without tools, the client's own compaction, a fork, and what comes after
// a restart. Another proxy on the store shows the same bill.
func TestBill(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		price := sonnet
		if on == protocol.Gemini { // which does not charge for writing
			price.CacheWrite = 0
		}
		up := upstreamtest.New(upstreamtest.Options{Calls: 24, Bytes: 12_000, RecallAt: 12, Price: price})
		reports := newReports()
		o := Options{Window: window, Store: store.NewMemory(), Report: reports.add}
		at := serve(t, up)
		h, url := handlerAt(t, at, o)
		a := newAgent(on, url, "Do all the steps.")
		a.streams, a.model = streams, "claude-sonnet-5-5"
		title := newAgent(on, url, "What is this about?")
		title.streams, title.model, title.tools = streams, a.model, "none"
		sent := 0
		step := func(b *agent) {
			t.Helper()
			b.turn(t)
			sent++
			reports.wait(sent)
		}
		step(title)
		for range 16 {
			step(a)
		}
		fork := *a
		fork.history = append([]string(nil), a.history[:9]...)
		fork.say("Do it another way.")
		step(&fork)
		summary := *a
		summary.say("Summarize all of it.")
		summary.tools = "none"
		step(&summary)
		check := func(h *Handler) {
			t.Helper()
			got, want := billed(t, h).All, up.Bill()
			if cents(got.USD) != cents(want.USD) || got.Prompt != int64(want.Input+want.CacheRead+want.CacheWrite) ||
				got.Output != int64(want.Output) ||
				got.CacheRead != int64(want.CacheRead) || got.Sent != want.Requests || got.Requests != sent {
				t.Errorf("billed %+v for %d requests, the provider charges %+v", got, sent, want)
			}
			if want.USD < 0.1 || got.Hidden == 0 {
				t.Errorf("too little happened: %+v", want)
			}
		}
		check(h)
		before := billed(t, h)
		must(t, h.Close())
		for _, row := range before.Rows { // sessions record the same, forks also what they begin with
			fork := strings.Contains(row.Session, "-")
			if usd := recorded(t, o.Store, row); row.Session != "" && !fork && cents(usd) != cents(row.USD) {
				t.Errorf("session %s is billed $%v, and records $%v", row.Session, row.USD, usd)
			}
		}
		again := newHandler(t, &Options{
			Store: o.Store, Anthropic: at, OpenAI: at, Gemini: at, Window: window, Report: reports.add,
		})
		if after := billed(t, again); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("after a restart the bill is\n%+v\nbefore\n%+v", after, before)
		}
		a.url = serve(t, again).String()
		step(a)
		check(again)
	})
}

// The bill says about what the client's own requests would have cost, with forks and with
// our tools left out.
func TestBillWithout(t *testing.T) {
	if testing.Short() {
		t.Skip("long: one client at a time, and run without -short by go test work")
	}
	script := upstreamtest.Options{Calls: 40, Bytes: 12_000, Price: sonnet}
	talk := func(url string) {
		a := newAgent(protocol.Messages, url, "Do all the steps.")
		a.model = "claude-sonnet-5-5"
		for i := range 40 {
			a.turn(t)
			if i%10 == 9 { // the client goes back and continues from there
				fork := *a
				fork.history = append([]string(nil), a.history[:len(a.history)-4]...)
				fork.say("Do it another way.")
				fork.turns(t, 3)
			}
		}
	}
	bare := upstreamtest.New(script)
	talk(serve(t, bare).String())
	for _, w := range []int{24_000, 60_000, 1_000_000} {
		h, url := startHandler(t, upstreamtest.New(script), Options{Window: w, Store: store.NewMemory()})
		talk(url)
		got, want := billed(t, h).All, bare.Bill().USD
		t.Logf("window %d: spent $%.4f, without $%.4f, the bare bill is $%.4f", w, got.USD, got.Without, want)
		if off := math.Abs(got.Without-want) / want; off > 0.03 {
			t.Errorf("window %d: without folding it would have cost $%.4f, the bare bill is $%.4f", w,
				got.Without, want)
		}
	}
}

// The bill tells requests whose price is not known from those that cost nothing.
func TestBillUnpriced(t *testing.T) {
	h, url := startHandler(t, upstreamtest.New(upstreamtest.Options{Calls: 3, Bytes: 100}),
		Options{Store: store.NewMemory()})
	a := newAgent(protocol.Chat, url, "Do all the steps.")
	for _, a.model = range []string{"my-own-model", "gpt-5", "my-own-model"} {
		a.turn(t)
	}
	if got := billed(t, h).All; got.Requests != 3 || got.Unpriced != 2 || got.USD == 0 {
		t.Errorf("billed %+v", got)
	}
}

// The bill counts what went out smaller without an epoch: a result that was stored at once, and
// forks of a session with folds.
func TestBillFolded(t *testing.T) {
	reports := newReports()
	up := upstreamtest.New(upstreamtest.Options{Calls: 3, Bytes: 300_000, Price: sonnet})
	h, url := startHandler(t, up, Options{Store: store.NewMemory(), Report: reports.add})
	a := newAgent(protocol.Chat, url, "Do all the steps.")
	fork := *a
	a.turns(t, 2)
	last := reports.wait(2)[1]
	if got := billed(t, h).All; got.Stored != 1 || got.Folded != 1 || got.Epochs != 0 || !last.Folded ||
		last.Stored != 1 {
		t.Errorf("billed %+v, the last of them %+v", got, last)
	}
	fork.history = append(fork.history[:0:0], a.history[:3]...) // with the first result
	fork.say("Do it another way.")
	for i, b := range []*agent{a, &fork} {
		b.turn(t)
		last = reports.wait(3 + i)[2+i]
	}
	if got := billed(t, h); !last.Forked || got.Rows[0].Folded != 1 || got.Rows[0].Stored != 0 || got.All.Folded != 3 {
		t.Errorf("after a fork it is %+v", got)
	}
}

// Folding that may not pay is held back: whenever the session ends, it has cost hardly more
// than without us, recall tools included. The worst moment is just after the first epoch,
// which has rewritten the cache and not yet saved anything.
func TestBillWhereFoldingCannotPay(t *testing.T) {
	if testing.Short() {
		t.Skip("140 requests of a megabyte take a while")
	}
	for _, size := range []int{8_000, 24_000} {
		script := upstreamtest.Options{Calls: 70, Bytes: size, Price: sonnet}
		bare, through := upstreamtest.New(script), upstreamtest.New(script)
		_, url := startHandler(t, through, Options{Window: 1_000_000, Store: store.NewMemory()})
		var agents []*agent
		for _, to := range []string{serve(t, bare).String(), url} {
			a := newAgent(protocol.Messages, to, "Do all the steps.")
			a.model = "claude-sonnet-5-5"
			// Claude Code begins with 46 KB
			lit := fmt.Sprintf("%q", strings.Repeat("You are an agent, and these are your rules. ", 1000))
			a.history = []string{`{"role":"user","content":` + lit + `}`}
			agents = append(agents, a)
		}
		worst := 0.0
		for i := range 70 {
			for _, a := range agents {
				a.turn(t)
			}
			ratio := through.Bill().USD / bare.Bill().USD
			if i%5 == 4 || ratio > 1.02 {
				t.Logf("%d bytes, %d requests: %.4f", size, i+1, ratio)
			}
			if i >= 14 { // at first the recall tools weigh more
				worst = max(worst, ratio)
			}
		}
		if worst > 1.03 {
			t.Errorf("results of %d bytes: %.4f of the bare bill at worst", size, worst)
		}
	}
}
