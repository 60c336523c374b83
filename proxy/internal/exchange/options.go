package exchange

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Options are the options of the proxy that exchanges need, with their defaults.
type Options struct {
	Store     store.Store
	Transport http.RoundTripper // to the upstreams
	Models    *model.Models
	Window    int // each model's own if 0
	Policy    fold.Policy
	Recall    lineage.RecallMode
	RecallDir string

	Principal func(r *http.Request, body []byte) string
	Session   func(key store.SessionKey, o *pleat.Options) // may be nil
	Report    func(Report)                                 // may be nil
	Observe   func(ctx context.Context, key store.SessionKey, e pleat.Event)

	ObserveOnly bool
	Logger      *slog.Logger
	Now         func() time.Time
	Decoders    httpbody.Decoders

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
	Snapshot fold.Snapshot
	Usage    model.Usage // of all requests that went out for it
	USD      float64     // what they cost, by the price list
	Without  float64     // about what the client's own request would have cost
	Err      error       // why it failed, or could not be folded although it was answered
}

// failed reports whether the client got no answer, or an error.
func (r Report) failed() bool { return r.Status == 0 || r.Status >= 400 }

// Status describes a session in memory, as of the last time that a request finished a step with it.
type Status struct {
	Key      store.SessionKey
	Model    string
	Recall   lineage.RecallMode
	Last     time.Time
	Messages int
	Folds    int
	Snapshot fold.Snapshot
	Spent    float64
}
