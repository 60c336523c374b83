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

// Report is what happened to one request of a client. The fields are those of Exchange in package proxy,
// which documents them.
type Report struct {
	Session                                   store.SessionKey
	Format                                    transcript.Format
	Passed                                    bool
	Model                                     string
	Began                                     time.Time
	Took, Added, FirstAt                      time.Duration
	Status, BytesIn, BytesOut, Sent, Messages int
	Folded                                    bool
	Stored, Epochs, Hidden                    int
	Retried, Forked                           bool
	Snapshot                                  fold.Snapshot
	Usage                                     model.Usage
	USD, Without                              float64
	Err                                       error
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
