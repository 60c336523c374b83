package exchange

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Rewriter finds the session that a request belongs to and turns the request into the
// one that goes out.
type Rewriter struct {
	o        Options
	book     *bill.Book
	known    *lineage.Cache
	archive  lineage.Archive
	pool     *pool
	flight   atomic.Int64 // bytes of requests and replies under way
	draining atomic.Bool
	closing  sync.WaitGroup // work in the background
	logged   sync.Map       // what is logged only once
	logs     atomic.Int64   // how many these are
}

// New makes a rewriter.
func New(o Options) *Rewriter {
	rw := &Rewriter{o: o}
	rw.known, rw.pool = lineage.NewCache(rw.o.Memory), newPool(rw.o.Sessions, &rw.closing)
	rw.archive = lineage.Archive{Store: rw.o.Store, Open: func(
		ctx context.Context, key store.SessionKey, req *protocol.Request,
	) (lineage.Reader, error) {
		return rw.reopen(ctx, key, req, "")
	}}
	rw.closing.Go(func() { tokens.O200k().Count("") }) // else the first request waits for its vocabulary
	rw.book = &bill.Book{Store: rw.o.Store, Log: rw.o.Logger, Now: rw.o.Now}
	return rw
}

// Drain lets conversations end: new ones pass unchanged from now on.
func (rw *Rewriter) Drain() { rw.draining.Store(true) }

// Draining reports whether Drain was called.
func (rw *Rewriter) Draining() bool { return rw.draining.Load() }

// Written waits until everything that sessions were given is in the store.
func (rw *Rewriter) Written(ctx context.Context) error { return rw.pool.written(ctx, true) }

// Statuses describes the sessions in memory, the one used last first.
func (rw *Rewriter) Statuses() []Status { return rw.pool.statuses() }

// Bill reads from the store what requests used and cost.
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

// One bound covers what the proxy holds: the bodies of requests and replies under way, the
// sessions, and what is kept of earlier requests. Sessions make room for what is under way:
// those used least recently leave memory, and come back from the store.

// Memory returns how many bytes the proxy holds, by its own count, and how many it may.
func (rw *Rewriter) Memory() (used, limit int64) { return rw.flight.Load() + rw.kept(), rw.o.Memory }

// kept is what sessions and earlier requests take.
func (rw *Rewriter) kept() int64 { return rw.known.Bytes() + rw.pool.weight.Load() }

// fit drops sessions until everything fits, and reports whether it does.
func (rw *Rewriter) fit() bool {
	left := rw.o.Memory - rw.flight.Load()
	if left < 0 {
		return false // no session could make room for that
	}
	if rw.kept() <= left {
		return true
	}
	rw.pool.shrink(left - rw.known.Bytes())
	if rw.kept() > left {
		rw.known.Clear()
	}
	return true
}

// take takes memory for the exchange, which gives it back when it is over.
func (x *exchange) take(n int64) bool {
	if x.rw.flight.Add(n); !x.rw.fit() {
		x.rw.flight.Add(-n)
		return false
	}
	x.held += n
	return true
}

func (x *exchange) release() {
	x.rw.flight.Add(-x.held)
	x.held = 0
	x.rw.fit()
}

// Options are the options of the proxy that exchanges need, with their defaults.
type Options struct {
	Store     store.Store
	Transport http.RoundTripper // to the upstreams
	// OwnTransport lets [Rewriter.Close] close the transport's unused connections.
	OwnTransport bool

	Models    *model.Models
	Window    int // each model's own if 0
	Policy    fold.Policy
	Recall    lineage.RecallMode
	RecallDir string

	Principal func(r *http.Request, body []byte) string
	Session   func(key store.SessionKey, o *pleat.Options) // may be nil
	Report    func(Report)                                 // may be nil
	Observe   func(ctx context.Context, key store.SessionKey, e pleat.Event)

	Logger   *slog.Logger
	Now      func() time.Time
	Decoders httpbody.Decoders

	Memory, MaxBody            int64
	MaxEvent, Sessions, Rounds int
	Timeout, Ping, Patience    time.Duration
}

// model returns a model's row of the table, and the window it gets here, 0 for its own.
func (o *Options) model(name string) (m model.Model, window int) {
	m, known := o.Models.Lookup(name)
	if !known && name != "" { // what is learnt of one that the table lacks is not of all of them
		m.ID = name
	}
	if o.Window > 0 && (!known || o.Window < m.Window) {
		window = o.Window
	}
	return m, window
}

// Report is what happened to one request of a client.
type Report struct {
	Session  store.SessionKey  // zero if the request was passed on unchanged
	Format   transcript.Format // empty if the path belongs to no wire
	Passed   bool              // the request was not understood, passed on and not compacted
	Model    string
	Began    time.Time
	Took     time.Duration // until the reply was over
	Added    time.Duration // of that, the proxy's own work before the request went out
	FirstAt  time.Duration // until the first byte of the reply
	Status   int           // of the reply
	BytesIn  int           // the client's request, decompressed
	BytesOut int           // the requests that went out for it
	Sent     int           // requests that went out for it
	Messages int           // the client's
	Folded   bool          // folds were in force
	Stored   int           // its results that were too large to show, and stored at once
	Epochs   int           // opened by this request
	Hidden   int           // rounds answered inside the proxy
	Retried  bool          // the provider refused the first view as too long
	Forked   bool          // the conversation left the one it was known by
	NoRecall string        // why its model cannot ask for what is folded, though recall is not turned off
	Snapshot fold.Snapshot
	Usage    model.Usage // of all requests that went out for it
	USD      float64     // what they cost, by the price list
	Without  float64     // about what the client's own request would have cost
	Err      error       // why it failed, or could not be folded although it was answered
}

// Status describes a session in memory, as of the last time that a request finished a step with it.
type Status struct {
	Key      store.SessionKey
	Model    string
	Recall   lineage.RecallMode
	NoRecall string // why, if that is off and was not turned off
	Last     time.Time
	Messages int
	Folds    int
	Snapshot fold.Snapshot
	Spent    float64
}
