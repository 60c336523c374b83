package dash

import (
	"context"
	"errors"
	"sync"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
)

// scratch is a copy of a session to fold and throw away. The last one is kept, because a slider asks about the
// same session many times. Only one is folded at a time, to spare the machine.
type scratch struct {
	mu    sync.Mutex
	key   store.SessionKey
	last  uint64         // the newest entry that it was made with
	s     *pleat.Session // nil: there is none yet
	count *tokens.Tokenizer
}

// scratchMemory is how many bytes of messages it holds beside its store.
const scratchMemory = 4 << 20

// use calls f with a copy of a session under the default policy, and with what counts its tokens: in the
// provider's, as the pages of the session and compact do, where this model is the session's.
func (c *scratch) use(
	ctx context.Context, st store.Store, of *pleat.Session, m model.Model,
	counter func(model.Model) *tokens.Tokenizer, f func(*pleat.Session, *tokens.Tokenizer) error,
) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil { // it waited, and nobody wants it any more
		return err
	}
	if key, last := of.Key(), inside.Of(of).LastSeq(); c.s == nil || c.key != key || c.last != last {
		m, err := library.Scaled(ctx, of, m)
		if err != nil {
			return err
		}
		copied, err := copyOf(ctx, st, key, last)
		if err != nil {
			return err
		}
		c.key, c.last, c.count = key, last, counter(m)
		o := library.Planned(policy.Default(), c.count)
		o.Budget, o.Memory = library.Fit(1<<40), scratchMemory
		if c.s, err = pleat.OpenSession(ctx, copied, key, &o); err != nil {
			return err
		}
		c.s.SetHead("", nil) // the budget is for the messages
	}
	defer inside.Of(c.s).Shrink(scratchMemory)
	return f(c.s, c.count)
}

// copyOf is a store with a session up to an entry. It leaves out what providers reported, by which a session
// corrects its counts: they are in the provider's tokens already. Bodies that are damaged are missing there.
func copyOf(ctx context.Context, st store.Store, key store.SessionKey, last uint64) (*store.Memory, error) {
	out := store.NewMemory()
	for e, err := range st.Scan(ctx, key, 1) {
		if err == nil && e.Seq > last { // written since
			break
		}
		if err == nil && e.BodySize > 0 {
			if e.Body, err = st.Body(ctx, key, e.BodyHash); errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrNotFound) {
				err = nil
			}
		}
		if e.Kind == store.EntryUsage {
			e.Data = []byte("{}")
		}
		if err == nil {
			_, err = out.Append(ctx, key, e.Seq-1, e)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
