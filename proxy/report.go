package proxy

import (
	"context"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/exchange"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Exchange is what happened to one request of a client.
type Exchange struct {
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

// Bill is what a proxy's requests used and cost: All is the sum, and Rows has a row for each
// session, the newest first.
type Bill = bill.Bill

// BillRow is the [Tally] of one session, with its Tenant, Session, Model and the time of its
// Last request.
type BillRow = bill.Row

// Tally counts Requests of clients and those Sent, those Folded, results Stored at once, Epochs,
// Hidden rounds, BytesIn and BytesOut, the tokens Prompt, CacheRead, CacheWrite and Output, and
// money: USD, and about what it would have been Without folds; Unpriced requests are in neither.
type Tally = bill.Tally

// Bill reads from the store what requests used and cost.
func (h *Handler) Bill(ctx context.Context) (Bill, error) { return h.rw.Bill(ctx) }

// ReadBill reads the bill that the proxies of a store keep in it.
func ReadBill(ctx context.Context, st store.Store) (Bill, error) {
	return (&bill.Book{Store: st}).Bill(ctx)
}

// SessionStatus describes a session that a proxy has in memory, as of the last time that a request
// finished a step with it: its Key, the Model, how it gets folded content back (Recall), when its
// Last request came, the number of Messages in its transcript and of Folds, in force or not, the
// Snapshot of its view, and what was Spent, in USD by the price list.
type SessionStatus = exchange.Status

// Memory is how many bytes a handler holds, by its own count, and how many it may.
type Memory struct {
	Used  int64 `json:"used"`
	Limit int64 `json:"limit"`
}

// Memory returns what the handler holds; see [Options.Memory].
func (h *Handler) Memory() Memory {
	used, limit := h.rw.Memory()
	return Memory{used, limit}
}
