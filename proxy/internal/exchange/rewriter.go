package exchange

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Rewriter finds the session that a request belongs to and turns the request into the
// one that goes out. [Handler] and [Transport] both use it.
type Rewriter struct {
	o        Options
	book     *bill.Book
	known    *lineage.Cache
	archive  lineage.Archive
	pool     *pool
	flight   atomic.Int64 // bytes of requests and replies under way
	burst    atomic.Bool  // they were many
	draining atomic.Bool
	closing  sync.WaitGroup // work in the background
	logged   sync.Map       // what is logged only once
	logs     atomic.Int64   // how many these are
}

func New(o Options) *Rewriter {
	rw := &Rewriter{o: o}
	rw.known, rw.pool = lineage.NewCache(rw.o.Memory), newPool(rw.o.Sessions, &rw.closing)
	rw.archive = lineage.Archive{Store: rw.o.Store, Open: func(ctx context.Context, key store.SessionKey, req *protocol.Request) (lineage.Reader, error) {
		return rw.reopen(ctx, key, req, "")
	}}
	rw.closing.Go(func() { tokens.O200k().Count("") }) // else the first request waits for its vocabulary
	rw.book = &bill.Book{Store: rw.o.Store, Log: rw.o.Logger, Now: rw.o.Now}
	return rw
}

// Drain lets conversations end: new ones pass unchanged from now on.
func (rw *Rewriter) Drain() { rw.draining.Store(true) }

func (rw *Rewriter) Draining() bool { return rw.draining.Load() }

// Written waits until everything that sessions were given is in the store.
func (rw *Rewriter) Written(ctx context.Context) error { return rw.pool.written(ctx, true) }

// Statuses describes the sessions in memory, the one used last first.
func (rw *Rewriter) Statuses() []Status { return rw.pool.statuses() }

// bill reads from the store what requests used and cost.
func (rw *Rewriter) Bill(ctx context.Context) (bill.Bill, error) { return rw.book.Bill(ctx) }

// WarnOnce logs something about a path the first time that it happens.
func (rw *Rewriter) WarnOnce(what, path string) {
	const most = 1000 // anybody can make up paths
	if rw.logs.Load() >= most {
		return
	}
	if _, known := rw.logged.LoadOrStore(what+path, true); !known {
		rw.logs.Add(1)
		rw.o.Logger.Warn(what, "path", path)
	}
}

// exempt returns the policy with tools added to those whose results are never spilled.
func exempt(p fold.Policy, tools []model.Tool) fold.Policy {
	p.AtBirth = fold.Change(p.AtBirth, func(s *lever.Spill) {
		s.Exempt = slices.Clone(s.Exempt)
		for _, t := range tools {
			s.Exempt = append(s.Exempt, t.Name)
		}
	})
	return p
}

// turn is a request whose session is known: what goes out, and what is needed to handle
// the answer.
type turn struct {
	req    *protocol.Request
	from   lineage.Caller
	key    store.SessionKey
	conv   *conversation
	before store.SessionKey // of the conversation
	mode   lineage.Mode     // of the conversation, which others may rename meanwhile
	out    []byte
	at     int // length of the transcript
	client []int
	drop   bool // the view needs the provider to drop thinking

	mark    lineage.Mark         // of the request
	resumed int                  // of its hidden rounds, those of an exchange before that did not end
	hidden  []transcript.Message // of its hidden rounds: in the transcript after the mark
	forked  bool
	epochs  int
	stored  int // results, when they came
	folded  bool
	meter   fold.Snapshot
	size    client
}

// mostTries is how often a request whose session changes meanwhile is tried.
const mostTries = 20

// begin finds the session of a request, brings it up to date and makes the request that goes out.
// The turn is nil, without an error, for a new conversation while the proxy is draining. With
// resume it goes on with hidden rounds of the same request whose answer did not end.
//
// A session that changed meanwhile, because another replica wrote to it, or because it was deleted
// or could not be stored, is tried again, at most mostTries times.
func (rw *Rewriter) begin(ctx context.Context, req *protocol.Request, from lineage.Caller, resume bool) (*turn, error) {
	key, known, err := rw.locate(ctx, from, req)
	if err != nil || !known && rw.draining.Load() {
		return nil, err
	}
	unstored := false
	for try := 1; ; try++ {
		t, c, err := rw.enter(ctx, key, req, from, resume)
		if err == nil || c == nil || try == mostTries {
			return t, err
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
			rw.pool.lost(c)
			if key, _, err = rw.locate(ctx, from, req); err != nil {
				return nil, err
			}
		case !errors.Is(err, store.ErrConflict):
			if _, failed := c.behind.Ahead(); failed == nil || unstored {
				return nil, err
			}
			unstored = true // the session is read anew, and gets what could not be written from this request
		}
	}
}

// enter takes a request to the first session that takes it, beginning at key. A session that has gone
// another way sends it on, to the one that has the next answer or to a fork; none gets it twice,
// and a new fork takes it. The conversation is the last that was tried, nil if that could not be opened.
func (rw *Rewriter) enter(
	ctx context.Context, key store.SessionKey, req *protocol.Request, from lineage.Caller, resume bool,
) (*turn, *conversation, error) {
	forked := false
	for left := make(map[store.SessionKey]bool); !left[key]; {
		left[key] = true
		c, err := rw.open(ctx, key, req, from)
		if err != nil {
			return nil, nil, err
		}
		t, p, err := rw.rewrite(ctx, c, req, from, resume)
		if errors.Is(err, lineage.ErrDiverged) {
			if t, key, err = rw.elsewhere(ctx, c, p, req, from, resume); err == nil && t == nil {
				forked = forked || key != rw.following(from.Scope, req)
				continue
			}
		}
		if err == nil {
			t.forked = forked
		}
		return t, c, err
	}
	return nil, nil, lineage.ErrDiverged
}
