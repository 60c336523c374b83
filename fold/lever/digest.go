package lever

import (
	"cmp"

	"github.com/pleat-dev/pleat/fold"
)

// Digest folds the oldest turns into one page. Code writes what must survive (the user's
// words, pins, tasks and the ledger); the rest is written by a model and checked, or by
// code where no model can be asked.
type Digest struct {
	Keep   int    `json:"keep,omitempty"`   // newest messages that stay
	Fill   bool   `json:"fill,omitempty"`   // more of them stay where there is room
	Whole  bool   `json:"whole,omitempty"`  // everything is replaced, the newest turns too; not a round that waits for results
	Tokens int    `json:"tokens,omitempty"` // of the page; 0: about half of what is free in a small view
	Words  int    `json:"words,omitempty"`  // most words of the text; 0: no such limit
	Stub   string `json:"stub,omitempty"`   // {n}, {summary}, {handle}; empty: the page alone
	Ack    string `json:"ack,omitempty"`    // assistant message after it; empty: none
	// Spare is how much other levers may hide, one part in so many of the goal, and spare the
	// view a page: of what they hide a page says more than they do. 0: any amount.
	Spare   int          `json:"spare,omitempty"`
	Restore fold.Restore `json:"restore,omitzero"` // what comes back on the page
	Ask     fold.Ask     `json:"ask,omitzero"`     // how a model is asked for it
}

// Name returns "digest".
func (Digest) Name() string { return "digest" }

// Check refuses negative numbers.
func (g Digest) Check() error {
	return cmp.Or(notNegative("keep, tokens, words and spare", g.Keep, g.Tokens, g.Words, g.Spare), g.Restore.Check(), g.Ask.Check())
}

// Asks returns how the model is asked.
func (g Digest) Asks() fold.Ask { return g.Ask }

// Pull folds the oldest turns. When somebody asked, it does so even if there is room.
func (g Digest) Pull(d *fold.Draft) { g.pull(d, g) }

// Ahead returns the digest that the next epoch at red will need.
func (g Digest) Ahead(d *fold.Draft, tokens int) *fold.Need {
	if d.EnoughAhead(tokens, g.Spare) {
		return nil
	}
	start, room := d.Head(), g.room(d)
	end := g.end(d, start, d.PageSize(room)+tokens)
	return d.NeedOf(start, end, room.Total, g.Ask)
}

// Summarize replaces turns by a model's text as it came: the text is neither checked nor
// put beside pleat's page. Where no model can be asked, pleat's page takes its place.
type Summarize Digest

// Name returns "summarize".
func (Summarize) Name() string { return "summarize" }

// Check refuses negative numbers.
func (s Summarize) Check() error { return Digest(s).Check() }

// Asks returns how the model is asked.
func (s Summarize) Asks() fold.Ask { return s.digest().Ask }

// Pull folds turns. When somebody asked, it does so even if there is room.
func (s Summarize) Pull(d *fold.Draft) { s.digest().pull(d, s) }

// Ahead returns nil: a text that is taken as it came must be written for exactly the turns
// that it replaces.
func (s Summarize) Ahead(*fold.Draft, int) *fold.Need { return nil }

func (s Summarize) digest() Digest {
	s.Ask.AsIs = true
	return Digest(s)
}

// pull folds in the name of lever l.
func (g Digest) pull(d *fold.Draft, l fold.Lever) {
	if d.Enough() && d.Trigger != fold.TriggerAsked && (g.Spare == 0 || hidden(d, 0, d.Len()) <= d.Goal/g.Spare) {
		return
	}
	defer d.AllowUnseen(g.Whole)()
	start, end := d.Head(), d.Closed()
	room := g.room(d)
	if !g.Whole {
		end = g.end(d, start, d.PageSize(room))
	}
	if end <= start {
		return // nothing can be folded without cutting a round
	}
	const why = "the oldest turns"
	style := fold.PageStyle{Room: room, Restore: g.Restore, Words: g.Words, Stub: g.Stub, Ack: g.Ack, AsIs: g.Ask.AsIs, Fill: g.Fill}
	told := d.Told(end)
	if told != nil && told.End > end && told.End <= g.last(d) {
		end = d.Back(told.End) // it need not be shown as well
	}
	if g.Fill {
		style.Room = d.PageLeft(room, start, end)
	}
	before := d.Clone()
	if !d.FoldPage(start, end, l, why, style) {
		f := d.Span(d.Widened(start), end, l, why)
		f.Before = d.TokensIn(f.Start, f.End)
		d.Ask(f, room.Total, g.Ask) // code cannot say it in less; a model may
		return
	}
	written := d.LastAdded()
	if d.Ask(written, room.Total, g.Ask); !d.Asked() && told == nil && g.Fill {
		g.useRoom(d, before, l, end, style)
	}
}

// useRoom writes the page once more where it needed less than it was given: more of the
// newest turns can stay, or where the next older ones are too large, the page can say more;
// if it has nothing more to say, older turns stay with what is folded in them.
func (g Digest) useRoom(d, before *fold.Draft, l fold.Lever, end int, style fold.PageStyle) {
	for _, whole := range []bool{true, false} {
		size := d.LastAdded().After
		if !whole {
			d.FillPage()
		}
		if d.Goal-d.Tokens() < d.Goal/10 {
			return
		}
		earlier := digestEnd(before, before.Head(), end, size+size/20, whole)
		if c := before.Clone(); earlier > c.Head() && earlier < end && c.FoldPage(c.Head(), earlier, l, d.LastAdded().Reason, style) && c.Tokens() <= d.Goal && c.Tokens() >= d.Tokens() {
			d.Take(c)
			end = earlier
		}
	}
}

// last is the latest place up to which turns may be digested: what stays in any case comes
// after it, and what no model has seen.
func (g Digest) last(d *fold.Draft) int { return min(d.Tail(g.Keep), d.Unseen()) }

// room is how many tokens its page may take.
func (g Digest) room(d *fold.Draft) fold.PageRoom {
	return fold.PageRoom{Total: pageTokens(d, g.Tokens, g.Words), Files: d.RestoreRoom(g.Restore), Words: d.WordsRoom()}
}

// pageTokens is how many tokens a page may take: as given, or about half of what is free.
func pageTokens(d *fold.Draft, tokens, words int) int {
	if tokens > 0 {
		return tokens
	}
	goal := d.Goal
	if goal == 0 { // as far as the levers go
		goal = d.Limits.Target
	}
	free := goal - d.Fixed()
	share := free / 2
	if d.ByModel() { // a model's text, half of the view, beside what code keeps
		share = max(free*3/5, min((goal-d.Overhead())/2, free*5/6))
	}
	room := max(min(share, fold.MaxPage), 300)
	if words > 0 {
		room = min(room, words*4/3) // English words have about that many tokens
	}
	return room
}

// end picks the place up to which turns are digested, beside a page of so many tokens.
func (g Digest) end(d *fold.Draft, start, page int) int {
	if !g.Fill {
		return g.last(d)
	}
	return digestEnd(d, start, g.last(d), page, true)
}

// digestEnd picks the place up to which turns are digested: last, or as much earlier as the
// goal allows, so that as many of the newest turns as possible stay beside the page, whose
// tokens are given. With whole, what is masked or collapsed in them counts as if it were
// shown: the page tells more of it.
func digestEnd(d *fold.Draft, start, last, page int, whole bool) int {
	n := d.Len()
	room := d.Goal - d.Overhead() - d.TokensIn(0, start) - page
	used := d.TokensIn(last, n)
	for last > start {
		prev := d.Back(last - 1)
		if prev < start {
			break
		}
		cost := d.TokensIn(prev, last)
		if whole {
			cost += hidden(d, prev, last)
		}
		if used+cost > room {
			break
		}
		used += cost
		last = prev
	}
	if last <= start { // everything would fit: then only the older half goes
		last = d.Back(start + (n-start)/2)
	}
	return last
}

// hidden is how many tokens masks and collapsed stretches save in messages start ≤ i < end.
func hidden(d *fold.Draft, start, end int) int {
	n := 0
	for f := range d.FoldsIn(start, end) {
		if f.Lever == (Mask{}).Name() || f.Lever == (Collapse{}).Name() {
			n += f.Before - f.After
		}
	}
	return n
}
