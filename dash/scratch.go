package dash

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/library"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// scratches are copies of sessions to fold and throw away: those used last, because a slider
// asks about the same one many times. One is folded at a time, for the machine's sake.
type scratches struct {
	mu   sync.Mutex
	list []scratch // the last used first
}

type scratch struct {
	key    store.SessionKey
	last   uint64 // the newest entry that it was made with
	policy string
	s      *pleat.Session
}

// mostScratch is how many are kept, scratchMemory how many bytes of messages each holds.
const mostScratch, scratchMemory = 4, 4 << 20

// use calls f with a copy of a session under a policy, which counts tokens as count does.
func (l *scratches) use(ctx context.Context, st store.Store, of *pleat.Session, count *tokens.Tokenizer, pol fold.Policy, f func(*pleat.Session) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil { // it waited, and nobody wants it any more
		return err
	}
	key, last := of.Key(), of.Last()
	l.list = slices.DeleteFunc(l.list, func(c scratch) bool { return c.key == key && c.last != last })
	i := slices.IndexFunc(l.list, func(c scratch) bool { return c.key == key && c.policy == pol.Name })
	if i < 0 {
		if pol.CharsPerToken > 0 {
			count = tokens.NewTokenizer(pleat.Model{}, &tokens.Options{Counter: tokens.CharsPerToken(pol.CharsPerToken)})
		}
		c := scratch{key: key, last: last, policy: pol.Name}
		var err error
		c.s, err = pleat.OpenSession(ctx, &overlay{Store: st, key: key, base: last}, key, &pleat.Options{
			Policy: planning(pol), Budget: library.Fit(1 << 40), Codecs: library.Codecs(), Memory: scratchMemory, Tokens: count,
		})
		if err != nil {
			return err
		}
		l.list = append(l.list, c)
		i = len(l.list) - 1
	}
	c := l.list[i]
	l.list = slices.Insert(slices.Delete(l.list, i, i+1), 0, c)
	l.list = l.list[:min(len(l.list), mostScratch)]
	defer c.s.Shrink(scratchMemory)
	return f(c.s)
}

// overlay is a store whose session key ends at entry base. What is appended to it stays in
// memory. It leaves out what providers reported, by which a session corrects its counts: a
// page shows counts, and what it says to fit has to fit by these.
type overlay struct {
	store.Store
	key  store.SessionKey
	base uint64

	mu    sync.Mutex
	added []store.Entry
}

// Append implements [store.Store].
func (o *overlay) Append(_ context.Context, key store.SessionKey, last uint64, entries ...store.Entry) (uint64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if key != o.key {
		return 0, store.ErrReadOnly
	}
	now := o.base + uint64(len(o.added))
	if last != now {
		return 0, store.ErrConflict
	}
	for _, e := range entries {
		now++
		e.Seq, e.Data, e.Body, e.Text = now, bytes.Clone(e.Data), bytes.Clone(e.Body), ""
		if e.BodySize = len(e.Body); len(e.Body) > 0 {
			e.BodyHash = transcript.HashOf(string(e.Body))
		}
		o.added = append(o.added, e)
	}
	return now, nil
}

// Scan implements [store.Store].
func (o *overlay) Scan(ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range o.Store.Scan(ctx, key, from, kinds...) {
			if err == nil && key == o.key && e.Seq > o.base { // written since
				break
			}
			if e.Kind == store.EntryUsage {
				e.Data = []byte("{}")
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		o.mu.Lock()
		added := slices.Clone(o.added)
		o.mu.Unlock()
		for _, e := range added {
			e.Body = nil
			if key == o.key && e.Seq >= from && (len(kinds) == 0 || slices.Contains(kinds, e.Kind)) && !yield(e, nil) {
				return
			}
		}
	}
}

// Body implements [store.Store].
func (o *overlay) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	o.mu.Lock()
	for _, e := range o.added {
		if key == o.key && e.BodySize > 0 && e.BodyHash == hash {
			o.mu.Unlock()
			return bytes.Clone(e.Body), nil
		}
	}
	o.mu.Unlock()
	return o.Store.Body(ctx, key, hash)
}
