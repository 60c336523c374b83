package dash

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// ofSession opens the session that a request names.
func (h *Handler) ofSession(page func(*http.Request, *frame, *pleat.Session) error) func(*http.Request, *frame) error {
	return func(r *http.Request, f *frame) error {
		info, s, err := h.open(r.Context(), r.URL.Query().Get("s"))
		if err != nil {
			return err
		}
		if f.Item = &info; info.Of == "" { // else nothing adds to it
			f.Live = link("live", "s", info.ID)
		}
		return page(r, f, s)
	}
}

func (h *Handler) open(ctx context.Context, id string) (library.Info, *pleat.Session, error) {
	if id == "" {
		return library.Info{}, nil, errNoSession
	}
	info, err := h.o.Library.Find(ctx, id)
	if err != nil {
		return info, nil, err
	}
	key, err := h.o.Library.Bring(ctx, info)
	if err != nil {
		return info, nil, err
	}
	if info.File != "" && info.Model == "" { // reading it has told more
		if info, err = h.o.Library.Find(ctx, info.ID); err != nil {
			return info, nil, err
		}
	}
	o := info.Look()
	if w := h.o.Window; w > 0 && o.Budget.Window == 0 && (len(o.Model.Prices) == 0 || o.Model.Window > w) {
		o.Model.Window = w
	}
	s, err := h.o.Library.Reader(ctx, key, o)
	return info, s, err
}

// compacted is what pleat compact made of a session.
type compacted struct {
	library.Info
	Before, After, Folds int
}

// mostCompacted is how many of them a page tells of: each has to be read.
const mostCompacted = 5

func (h *Handler) compacted(ctx context.Context, of library.Info) (list []compacted, err error) {
	copies, err := h.o.Library.Copies(ctx, of)
	for _, c := range copies[:min(len(copies), mostCompacted)] {
		s, err := h.o.Library.Reader(ctx, c.Key, c.Look())
		if err != nil {
			return nil, err
		}
		if rep := library.Report(s); len(rep.Folds) > 0 { // else a later run took them back
			list = append(list, compacted{c, rep.Whole, int(rep.Snapshot.Tokens), len(rep.Folds)})
		}
	}
	return list, err
}

// sessionPage is what a session's page shows.
type sessionPage struct {
	Snapshot fold.Snapshot
	Now      int            // the provider's tokens in the window, system prompt and tools included
	Counts   float64        // how many tokens the provider counts where pleat counts one; 0: about one
	Whole    int            // tokens of the whole session, likewise
	Head     int            // of the system prompt and the tools, by pleat's count
	Agent    library.Window // of the agent's own requests, if it left a file and pleat did not fold
	Copies   []compacted    // newest first
	Messages int
	Epochs   []pleat.Epoch // newest first
	Opened   int           // epochs in all
	InForce  int
	Bill     bill.Row
	Window   plot
	Over     []overTime // the same as a table
	Parts    []share
	Tools    []toolShare
	Shown    int64 // bytes of results in the window
	Folds    []foldRow
	Pager    pager
}

func (h *Handler) session(r *http.Request, f *frame, s *pleat.Session) error {
	rep, own := library.Report(s), s.Report()
	if f.Item.Of != "" {
		asCompacted(&rep)
		asCompacted(&own)
	}
	parts := rep.Snapshot.Parts
	head := parts.System + parts.Tools
	parts.System, parts.Tools = head, 0
	p := &sessionPage{
		Snapshot: rep.Snapshot, Now: int(rep.Snapshot.Tokens), Whole: rep.Whole, Head: head, Messages: rep.Messages,
		Epochs: rep.Epochs, InForce: len(rep.Folds), Counts: float64(rep.Whole) / float64(max(own.Whole, 1)),
	}
	if math.Abs(p.Counts-1) < 0.05 {
		p.Counts = 0
	}
	typed, err := typed(r.Context(), s, rep.Folds, h.o.Library.Counter(f.Item.Look().Model))
	if err != nil {
		return err
	}
	p.Parts = partsOf(parts, typed, int(inside.Of(s).ProviderTokens(parts.Total())))
	if p.Agent, err = h.own(r.Context(), f, s); err != nil {
		return err
	}
	if p.Copies, err = h.compacted(r.Context(), *f.Item); err != nil {
		return err
	}
	h.o.Library.Counted(*f.Item, rep.Whole)
	slices.Reverse(p.Epochs)
	p.Opened = len(p.Epochs)
	p.Epochs = p.Epochs[:min(len(p.Epochs), 100)]
	b, err := h.bill(r.Context())
	if err != nil {
		return err
	}
	p.Bill = rowOf(b, s.Key())
	p.Window, p.Over = windowOver(s, own, p.Agent)
	calls := s.Ledger(ledger.Filter{})
	p.Tools, p.Shown = toolsOf(calls, rep)
	folds, pg := pageOf(rep.Folds, number(r.URL.Query().Get("from")), listRows, func(from int) string {
		return link("session", "s", f.Item.ID, "from", from) + "#folds"
	})
	p.Folds, p.Pager = foldRows(folds, s), pg
	f.Title, f.Body = "Session", p
	return nil
}

// asCompacted changes the report of what pleat compact made. Each time it was asked for, all was
// undone first and folded once, to the budget of that time.
func asCompacted(rep *pleat.Report) {
	lim := &rep.Snapshot.Limits
	if lim.Red = 0; len(rep.Epochs) > 0 {
		window := cmp.Or(rep.Epochs[len(rep.Epochs)-1].Window, int(lim.Window))
		lim.Window = tokens.Reported(library.Fitted(window))
	}
	rep.Epochs = slices.DeleteFunc(rep.Epochs, func(e pleat.Epoch) bool { return e.Undo })
	for i := range rep.Epochs {
		rep.Epochs[i].Trigger = fold.TriggerAsked
	}
}

// own is the window of the agent that left the session's file, if pleat did not fold it.
func (h *Handler) own(ctx context.Context, f *frame, s *pleat.Session) (library.Window, error) {
	if f.Item.File == "" || len(s.Report().Epochs) > 0 {
		return library.Window{}, nil
	}
	return h.o.Library.Window(ctx, *f.Item, func(i int) int { return s.Tokens(i, i+1) })
}

// Saved is how many tokens of the session the window does not hold.
func (p *sessionPage) Saved() int { return max(p.Whole-p.Now, 0) }

// foldRow is a fold in a list.
type foldRow struct {
	*fold.Fold
	Where string // messages, from 1
	What  string
}

// foldRows describes folds: single results by the call that they answer.
func foldRows(folds []*fold.Fold, s *pleat.Session) []foldRow {
	whats := library.Whats(s)
	rows := make([]foldRow, 0, len(folds))
	for _, f := range folds {
		row := foldRow{Fold: f, Where: fmt.Sprintf("%d–%d", f.Start+1, f.End)}
		if !f.Whole() || f.End <= f.Start+1 {
			row.Where = fmt.Sprint(f.Start + 1)
		}
		if !f.Whole() {
			row.What = whats[transcript.BlockRef{Message: f.Start, Block: f.Block}]
		}
		rows = append(rows, row)
	}
	return rows
}
