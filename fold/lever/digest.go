package lever

import (
	"cmp"
	"context"

	"github.com/pleat-dev/pleat/fold"
)

// Digest folds the oldest turns into one page. Code writes what must survive (the user's
// words, pins, tasks and the ledger); the rest is written by a model and checked, or by
// code where no model can be asked.
type Digest struct {
	Keep   int    `json:"keep,omitempty"`   // newest messages that stay, of Whole beside notes; 0: none but an open round
	Fill   bool   `json:"fill,omitempty"`   // more of them stay where there is room
	Whole  bool   `json:"whole,omitempty"`  // everything is replaced but a round that waits for results
	Tokens int    `json:"tokens,omitempty"` // of the page; 0: half of what is free, with a model's digest nearly all
	Words  int    `json:"words,omitempty"`  // most words of a page by code; 0: no such limit
	Stub   string `json:"stub,omitempty"`   // {n}, {summary}, {handle}; empty: the page alone
	Ack    string `json:"ack,omitempty"`    // assistant message after it; empty: none
	// Spare is how much other levers may hide and spare the view a page, goal/spare tokens: of
	// what they hide a page says more than they do. 0: any amount.
	Spare   int          `json:"spare,omitempty"`
	Restore fold.Restore `json:"restore,omitzero"` // what comes back on the page; zero: nothing
	Ask     fold.Ask     `json:"ask,omitzero"`     // how a model is asked for it; zero: as docs/digest.md says
}

// Name returns "digest".
func (Digest) Name() string { return "digest" }

// Check refuses negative numbers and blank texts.
func (g Digest) Check() error {
	numbers := fold.CheckNumbers("keep, tokens, words and spare", g.Keep, g.Tokens, g.Words, g.Spare)
	return cmp.Or(numbers, g.Restore.Check(), g.Ask.Check(), notBlank("stub", g.Stub), notBlank("ack", g.Ack))
}

// Asks returns how the model is asked.
func (g Digest) Asks() fold.Ask { return g.Ask }

// Pull folds the oldest turns. When somebody asked, it does so even if there is room.
func (g Digest) Pull(ctx context.Context, d *fold.Draft) error { return g.pull(ctx, d, g) }

// Ahead asks for the digest that the next epoch at red will need, unless what is folded so far
// will be enough then.
func (g Digest) Ahead(d *fold.Draft, tokens int) {
	shrunk := d.Tokens() + tokens*d.Tokens()/max(d.Before, 1) // what comes shrinks as much
	hides := d.Before + tokens - d.Goal
	if shrunk <= d.Goal && (g.Spare == 0 || hides <= d.Goal/g.Spare) {
		return
	}
	start, a := d.Marks().Head, g.allot(d)
	end := g.end(d, a, start, tokens)
	d.Pages().Ask(a, start, end, d.TokensIn(start, end)+tokens, g.Ask)
}

// Summarize replaces turns by a model's text as it came: the text is neither checked nor
// put beside pleat's page. Where no model can be asked, pleat's page takes its place.
type Summarize Digest

// Name returns "summarize".
func (Summarize) Name() string { return "summarize" }

// Check refuses what that of [Digest] does.
func (s Summarize) Check() error { return Digest(s).Check() }

// Asks returns how the model is asked.
func (s Summarize) Asks() fold.Ask { return s.digest().Ask }

// Pull folds turns. When somebody asked, it does so even if there is room.
func (s Summarize) Pull(ctx context.Context, d *fold.Draft) error { return s.digest().pull(ctx, d, s) }

// Ahead asks for nothing: a text that is taken as it came must be written for exactly the turns
// that it replaces.
func (s Summarize) Ahead(*fold.Draft, int) {}

func (s Summarize) digest() Digest {
	s.Ask.AsIs = true
	return Digest(s)
}

// pull folds in the name of lever l.
func (g Digest) pull(ctx context.Context, d *fold.Draft, l fold.Lever) error {
	if d.Enough() && d.Trigger != fold.TriggerAsked &&
		(g.Spare == 0 || hidden(d, 0, len(d.Facts())) <= d.Goal/g.Spare) {
		return nil
	}
	if g.Whole {
		defer d.Allow(fold.AnyUnseen)()
	}
	at, a, pages := d.Marks(), g.allot(d), d.Pages()
	start, end := at.Head, at.Closed
	if !g.Whole {
		end = g.end(d, a, start, 0)
	}
	if end <= start {
		return nil // nothing can be folded without cutting a round
	}
	style := fold.PageStyle{
		Room: a.Page, Restore: g.Restore, Words: g.Words, Stub: g.Stub, Ack: g.Ack, AsIs: g.Ask.AsIs, Fill: g.Fill,
	}
	told := pages.Told(end)
	if told != nil && told.End > end && told.End <= max(g.last(d), tellable(d)) {
		end = d.Back(told.End) // it need not be shown as well
	}
	if g.Fill {
		style.Room = pages.Beside(a, a.Page, start, end)
	}
	if done, err := g.byNotes(ctx, d, l, style); done || err != nil {
		return err
	}
	before := d.Clone()
	if g.Ask.AsIs { // the model reads what the levers before this one left
		start, end = d.Fit(start, end)
		pages.Ask(a, start, end, d.TokensIn(start, end), g.Ask)
	}
	f, err := pages.Fold(ctx, start, end, l, oldest, style)
	if err != nil {
		return err
	}
	if g.Ask.AsIs {
		return nil
	}
	if f == nil { // code cannot say it in less; a model may
		start, _ := d.Fit(start, end)
		pages.Ask(a, start, end, d.TokensIn(start, end), g.Ask)
		return nil
	}
	if asked := pages.Ask(a, f.Start, f.End, f.Before, g.Ask); asked || !g.Fill {
		return nil
	}
	return g.useRoom(ctx, d, before, l, end, style)
}

// byNotes lets the notes since the last summary stand for the turns since, if they say enough and the view
// need not become smaller. The first message, that summary and the newest turns stay.
func (g Digest) byNotes(ctx context.Context, d *fold.Draft, l fold.Lever, style fold.PageStyle) (bool, error) {
	if style.Notes = g.Ask.Notes; style.Notes == 0 || !g.Ask.AsIs {
		return false, nil
	}
	c, at := d.Clone(), d.Marks()
	f, err := c.Pages().Fold(ctx, at.Opening, min(g.last(d), at.Closed), l, "the notes tell of them", style)
	if err != nil || f == nil || !c.Enough() && d.Trigger != fold.TriggerAsked {
		return false, err
	}
	*d = *c
	return true, nil
}

// oldest is why turns are digested.
const oldest = "the oldest turns"

// useRoom writes the page once more where it needed less than it was given: more of the
// newest turns can stay, or where the next older ones are too large, the page can say more;
// if it has nothing more to say, older turns stay with what is folded in them. Beside a model's digest
// less room is left over.
func (g Digest) useRoom(
	ctx context.Context, d, before *fold.Draft, l fold.Lever, end int, style fold.PageStyle,
) error {
	head, by, least := before.Marks().Head, lastAdded(d).By, d.Goal/10
	if by == "model" {
		least = d.Goal / 50
	}
	for _, whole := range []bool{true, false} {
		size := lastAdded(d).After
		if !whole {
			if err := d.Pages().Fill(ctx); err != nil {
				return err
			}
		}
		if d.Goal-d.Tokens() < least {
			return nil
		}
		earlier := digestEnd(before, head, end, size+size/20, whole)
		if earlier <= head || earlier >= end {
			continue
		}
		c := before.Clone()
		if by == "model" {
			style.Room = c.Pages().Beside(g.allot(c), g.allot(c).Page, head, earlier)
		}
		f, err := c.Pages().Fold(ctx, head, earlier, l, oldest, style)
		if err != nil {
			return err
		}
		if f != nil && f.By == by && c.Tokens() <= d.Goal && c.Tokens() >= d.Tokens() {
			*d, end = *c, earlier
		}
	}
	return nil
}

func lastAdded(d *fold.Draft) *fold.Fold {
	added := d.Added()
	return added[len(added)-1]
}

// last is the latest place up to which turns may be digested: what stays in any case comes
// after it, and what no model has seen.
func (g Digest) last(d *fold.Draft) int { return min(tail(d, g.Keep), d.Marks().Unseen) }

func (g Digest) allot(d *fold.Draft) fold.Allotment {
	return d.Pages().Allot(g.Tokens, g.Words, g.Restore)
}

// end picks the place up to which turns are digested, where so many tokens are still to come.
// What a model writes tells more of the newest turns than can be left of them where they do not
// fit beside it, so it tells them too.
func (g Digest) end(d *fold.Draft, a fold.Allotment, start, tokens int) int {
	last := g.last(d)
	if !g.Fill {
		return last
	}
	page := a.Size(a.Page) + tokens
	if a.ByModel() {
		room := d.Goal - d.Fixed() - page
		for i, most := last+1, tellable(d); i <= most && d.TokensIn(last, len(d.Facts())) > room; i++ {
			if d.Back(i) == i {
				last = i
			}
		}
	}
	return digestEnd(d, start, last, page, true)
}

// tellable is the latest place up to which a model may tell turns: the newest round stays.
func tellable(d *fold.Draft) int { return min(d.Marks().Newest, d.Marks().Unseen) }

// digestEnd picks the place behind the head up to which turns are digested: last, or as much earlier as the
// goal allows, so that as many of the newest turns as possible stay beside the page, whose
// tokens are given. With whole, what is masked or collapsed in them counts as if it were
// shown: the page tells more of it.
func digestEnd(d *fold.Draft, start, last, page int, whole bool) int {
	n := len(d.Facts())
	room := d.Goal - d.Fixed() - page
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

// hidden is how many tokens folds of which a page would say more save in messages
// start ≤ i < end.
func hidden(d *fold.Draft, start, end int) int {
	n := 0
	for f := range d.Folds().In(start, end) {
		if !f.Final && f.By == "" {
			n += f.Before - f.After
		}
	}
	return n
}
