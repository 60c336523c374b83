package bill

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
)

func newBook(st store.Store) *Book {
	return &Book{Store: st, Log: slog.New(slog.DiscardHandler), Now: time.Now}
}

// However many requests there are, the bill takes bounded space in the store; its sums stay
// exact, with two proxies that write at the same time, and so do the rows that are in use.
func TestBounded(t *testing.T) {
	const each = full / 4 // by each of two
	st := store.NewMemory()
	var proxies sync.WaitGroup
	for p := range 2 {
		b := newBook(st)
		proxies.Go(func() {
			for i := range each {
				b.Charge(Row{Tenant: "t", Session: "same", Tally: Tally{Requests: 1, USD: 1}})
				b.Charge(Row{Tenant: fmt.Sprint("t", p), Session: fmt.Sprint(i / 4), Tally: Tally{Requests: 1}})
				if err := b.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	proxies.Wait()
	entries, sessions := uint64(0), 0
	for s, err := range st.Sessions(t.Context(), Tenant) {
		must(t, err)
		entries += s.Entries
		sessions++
	}
	if sessions != 1 || entries > full+2*maxRows {
		t.Errorf("the bill takes %d entries in %d sessions after %d requests", entries, sessions, 4*each)
	}
	got, err := newBook(st).Bill(t.Context())
	must(t, err)
	if got.All.Requests != 4*each || got.All.USD != 2*each || len(got.Rows) != maxRows {
		t.Errorf("billed %+v in %d rows", got.All, len(got.Rows))
	}
	for _, r := range got.Rows {
		if want := map[bool]int{true: 2 * each, false: 4}[r.Session == "same"]; r.Requests != want {
			t.Errorf("row %s/%s has %d requests, want %d", r.Tenant, r.Session, r.Requests, want)
		}
	}
}

// Wait ends although more is charged all the time.
func TestWaitUnderLoad(t *testing.T) {
	st := &hooked{Memory: store.NewMemory()}
	b := newBook(st)
	var load atomic.Int64
	load.Store(1_000)
	st.appending = func() {
		if load.Add(-1) > 0 {
			b.Charge(Row{Session: "more", Tally: Tally{Requests: 1}})
		}
	}
	b.Charge(Row{Session: "one", Tally: Tally{Requests: 1}})
	must(t, b.Wait(t.Context()))
	left := load.Swap(0)
	if left < 900 {
		t.Errorf("Wait waited for %d other writes", 1_000-left)
	}
	must(t, b.Wait(t.Context()))
}

// What is charged to many at once is kept for each.
func TestManyRowsAtOnce(t *testing.T) {
	b := newBook(store.NewMemory())
	const many = maxRows + 200
	for k := range 2 {
		for i := range many {
			b.Charge(Row{Tenant: fmt.Sprint("t", i+k*(many-1-2*i)), Tally: Tally{Requests: 1}})
		}
		must(t, b.Wait(t.Context()))
	}
	got, err := b.Bill(t.Context())
	must(t, err)
	for _, r := range got.Rows {
		if r.Requests != 2 {
			t.Fatalf("row %q has %d requests, want 2", r.Tenant, r.Requests)
		}
	}
}

// Where a store reads many rows in steps, nothing is lost that another proxy writes in
// between.
func TestReadInSteps(t *testing.T) {
	st := &hooked{Memory: store.NewMemory()}
	st.finding = func() {
		st.finding = nil
		other := newBook(st.Memory)
		other.Charge(Row{Tenant: "t1", Session: "s", Tally: Tally{Requests: 1}})
		if err := other.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	b := newBook(st)
	for i := range 3 {
		b.Charge(Row{Tenant: fmt.Sprint("t", i), Session: "s", Tally: Tally{Requests: 1}})
	}
	must(t, b.Wait(t.Context()))
	got, err := b.Bill(t.Context())
	must(t, err)
	for _, r := range got.Rows {
		if want := map[bool]int{true: 2, false: 1}[r.Tenant == "t1"]; r.Requests != want {
			t.Errorf("row %q has %d requests, want %d", r.Tenant, r.Requests, want)
		}
	}
	if got.All.Requests != 4 {
		t.Errorf("%d requests in all, want 4", got.All.Requests)
	}
}

// hooked is a store that calls others while it works.
type hooked struct {
	*store.Memory
	appending func()
	finding   func() // between the steps of reading many rows
}

func (h *hooked) Append(
	ctx context.Context,
	key store.SessionKey,
	last uint64,
	entries ...store.Entry,
) (uint64, error) {
	if h.appending != nil {
		h.appending()
	}
	return h.Memory.Append(ctx, key, last, entries...)
}

func (h *hooked) Find(
	ctx context.Context,
	tenant string,
	kind store.EntryKind,
	labels ...string,
) (found []store.Found, err error) {
	if i := slices.Index(labels, all); i >= 0 { // the sum comes last
		labels[i], labels[len(labels)-1] = labels[len(labels)-1], all
	}
	for i, label := range labels {
		if i == len(labels)-1 && i > 0 && h.finding != nil {
			h.finding()
		}
		some, err := h.Memory.Find(ctx, tenant, kind, label)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

// A session that is forgotten has no row any more, and its name begins again at zero; the sum keeps what
// was spent. So it is when a new session of the bill begins.
func TestForget(t *testing.T) {
	b := newBook(store.NewMemory())
	charge := func(session string, n int) {
		for range n {
			b.Charge(Row{Tenant: "t", Session: session, Tally: Tally{Requests: 1, USD: 1}})
		}
	}
	check := func(sum float64, want map[string]int) {
		t.Helper()
		got, err := b.Bill(t.Context())
		if err != nil || got.All.USD != sum || len(got.Rows) != len(want) {
			t.Fatalf("%+v, %v, want %v of %v", got, err, want, sum)
		}
		for _, r := range got.Rows {
			if r.Requests != want[r.Session] {
				t.Errorf("%s has %d requests, want %d", r.Session, r.Requests, want[r.Session])
			}
		}
	}
	gone := store.SessionKey{Tenant: "t", Session: "gone"}
	if err := b.Forget(t.Context(), gone); err != nil { // there is no bill
		t.Fatal(err)
	}
	charge("gone", 25)
	charge("stays", 2)
	check(27, map[string]int{"gone": 25, "stays": 2})
	must(t, b.Forget(t.Context(), gone, store.SessionKey{Tenant: "t", Session: "never"}))
	check(27, map[string]int{"stays": 2})
	charge("gone", 3)
	check(30, map[string]int{"gone": 3, "stays": 2})
	must(t, b.Forget(t.Context(), gone))
	for range full {
		charge("stays", 1)
		must(t, b.Wait(t.Context()))
	}
	check(30+full, map[string]int{"stays": 2 + full})
}

var must = difftest.Must
