package rows

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/pleat-dev/pleat/store"
)

// A scan reads a page, releases the database, and only then yields: the loop's body may
// take as long as it likes and use the store as it likes. The number of rows in a page
// adapts to their size.
const (
	firstRows = 128
	mostRows  = 2048
	PageBytes = 1 << 20 // of data, about
)

// Scan implements [store.Store].
func (c Calls) Scan(
	ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind,
) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for r, err := range c.b.Records(ctx, key, from, kinds) {
			if err != nil {
				yield(store.Entry{}, c.b.Fail(ctx, err, "scan session %q", key))
				return
			}
			if !yield(r.Entry, nil) {
				return
			}
		}
	}
}

// Records yields checked records up to the entry that was the newest when it began.
func (b *Base) Records(
	ctx context.Context, key store.SessionKey, from uint64, kinds []store.EntryKind,
) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		x, err := b.tables.Session(ctx, key)
		if err != nil {
			yield(nil, err)
			return
		}
		if x == nil {
			return
		}
		due, rows := newDue(x.Head, x.Kinds, from, kinds), firstRows
		for due.Missing() != "" {
			page, err := b.tables.Page(ctx, x, due.From, rows, kinds)
			size := 0
			for _, r := range page {
				if r.Seq > x.Head {
					break
				}
				if what := due.Check(&r.Entry, r.Prev); what != "" {
					yield(nil, b.lost(ctx, x, what))
					return
				}
				if !yield(r, nil) {
					return
				}
				size += len(r.Data)
			}
			if err != nil {
				yield(nil, b.In(err, "session %q", key))
				return
			}
			if what := due.Missing(); what != "" && (len(page) == 0 || page[len(page)-1].Seq > x.Head) {
				yield(nil, b.lost(ctx, x, what))
				return
			}
			if size > PageBytes {
				rows = max(rows/4, 1)
			} else if size < PageBytes/4 {
				rows = min(rows*4, mostRows)
			}
		}
	}
}

// lost says why entries are missing: damage, or the session was forgotten while it was
// read.
func (b *Base) lost(ctx context.Context, x *Session, what string) error {
	now, err := b.tables.Session(ctx, x.Key)
	if err != nil {
		return err
	}
	if err := x.Still(now); err != nil {
		return err
	}
	return b.Corrupt("session %q: %s", x.Key, what)
}

// findBatch is how many labels one statement asks for.
const findBatch = 1000

// Find implements [store.Store].
func (c Calls) Find(ctx context.Context, tenant string, kind store.EntryKind, labels ...string) ([]store.Found, error) {
	var found []store.Found
	err := c.b.Do(ctx, func() error {
		for batch := range slices.Chunk(distinct(labels), findBatch) {
			some, err := c.b.tables.Find(ctx, tenant, kind, batch)
			if err != nil {
				return err
			}
			found = append(found, some...)
		}
		return nil
	}, "find %s entries", kind)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// ReadFound reads an ID, EntryColumns, the names of the session and what more there is, and
// checks that the entry is of that tenant and kind. Asked reports whether it has the right
// label.
func (b *Base) ReadFound(
	row Scanner, tenant string, kind store.EntryKind, asked func(r *Record) bool, more ...any,
) (found store.Found, err error) {
	var keyTenant, keyName []byte
	r, err := b.scanEntry(row, append([]any{&keyTenant, &keyName}, more...)...)
	found.Key = store.SessionKey{Tenant: string(keyTenant), Session: string(keyName)}
	if err == nil {
		err = r.check(found.Key)
	}
	if err != nil {
		return found, b.In(err, "a %s entry found by its label", kind)
	}
	if found.Key.Tenant != tenant || r.Kind != kind || !asked(r) {
		return found, b.Corrupt("an index leads to the wrong %s entry", kind)
	}
	found.Entry = r.Entry
	return found, nil
}

// Sessions implements [store.Keeper].
func (c Calls) Sessions(ctx context.Context, tenant string) iter.Seq2[store.SessionInfo, error] {
	return func(yield func(store.SessionInfo, error) bool) {
		var sessions []*Session
		err := c.b.Do(ctx, func() (err error) {
			sessions, err = c.b.tables.Sessions(ctx, tenant)
			return c.b.In(err, "a session of tenant %q", tenant)
		}, "list sessions")
		if err != nil {
			yield(store.SessionInfo{}, err)
			return
		}
		for _, x := range sessions {
			info := store.SessionInfo{
				Key: x.Key, Entries: x.Head, BodyBytes: x.Bytes,
				First: time.UnixMilli(x.First).UTC(), Last: time.UnixMilli(x.Last).UTC(),
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Tenants lists the tenants that have sessions, in order of name. It is for the owner of the
// store, who maintains all of it.
func (c Calls) Tenants(ctx context.Context) ([]string, error) {
	tenants, err := readAll(ctx, c.b, c.b.Pages.Tenants, Text)
	return tenants, c.b.Fail(ctx, err, "list tenants")
}

// Forget implements [store.Keeper].
func (c Calls) Forget(ctx context.Context, key store.SessionKey) error {
	return c.b.doWriting(ctx, func() error { return c.b.tables.Forget(ctx, key) }, "forget session %q", key)
}

// Claim implements [store.Claimer].
func (c Calls) Claim(
	ctx context.Context, key store.SessionKey, what string, ttl time.Duration,
) (release func(context.Context) error, ok bool, err error) {
	if ttl <= 0 {
		return nil, false, fmt.Errorf("claim %s of session %q for %v: the time must be more than zero", what, key, ttl)
	}
	work, token := KeyOf("claim", key.Tenant, key.Session, what), make([]byte, 16)
	rand.Read(token) // never fails
	err = c.b.doWriting(ctx, func() error {
		ok, err = c.b.tables.TakeClaim(ctx, work, token, ttl)
		return err
	}, "claim %s of session %q", what, key)
	if err != nil || !ok {
		return nil, false, err
	}
	return func(ctx context.Context) error {
		drop := func() error { return c.b.tables.DropClaim(ctx, work, token) }
		return c.b.Do(ctx, drop, "release %s of session %q", what, key)
	}, true, nil
}

// Due knows which entries a scan must find. Without kinds they are numbered without gaps.
// With kinds, each entry names the one of its kind before it, and the session the newest of
// each kind, so a missing one is noticed there too.
type Due struct {
	From uint64 // the next page begins here

	all  bool              // every kind is wanted
	head uint64            // the newest entry, with all
	tail map[string]uint64 // else the newest of each wanted kind that is due
	seen map[string]uint64 // and the newest one met; 0 before the first
	low  uint64            // where the scan began
}

// newDue begins a scan of a session at entry from: head is the session's newest entry,
// newest that of each of its kinds.
func newDue(head uint64, newest map[store.EntryKind]uint64, from uint64, kinds []store.EntryKind) *Due {
	d := &Due{From: max(from, 1), low: max(from, 1), all: len(kinds) == 0, head: head}
	if !d.all {
		d.tail, d.seen = make(map[string]uint64), make(map[string]uint64)
		for kind, last := range newest {
			if last >= d.From && slices.Contains(kinds, kind) {
				d.tail[string(kind)] = last
			}
		}
	}
	return d
}

// Check says what is wrong with e being the next entry; prev is the number of the entry of
// its kind before it.
func (d *Due) Check(e *store.Entry, prev uint64) string {
	if d.all {
		if e.Seq != d.From {
			return fmt.Sprintf("entry %d is missing", d.From)
		}
		d.From++
		return ""
	}
	kind := string(e.Kind)
	before, met := d.seen[kind]
	if met && prev != before || !met && prev >= d.low || e.Seq < d.From {
		return fmt.Sprintf("a %s entry before entry %d is missing", kind, e.Seq)
	}
	d.seen[kind] = e.Seq
	d.From = e.Seq + 1
	return ""
}

// Missing says what should have come and did not.
func (d *Due) Missing() string {
	if d.all {
		if d.From <= d.head {
			return fmt.Sprintf("entry %d is missing", d.From)
		}
		return ""
	}
	for kind, newest := range d.tail {
		if d.seen[kind] < newest {
			return fmt.Sprintf("%s entry %d is missing", kind, newest)
		}
	}
	return ""
}

// distinct returns the labels without repeats and without the empty one, which no entry
// is found by.
func distinct(labels []string) []string {
	labels = slices.Compact(slices.Sorted(slices.Values(labels)))
	return slices.DeleteFunc(labels, func(label string) bool { return label == "" })
}

// readAll reads all rows of a query over a whole store.
func readAll[T any](
	ctx context.Context, b *Base, query string, read func(row Scanner) (T, error), args ...any,
) (all []T, err error) {
	err = b.tables.Read(ctx, func(list List) (err error) {
		all, err = Collect(list, read)
		return err
	}, query, args...)
	return all, err
}
