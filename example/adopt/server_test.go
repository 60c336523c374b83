package adopt

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
)

// pool keeps the newest sessions of a server open. All of them together keep about open × options.Memory bytes of
// messages in memory; the others are in the store, and are opened again when they are needed.
type pool struct {
	store   store.Store
	options pleat.Options
	open    int // how many sessions, apart from those in use

	mu     sync.Mutex
	newest list.List // of *pooled, the newest first
	known  map[pleat.Key]*list.Element
}

type pooled struct {
	sync.Mutex // one request of a conversation at a time
	key        pleat.Key
	session    *pleat.Session // nil if it is not open
	users      int
}

// with runs a request of a conversation with its session.
func (p *pool) with(ctx context.Context, key pleat.Key, request func(*pleat.Session) error) (err error) {
	e := p.take(key)
	e.Lock()
	defer func() {
		e.Unlock()
		err = errors.Join(err, p.give(e))
	}()
	if e.session == nil {
		if e.session, err = pleat.OpenSession(ctx, p.store, key, &p.options); err != nil {
			return err
		}
	}
	return request(e.session)
}

func (p *pool) take(key pleat.Key) *pooled {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.known[key]; at != nil {
		p.newest.MoveToFront(at)
	} else {
		p.known[key] = p.newest.PushFront(&pooled{key: key})
	}
	e := p.known[key].Value.(*pooled)
	e.users++
	return e
}

// give ends a request, and closes the oldest sessions that nobody uses.
func (p *pool) give(e *pooled) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.users--
	for at := p.newest.Back(); at != nil && p.newest.Len() > p.open; {
		old, next := at.Value.(*pooled), at.Prev()
		if old.users == 0 {
			p.newest.Remove(at)
			delete(p.known, old.key)
			if old.session != nil {
				err = errors.Join(err, old.session.Close())
			}
		}
		at = next
	}
	return err
}

// TestPool serves fifty conversations, four at a time, with three open.
func TestPool(t *testing.T) {
	p := &pool{
		store: store.NewMemory(), options: pleat.Options{Memory: 1 << 20, Budget: pleat.Budget{Window: window}}, open: 3,
		known: make(map[pleat.Key]*list.Element),
	}
	var clients sync.WaitGroup
	for c := range 4 {
		clients.Go(func() {
			for n := range 500 {
				key := pleat.Key{Tenant: fmt.Sprint(c % 2), Session: fmt.Sprint(n % 25)}
				err := p.with(t.Context(), key, func(s *pleat.Session) error {
					return s.Append(t.Context(), pleat.User(fmt.Sprint("Question ", n)), pleat.Assistant(pleat.Say("Yes.")))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	if p.newest.Len() != p.open || len(p.known) != p.open {
		t.Errorf("%d sessions are open", p.newest.Len())
	}
	err := p.with(t.Context(), pleat.Key{Tenant: "1", Session: "7"}, func(s *pleat.Session) error {
		if s.Len() != 80 { // two clients, twenty questions each
			return fmt.Errorf("%d messages", s.Len())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
