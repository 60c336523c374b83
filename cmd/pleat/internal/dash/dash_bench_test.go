package dash

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

// Pages over 10,000 sessions, one of which has 5,000 messages, against the queries that a
// command would make for the same answer. The metric times-query is how many times as long
// a page takes.
func BenchmarkPages(b *testing.B) {
	st := store.NewMemory()
	for i := range 10_000 {
		other, err := pleat.OpenSession(b.Context(), st, pleat.Key{Session: fmt.Sprint("other", i)}, nil)
		must(b, err)
		must(b, other.Append(b.Context(), pleat.User(fmt.Sprint("session ", i))))
	}
	long := fill(b, st, "long", 40, 100_000, "long")
	for long.Len() < 5000 {
		id := fmt.Sprint("more", long.Len())
		must(
			b,
			long.Append(
				b.Context(), pleat.Assistant(pleat.Call(id, "bash", `{"command":"go test ./..."}`)),
				pleat.Results(pleat.Result(id, "ok "+id)),
			),
		)
	}
	_, err := long.View(b.Context(), pleat.Turn{})
	must(b, err)
	h := newDash(b, st, "")
	for h.sum(b.Context(), nil) == nil { // made once, in the background
	}
	open := func(ctx context.Context) *pleat.Session {
		_, s, err := h.open(ctx, "long")
		must(b, err)
		return s
	}
	for _, c := range []struct {
		name, page string
		query      func(ctx context.Context)
	}{
		{"overview", "/", func(ctx context.Context) {
			_, err := h.o.Library.List(ctx, library.Filter{Limit: listRows})
			must(b, err)
		}},
		{"session", "/dash/session?s=long", func(ctx context.Context) {
			s := open(ctx)
			windowOver(s, s.Report(), library.Window{})
			s.Ledger(ledger.Filter{})
		}},
		{"ledger", "/dash/ledger?s=long", func(ctx context.Context) { filesOf(open(ctx).Ledger(ledger.Filter{})) }},
		{"search", "/dash/search?s=long&q=f3", func(ctx context.Context) {
			_, err := open(ctx).Search(ctx, recall.SearchRequest{Queries: []string{"f3"}, Budget: -1})
			must(b, err)
		}},
		{"plan", "/dash/plan?s=long&budget=20000", func(ctx context.Context) {
			info, s, err := h.open(ctx, "long")
			must(b, err)
			_, err = h.outcome(ctx, &info, s, 20_000)
			must(b, err)
		}},
	} {
		b.Run("page="+c.name, func(b *testing.B) {
			var page, query time.Duration
			get(h, c.page) // sessions stay open
			for b.Loop() {
				began := time.Now()
				if w := get(h, c.page); w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
				page += time.Since(began)
				began = time.Now()
				c.query(b.Context())
				query += time.Since(began)
			}
			b.ReportMetric(float64(page)/float64(query), "times-query")
			b.ReportMetric(float64(page.Microseconds())/float64(b.N)/1000, "ms/page")
		})
	}
}
