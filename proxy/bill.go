package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Tally adds up what happened to the requests of a session, or to all. Proxies keep it in
// their store: it is the same after a restart, and the same for all proxies of a store.
type Tally struct {
	Requests int   `json:"requests"` // of clients
	Sent     int   `json:"upstream_requests"`
	Passed   int   `json:"passed_on"` // requests that were not understood
	Epochs   int   `json:"epochs"`
	Hidden   int   `json:"hidden_rounds"`
	Retried  int   `json:"retried"`
	BytesIn  int64 `json:"bytes_in"`  // what clients sent
	BytesOut int64 `json:"bytes_out"` // what providers got
	// Prompt tokens that providers reported, and their cache's part in them.
	Prompt     int64 `json:"prompt_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Output     int64 `json:"output_tokens"`
	// USD is what was spent according to the price table. Without is about what the clients'
	// own requests would have cost.
	USD     float64 `json:"usd"`
	Without float64 `json:"usd_without"`
}

func (t *Tally) add(o Tally) {
	t.Requests += o.Requests
	t.Sent += o.Sent
	t.Passed += o.Passed
	t.Epochs += o.Epochs
	t.Hidden += o.Hidden
	t.Retried += o.Retried
	t.BytesIn += o.BytesIn
	t.BytesOut += o.BytesOut
	t.Prompt += o.Prompt
	t.CacheRead += o.CacheRead
	t.CacheWrite += o.CacheWrite
	t.Output += o.Output
	t.USD += o.USD
	t.Without += o.Without
}

// BillRow is the tally of a session. Without a name it is of the requests that belong to
// none, such as those for titles.
type BillRow struct {
	Tenant  string    `json:"tenant"`
	Session string    `json:"session"`
	Model   string    `json:"model"` // the one used last
	Last    time.Time `json:"last"`  // when its last request ended
	Tally
}

func (r BillRow) label() string {
	return transcript.HashOf("bill\x00" + r.Tenant + "\x00" + r.Session).String()
}

// billKey is where the bill is kept: an entry for a session holds the session's tally until
// then, one with the label billAll the tally of all. Only the newest of each label counts.
var billKey = store.SessionKey{Tenant: "pleat-proxy", Session: "bill"}

const (
	billAll  = "all"
	maxBills = 1024 // tallies that are kept in memory, and listed
)

// book keeps the bill. What is new is written in the background, several requests at a time.
type book struct {
	st  store.Store
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	pending map[string]BillRow // what is not written yet, by label
	writing chan struct{}      // closed when the writer ends; nil: there is none
}

// charge puts something on the bill.
func (b *book) charge(r BillRow) {
	r.Last = b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pending == nil {
		b.pending = make(map[string]BillRow)
	}
	if p, known := b.pending[r.label()]; known {
		r.add(p.Tally)
	} else if len(b.pending) >= maxBills { // the store has not worked for long
		r.Session = ""
		r.add(b.pending[r.label()].Tally)
	}
	b.pending[r.label()] = r
	if b.writing == nil {
		b.writing = make(chan struct{})
		go b.write()
	}
}

// write writes what is pending until nothing is left.
func (b *book) write() {
	ctx := context.Background()
	for {
		b.mu.Lock()
		some := b.pending
		if len(some) == 0 {
			b.ended()
			b.mu.Unlock()
			return
		}
		b.pending = nil
		b.mu.Unlock()
		if err := b.store(ctx, some); err != nil {
			b.log.Warn("what requests cost could not be recorded; it is tried again with the next request", "err", err)
			b.mu.Lock()
			for label, r := range b.pending {
				r.add(some[label].Tally)
				some[label] = r
			}
			b.pending = some
			b.ended()
			b.mu.Unlock()
			return
		}
	}
}

func (b *book) ended() {
	close(b.writing)
	b.writing = nil
}

// wait waits until everything is written, or the store has failed.
func (b *book) wait(ctx context.Context) error {
	b.mu.Lock()
	writing := b.writing
	b.mu.Unlock()
	if writing == nil {
		return nil
	}
	select {
	case <-writing:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("write bill: %w", ctx.Err())
	}
}

// store adds rows to those in the store.
func (b *book) store(ctx context.Context, some map[string]BillRow) error {
	for range 100 {
		last, all, err := b.read(ctx, some)
		if err != nil {
			return err
		}
		var entries []store.Entry
		for label, r := range all {
			if label != billAll {
				entries = append(entries, store.Entry{Kind: store.EntryBill, Label: label, Time: r.Last, Data: encodeRow(r)})
			}
		}
		entries = append(entries, store.Entry{Kind: store.EntryBill, Label: billAll, Time: b.now(), Data: encodeRow(all[billAll])})
		_, err = b.st.Append(ctx, billKey, last, entries...)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return store.ErrConflict
}

func encodeRow(r BillRow) []byte {
	data, _ := json.Marshal(r) // strings and numbers cannot fail
	return data
}

// read returns the rows with what the store has of them, and the sum of all; and the number
// of the newest entry.
func (b *book) read(ctx context.Context, some map[string]BillRow) (last uint64, rows map[string]BillRow, err error) {
	labels := []string{billAll}
	rows = make(map[string]BillRow)
	sum := BillRow{}
	for label, r := range some {
		labels = append(labels, label)
		rows[label] = r
		sum.add(r.Tally)
	}
	rows[billAll] = sum
	found, err := b.st.Find(ctx, billKey.Tenant, store.EntryBill, labels...)
	if err != nil {
		return 0, nil, fmt.Errorf("read bill: %w", err)
	}
	for _, f := range found {
		var stored BillRow
		if err := json.Unmarshal(f.Entry.Data, &stored); err != nil {
			return 0, nil, fmt.Errorf("read bill: %w", err)
		}
		r := rows[f.Entry.Label]
		r.add(stored.Tally)
		rows[f.Entry.Label] = r
		last = max(last, f.Entry.Seq)
	}
	return last, rows, nil
}

// Bill is what a proxy's requests came to since its store is kept.
type Bill struct {
	All  Tally     `json:"all"`
	Rows []BillRow `json:"sessions"` // those charged last, the newest first
}

// bill reads the bill, with what is not written yet.
func (b *book) bill(ctx context.Context) (Bill, error) {
	if err := b.wait(ctx); err != nil {
		return Bill{}, err
	}
	b.mu.Lock()
	unwritten := maps.Clone(b.pending)
	b.mu.Unlock()
	last, rows, err := b.read(ctx, unwritten)
	if err != nil {
		return Bill{}, err
	}
	out := Bill{All: rows[billAll].Tally}
	delete(rows, billAll)
	for e, err := range b.st.Scan(ctx, billKey, max(last, 2*maxBills)-2*maxBills+1, store.EntryBill) {
		if err != nil {
			return Bill{}, fmt.Errorf("read bill: %w", err)
		}
		var r BillRow
		if err := json.Unmarshal(e.Data, &r); err != nil {
			return Bill{}, fmt.Errorf("read bill: %w", err)
		}
		if _, pending := unwritten[e.Label]; e.Label != billAll && !pending {
			rows[e.Label] = r
		}
	}
	for _, r := range rows {
		out.Rows = append(out.Rows, r)
	}
	newestFirst(out.Rows, func(r BillRow) time.Time { return r.Last })
	if len(out.Rows) > maxBills {
		out.Rows = out.Rows[:maxBills]
	}
	return out, nil
}

// Bill reads from the store what requests came to.
func (h *Handler) Bill(ctx context.Context) (Bill, error) { return h.rw.book.bill(ctx) }

// Bill reads from the store what requests came to.
func (t *Transport) Bill(ctx context.Context) (Bill, error) { return t.rw.book.bill(ctx) }
