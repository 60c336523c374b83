package dash

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/internal/library"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
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
	info, err := h.find(ctx, id)
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
	s, err := h.counted.open(ctx, h.o.Store, key, o)
	return info, s, err
}

// find finds a session, or what another was folded in by pleat compact, which tells its name.
func (h *Handler) find(ctx context.Context, id string) (library.Info, error) {
	info, err := h.o.Library.Find(ctx, id)
	if err != nil || info.ID == id {
		return info, err
	}
	copies, err := h.o.Library.Copies(ctx, info)
	if i := slices.IndexFunc(copies, func(c library.Info) bool { return c.ID == id }); i >= 0 {
		info = copies[i]
	}
	return info, err
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
		s, err := h.counted.open(ctx, h.o.Store, c.Key, c.Look())
		if err != nil {
			return nil, err
		}
		rep := s.Report()
		list = append(list, compacted{c, rep.Whole, rep.Snapshot.Tokens, len(rep.Folds)})
	}
	return list, err
}

// sessionPage is what a session's page shows.
type sessionPage struct {
	Snapshot fold.Snapshot
	Now      int            // tokens in the window, system prompt and tools included
	Whole    int            // tokens of the whole session, likewise
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
	Folds    []foldRow
	Pager    pager
}

// size is how many tokens a session had when it was counted.
type size struct {
	modified time.Time
	tokens   int
}

// overTime is a row of the table beside the chart of the window.
type overTime struct{ Message, Shown, Whole int }

func (h *Handler) session(r *http.Request, f *frame, s *pleat.Session) error {
	rep := s.Report()
	if f.Item.Of != "" { // it is folded once
		rep.Snapshot.Limits.Red = 0
	}
	parts := rep.Snapshot.Parts
	parts.System, parts.Tools = headOf(s, rep), 0
	p := &sessionPage{
		Snapshot: rep.Snapshot, Now: rep.Snapshot.Tokens, Whole: rep.Whole, Messages: rep.Messages,
		Epochs: slices.Clone(rep.Epochs), InForce: len(rep.Folds), Parts: partsOf(parts),
	}
	var err error
	if p.Agent, err = h.own(r.Context(), f, s); err != nil {
		return err
	}
	if p.Copies, err = h.compacted(r.Context(), *f.Item); err != nil {
		return err
	}
	h.mu.Lock()
	h.sizes[f.Item.ID] = size{f.Item.Modified, p.Whole}
	h.mu.Unlock()
	slices.Reverse(p.Epochs)
	p.Opened = len(p.Epochs)
	p.Epochs = p.Epochs[:min(len(p.Epochs), 100)]
	b, err := h.bill(r.Context())
	if err != nil {
		return err
	}
	key := s.Key()
	for _, row := range b.Rows {
		if row.Tenant == key.Tenant && row.Session == key.Session {
			p.Bill = row
		}
	}
	p.Window, p.Over = windowOver(s, rep, p.Agent)
	calls := s.Ledger(ledger.Filter{})
	p.Tools = toolsOf(calls, rep)
	folds, pg := pageOf(rep.Folds, number(r.URL.Query().Get("from")), listRows, func(from int) string {
		return link("session", "s", f.Item.ID, "from", from) + "#folds"
	})
	p.Folds, p.Pager = foldRows(folds, s), pg
	f.Title, f.Body = "Session", p
	return nil
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

// headOf is how large the system prompt and the tools were. A stored session does not say,
// but its first epoch does.
func headOf(s *pleat.Session, rep pleat.Report) int {
	head := rep.Snapshot.Parts.System + rep.Snapshot.Parts.Tools
	if len(rep.Folds) == 0 { // some of that may be messages
		head = rep.Snapshot.Parts.Total() - s.Tokens(0, rep.Messages)
	}
	if len(rep.Epochs) > 0 {
		first := rep.Epochs[0]
		head = max(head, first.Before-s.Tokens(0, min(first.Messages, rep.Messages)))
	}
	return head
}

// windowOver follows the window over the messages: it grows with each, and an epoch is a step.
// Of a session that an agent compacted by itself the requests say how full it was.
func windowOver(s *pleat.Session, rep pleat.Report, own library.Window) (plot, []overTime) {
	shown, whole := viewsOver(s, rep)
	lim := rep.Snapshot.Limits
	if len(own.Requests) > 0 {
		shown, lim = shown[:0], fold.Limits{Window: own.Size}
		for i, n := range own.Requests {
			shown = append(shown, point{own.At[i], n})
		}
	}
	most, all := 0, whole[len(whole)-1].y
	for _, p := range shown {
		most = max(most, p.y)
	}
	top := most
	folded := len(rep.Epochs) > 0 || len(own.Requests) > 0
	if folded {
		top = max(top, all)
	}
	top = roomAbove(max(top, min(lim.Window, 3*top/2)))
	p := plot{
		ID: "window", Title: "Window over time", Top: top, TopName: short(top), HalfName: short(top / 2),
		From: "message 1", To: fmt.Sprintf("message %d", rep.Messages),
	}
	if folded {
		p.Lines = append(p.Lines, polyline(whole, rep.Messages, top, "whole", false))
	}
	p.Lines = append(p.Lines, polyline(shown, rep.Messages, top, "shown", true))
	p.Levels = levelAt(p.Levels, "window", "edge", lim.Window, top)
	p.Levels = levelAt(p.Levels, "folding is forced", "red", lim.Red, top)
	p.Desc = fmt.Sprintf("Tokens in the window over %d messages: %s at the end, %s at most, "+
		"where the whole session takes %s. %d epochs folded something.",
		rep.Messages, short(shown[len(shown)-1].y), short(most), short(all), len(rep.Epochs))
	return p, tableOver(shown, whole)
}

// viewsOver is what a model was shown after each message, by the epochs, and all that was said.
func viewsOver(s *pleat.Session, rep pleat.Report) (shown, whole []point) {
	now, next := headOf(s, rep), 0
	all := now
	stored := make(map[int]int) // by message: tokens of results that were stored as they came
	for _, f := range s.Folds() {
		if f.Lever == "spill" {
			stored[f.Start] += f.Before - f.After
		}
	}
	shown, whole = []point{{0, now}}, []point{{0, all}}
	for i := range rep.Messages + 1 {
		if i > 0 {
			n := s.Tokens(i-1, i)
			now, all = now+n-stored[i-1], all+n
			shown, whole = append(shown, point{i, now}), append(whole, point{i, all})
		}
		for ; next < len(rep.Epochs) && rep.Epochs[next].Messages <= i; next++ {
			e := rep.Epochs[next]
			shown, now = append(shown, point{i, e.Before}, point{i, e.After}), e.After
		}
	}
	return shown, whole
}

// tableOver picks rows for the table: about twenty, and those around every step.
func tableOver(shown, whole []point) (rows []overTime) {
	points := thin(shown, 20)
	for _, p := range points[:min(len(points), 200)] {
		rows = append(rows, overTime{p.x, p.y, whole[p.x].y})
	}
	return rows
}

// partsOf lists what a view is made of, the largest first.
func partsOf(p fold.Parts) []share {
	list := []share{
		{Name: "System messages and tools", Tokens: p.System + p.Tools},
		{Name: "User", Tokens: p.User},
		{Name: "Assistant", Tokens: p.Assistant},
		{Name: "Thinking", Tokens: p.Thinking},
		{Name: "Tool calls", Tokens: p.Calls},
		{Name: "Tool results", Tokens: p.Results},
		{Name: "Images and other", Tokens: p.Other},
		{Name: "Stubs of folds", Tokens: p.Stubs},
		{Name: "Page: the user's words", Tokens: p.Pins},
		{Name: "Page: what was done", Tokens: p.Ledger},
		{Name: "Page: the rest", Tokens: p.Digest},
	}
	list = slices.DeleteFunc(list, func(s share) bool { return s.Tokens == 0 })
	slices.SortStableFunc(list, func(a, b share) int { return b.Tokens - a.Tokens })
	for i := range list {
		list[i].Of = p.Total()
	}
	return list
}

// toolShare is what the calls of a tool take.
type toolShare struct {
	Name   string
	Calls  int
	Failed int
	Shown  int64 // bytes of results in the window
	Folded int64 // and of those that are folded
	of     int64
}

// Share is the row's bar.
func (t toolShare) Share() share { return share{Tokens: int(t.Shown), Of: int(t.of)} }

// toolsOf adds up results by tool, those that fill the window first.
func toolsOf(calls []ledger.Entry, rep pleat.Report) []toolShare {
	m := make(map[string]*toolShare)
	for i := range calls {
		c := &calls[i]
		t := m[c.Tool]
		if t == nil {
			t = &toolShare{Name: c.Tool}
			m[c.Tool] = t
		}
		t.Calls++
		if c.Outcome == toolcall.Failed {
			t.Failed++
		}
		if c.Outcome != toolcall.Unanswered && library.Hiding(rep.Folds, c.Result) != nil {
			t.Folded += int64(c.Bytes)
		} else {
			t.Shown += int64(c.Bytes)
		}
	}
	var list []toolShare
	all := int64(0)
	for _, t := range m {
		list, all = append(list, *t), all+t.Shown
	}
	slices.SortFunc(list, func(a, b toolShare) int {
		return cmp.Or(cmp.Compare(b.Shown, a.Shown), cmp.Compare(b.Folded, a.Folded), cmp.Compare(a.Name, b.Name))
	})
	list = list[:min(len(list), 15)]
	for i := range list {
		list[i].of = all
	}
	return list
}

// foldRow is a fold in a list.
type foldRow struct {
	*fold.Fold
	Where string // messages, from 1
	What  string
	Saves int
}

// foldRows describes folds: single results by the call that they answer.
func foldRows(folds []*fold.Fold, s *pleat.Session) []foldRow {
	whats := library.Whats(s)
	rows := make([]foldRow, 0, len(folds))
	for _, f := range folds {
		row := foldRow{Fold: f, Where: fmt.Sprintf("%d–%d", f.Start+1, f.End), Saves: f.Before - f.After}
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
