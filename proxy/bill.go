package proxy

import (
	"context"

	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/store"
)

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
