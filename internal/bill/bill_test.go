package bill

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

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
	for s, err := range st.Sessions(t.Context(), tenant) {
		if err != nil {
			t.Fatal(err)
		}
		entries += s.Entries
		sessions++
	}
	if sessions != 1 || entries > full+2*maxRows {
		t.Errorf("the bill takes %d entries in %d sessions after %d requests", entries, sessions, 4*each)
	}
	got, err := newBook(st).Bill(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.All.Requests != 4*each || got.All.USD != 2*each || len(got.Rows) != maxRows {
		t.Errorf("billed %+v in %d rows", got.All, len(got.Rows))
	}
	for _, r := range got.Rows {
		if want := map[bool]int{true: 2 * each, false: 4}[r.Session == "same"]; r.Requests != want {
			t.Errorf("row %s/%s has %d requests, want %d", r.Tenant, r.Session, r.Requests, want)
		}
	}
}
