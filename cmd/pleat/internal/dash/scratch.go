package dash

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// scratches are copies of sessions to fold and throw away. The last used are kept, because a
// slider asks about the same one many times. Only one is folded at a time, to spare the machine.
type scratches struct {
	mu   sync.Mutex
	list []scratch // the last used first
}

type scratch struct {
	key   store.SessionKey
	last  uint64 // the newest entry that it was made with
	s     *pleat.Session
	count *tokens.Tokenizer
}

// mostScratch is how many are kept, scratchMemory how many bytes of messages each holds.
const mostScratch, scratchMemory = 4, 4 << 20

// use calls f with a copy of a session under the default policy, and with what counts its tokens: in the
// provider's, as the pages of the session and compact do, where this model is the session's.
func (l *scratches) use(
	ctx context.Context, st store.Store, of *pleat.Session, m model.Model,
	counter func(model.Model) *tokens.Tokenizer, f func(*pleat.Session, *tokens.Tokenizer) error,
) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil { // it waited, and nobody wants it any more
		return err
	}
	key, last := of.Key(), inside.Of(of).LastSeq()
	l.list = slices.DeleteFunc(l.list, func(c scratch) bool { return c.key == key && c.last != last })
	i := slices.IndexFunc(l.list, func(c scratch) bool { return c.key == key })
	if i < 0 {
		c := scratch{key: key, last: last}
		m, err := library.Scaled(ctx, of, m)
		if err != nil {
			return err
		}
		c.count = counter(m)
		over := &overlay{Store: st, key: key, base: last, added: store.NewMemory()}
		o := library.Planned(policy.Default(), c.count)
		o.Budget, o.Memory = library.Fit(1<<40), scratchMemory
		if c.s, err = pleat.OpenSession(ctx, over, key, &o); err != nil {
			return err
		}
		c.s.SetHead("", nil) // the budget is for the messages
		l.list = append(l.list, c)
		i = len(l.list) - 1
	}
	c := l.list[i]
	l.list = slices.Insert(slices.Delete(l.list, i, i+1), 0, c)
	l.list = l.list[:min(len(l.list), mostScratch)]
	defer inside.Of(c.s).Shrink(scratchMemory)
	return f(c.s, c.count)
}

// overlay is a store whose session key ends at entry base. What is appended to it stays in
// memory. It leaves out what providers reported, by which a session corrects its counts: they
// are in the provider's tokens already.
type overlay struct {
	store.Store
	key   store.SessionKey
	base  uint64
	added *store.Memory
}

// Append implements [store.Store].
func (o *overlay) Append(
	ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry,
) (uint64, error) {
	switch {
	case key != o.key:
		return 0, store.ErrReadOnly
	case last < o.base:
		return 0, store.ErrConflict
	}
	n, err := o.added.Append(ctx, key, last-o.base, entries...)
	return o.base + n, err
}

// Scan implements [store.Store].
func (o *overlay) Scan(
	ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind,
) iter.Seq2[store.Entry, error] {
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
		for e, err := range o.added.Scan(ctx, key, 1, kinds...) {
			if e.Seq += o.base; (err != nil || e.Seq >= from) && !yield(e, err) {
				return
			}
		}
	}
}

// Body implements [store.Store].
func (o *overlay) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	body, err := o.added.Body(ctx, key, hash)
	if errors.Is(err, store.ErrNotFound) {
		return o.Store.Body(ctx, key, hash)
	}
	return body, err
}
