package proxy

import (
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Exchange is what happened to one request of a client.
type Exchange struct {
	Session  store.SessionKey  // zero: the request was passed on as it was
	Format   transcript.Format // empty: the path belongs to no wire
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
