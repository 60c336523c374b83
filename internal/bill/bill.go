// Package bill adds up what a proxy's requests came to, in the proxy's store: the sums are
// the same after a restart, and a second later the same for all proxies of a store.
//
// The bill is a session of its own. An entry holds the tally of one row until then, and the
// one with the label "all" the tally of all; only the newest of each label counts. "All" is
// the last entry of every write. A session that has grown to its limit is not written to
// any more: the next writer begins another one with the newest rows, and forgets the old one.
// A process that dies loses the charges of its last second at most.
package bill

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Tally adds up what happened to the requests of a session, or to all.
type Tally struct {
	Requests int   `json:"requests"` // of clients
	Failed   int   `json:"failed"`   // of these: no answer came, or an error
	Sent     int   `json:"upstream_requests"`
	Passed   int   `json:"passed_on"`       // requests that were not understood
	Folded   int   `json:"folded_requests"` // went out with folds
	Stored   int   `json:"results_stored"`  // at once, because they were too large to show
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
	// USD is what was spent according to the price list. Without is about what the clients'
	// own requests would have cost.
	USD     float64 `json:"usd"`
	Without float64 `json:"usd_without"`
	// Unpriced requests are of models that the list does not have: they are in neither.
	Unpriced int `json:"unpriced_requests"`
}

func (t *Tally) add(o Tally) {
	t.Requests += o.Requests
	t.Failed += o.Failed
	t.Sent += o.Sent
	t.Passed += o.Passed
	t.Folded += o.Folded
	t.Stored += o.Stored
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
	t.Unpriced += o.Unpriced
}

// Row is the tally of a session. Without a name it is of the requests that belong to
// none, such as those for titles.
type Row struct {
	Tenant  string    `json:"tenant"`
	Session string    `json:"session"`
	Model   string    `json:"model"` // the one used last
	Last    time.Time `json:"last"`  // when its last request ended
	Tally
}

func (r Row) label() string {
	return transcript.HashOf("bill\x00" + r.Tenant + "\x00" + r.Session).String()
}

// Bill is what a proxy's requests came to since its store is kept.
type Bill struct {
	All  Tally `json:"all"`
	Rows []Row `json:"sessions"` // those charged last, the newest first
}

// Tenant has the sessions in which bills are kept, and no others.
const Tenant = "pleat-proxy"

const (
	name    = "bill" // of the first session; those that follow have a number behind it
	all     = "all"
	maxRows = 1024        // rows that are kept
	full    = 8 * maxRows // entries of a session that is not written to any more
)

// pause is how long charges are collected before they are written together.
const pause = time.Second

// Book keeps the bill. What is new is written in the background, several requests at a time.
type Book struct {
	Store store.Store
	Log   *slog.Logger
	Now   func() time.Time

	mu      sync.Mutex
	pending map[string]Row // charges that are not written yet, by label
	due     *time.Timer    // writes them; nil: nothing is pending, or the store failed
	writing sync.Mutex     // taken before mu
}

// Charge puts something on the bill.
func (b *Book) Charge(r Row) {
	r.Last = b.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pending == nil {
		b.pending = make(map[string]Row)
	}
	if _, known := b.pending[r.label()]; !known && len(b.pending) >= maxRows { // the store has not worked for long
		r.Session = ""
	}
	r.add(b.pending[r.label()].Tally)
	b.pending[r.label()] = r
	if b.due == nil {
		b.due = time.AfterFunc(pause, b.write)
	}
}

// write writes the pending rows. If the store fails, they are pending again.
func (b *Book) write() {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	some := b.pending
	if b.due != nil {
		b.due.Stop()
	}
	b.pending, b.due = nil, nil
	b.mu.Unlock()
	if len(some) == 0 {
		return
	}
	err := again(func() error { return b.store(context.Background(), some) })
	if err == nil {
		return
	}
	b.Log.Warn("what requests cost could not be recorded; it is tried again with the next request", "err", err)
	b.mu.Lock()
	defer b.mu.Unlock()
	for label, r := range b.pending {
		r.add(some[label].Tally)
		some[label] = r
	}
	b.pending = some
}

// Wait waits until everything that was charged before is written, or the store has failed.
func (b *Book) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.write()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("write bill: %w", ctx.Err())
	}
}

// again does something that another proxy may come before, until none does.
func again(do func() error) (err error) {
	for range 100 {
		if err = do(); !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	return err
}

// store adds rows to those in the store.
func (b *Book) store(ctx context.Context, some map[string]Row) error {
	old, last, rows, err := b.find(ctx, some)
	if err != nil {
		return err
	}
	key := old
	if last >= full {
		if err := b.scan(ctx, old, rows); err != nil {
			return err
		}
		key, last = next(old), 0
	}
	sum := rows[all]
	delete(rows, all)
	list := newest(rows)
	if key != old {
		list = list[:min(len(list), maxRows)]
	}
	var entries []store.Entry
	for _, r := range list {
		entries = append(entries, entry(r.label(), r.Last, r))
	}
	entries = append(entries, entry(all, b.Now(), sum))
	if _, err = b.Store.Append(ctx, key, last, entries...); err != nil || key == old {
		return err
	}
	if k, ok := b.Store.(store.Keeper); ok {
		if err := k.Forget(ctx, old); err != nil && !errors.Is(err, store.ErrNotFound) {
			b.Log.Warn("an old bill could not be deleted", "session", old.String(), "err", err)
		}
	}
	return nil
}

func next(key store.SessionKey) store.SessionKey {
	n, _ := strconv.Atoi(strings.TrimPrefix(key.Session, name+"-"))
	return store.SessionKey{Tenant: Tenant, Session: fmt.Sprint(name, "-", max(n, 1)+1)}
}

// Forget takes the rows of sessions off the bill that are deleted. What they cost stays in the sum.
func (b *Book) Forget(ctx context.Context, sessions ...store.SessionKey) error {
	var labels []string
	for _, key := range sessions {
		labels = append(labels, Row{Tenant: key.Tenant, Session: key.Session}.label())
	}
	return again(func() error {
		key, last, rows, err := b.find(ctx, nil)
		if err != nil || len(labels) == 0 {
			return err
		}
		found, err := b.Store.Find(ctx, Tenant, store.EntryBill, labels...)
		if err != nil || len(found) == 0 {
			return err
		}
		at := found[0].Entry.Time
		var entries []store.Entry
		for _, f := range found {
			entries = append(entries, entry(f.Entry.Label, at, Row{}))
		}
		_, err = b.Store.Append(ctx, key, last, append(entries, entry(all, at, rows[all]))...)
		return err
	})
}

// newest lists rows, those that were charged last first, without those of forgotten sessions.
func newest(rows map[string]Row) []Row {
	maps.DeleteFunc(rows, func(_ string, r Row) bool { return r.Tally == Tally{} })
	return slices.SortedFunc(maps.Values(rows), func(a, b Row) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Session, b.Session))
	})
}

func entry(label string, at time.Time, r Row) store.Entry {
	data, _ := json.Marshal(r) // strings and numbers cannot fail
	return store.Entry{Kind: store.EntryBill, Label: label, Time: at, Data: data}
}

// find returns the rows with what the store has of them, and the sum of all; and the bill's
// session with the number of its newest entry.
func (b *Book) find(
	ctx context.Context, some map[string]Row,
) (key store.SessionKey, last uint64, rows map[string]Row, err error) {
	rows = make(map[string]Row)
	sum := Row{}
	for label, r := range some {
		rows[label] = r
		sum.add(r.Tally)
	}
	labels := slices.Collect(maps.Keys(rows))
	rows[all] = sum
	// The sum comes first: a store may read many labels in several steps, and what another
	// proxy writes after this one makes the append fail.
	found, err := b.Store.Find(ctx, Tenant, store.EntryBill, all)
	if err == nil && len(labels) > 0 {
		var more []store.Found
		more, err = b.Store.Find(ctx, Tenant, store.EntryBill, labels...)
		found = append(found, more...)
	}
	if err != nil {
		return key, 0, nil, fmt.Errorf("read bill: %w", err)
	}
	key = store.SessionKey{Tenant: Tenant, Session: name}
	for _, f := range found {
		r, label := rows[f.Entry.Label], f.Entry.Label
		var stored Row
		if err := json.Unmarshal(f.Entry.Data, &stored); err != nil {
			return key, 0, nil, fmt.Errorf("read bill: %w", err)
		}
		r.add(stored.Tally)
		if rows[label] = r; label == all {
			key, last = f.Key, f.Entry.Seq
		}
	}
	return key, last, rows, nil
}

// scan adds the rows of a session that are not among those given.
func (b *Book) scan(ctx context.Context, key store.SessionKey, rows map[string]Row) error {
	stored := make(map[string]Row)
	for e, err := range b.Store.Scan(ctx, key, 1, store.EntryBill) {
		var r Row
		if err == nil {
			err = json.Unmarshal(e.Data, &r)
		}
		if err != nil {
			return fmt.Errorf("read bill: %w", err)
		}
		stored[e.Label] = r
	}
	maps.Copy(stored, rows)
	maps.Copy(rows, stored)
	return nil
}

// Bill reads the bill, including charges that are not written yet.
func (b *Book) Bill(ctx context.Context) (Bill, error) {
	if err := b.Wait(ctx); err != nil {
		return Bill{}, err
	}
	b.mu.Lock()
	unwritten := maps.Clone(b.pending)
	b.mu.Unlock()
	key, _, rows, err := b.find(ctx, unwritten)
	if err == nil {
		err = b.scan(ctx, key, rows)
	}
	if err != nil {
		return Bill{}, err
	}
	sum := rows[all].Tally
	delete(rows, all)
	list := newest(rows)
	return Bill{sum, list[:min(len(list), maxRows)]}, nil
}
