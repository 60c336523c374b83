package lever

import (
	"context"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/transcript"
)

// Squeeze makes a view that fits, without a model, whatever it takes. It gives things up
// in this order: old results, thinking before the user's newest words, length within long
// blocks, turns before the newest round, restored files, key lines, ledger detail, what was
// recalled in a turn that is not over, the same of what else that turn and only another session
// has shown, length of results that no model has seen, the newest round's place in the view, the
// head. It never gives up the newest words of the user.
type Squeeze struct {
	Restore fold.Restore `json:"restore,omitzero"` // what comes back on its pages; zero: nothing
}

// Name returns "squeeze".
func (Squeeze) Name() string { return "squeeze" }

// Check refuses negative numbers.
func (s Squeeze) Check() error { return s.Restore.Check() }

// Fits marks the lever as one that guarantees views that fit.
func (Squeeze) Fits() {}

// The tokens to which squeeze cuts long blocks, step by step, and those of the head.
const (
	cutLong   = 1_500
	cutMiddle = 500
	cutShort  = 120
	cutHead   = 60
)

// leastPage is the number of tokens of a page that has next to no room.
const leastPage = 300

// squeezing is one pull of the lever.
type squeezing struct {
	Squeeze
	ctx   context.Context
	d     *fold.Draft
	allot fold.Allotment
	page  fold.PageRoom
}

// A step of squeezing gives something up.
type step func() error

// Pull squeezes.
func (s Squeeze) Pull(ctx context.Context, d *fold.Draft) error {
	q := &squeezing{Squeeze: s, ctx: ctx, d: d, allot: d.Pages().Allot(0, 0, s.Restore)}
	q.page = q.allot.Page
	if err := q.pull(q.gentle()); err != nil {
		return err
	}
	goal := d.Goal
	defer func() { d.Goal = goal }()
	if d.Goal = d.Most(); !d.Enough() {
		before := d.Marks().Seen
		if d.Allow(fold.Answered); d.Marks().Seen > before {
			recalled := func() error { return q.maskRecalled(before) }
			if err := q.pull(append([]step{recalled}, q.gentle()...)); err != nil {
				return err
			}
		}
	}
	for _, step := range q.hard() {
		if d.Goal = d.Most(); d.Enough() {
			return nil
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (q *squeezing) pull(steps []step) error {
	for _, step := range steps {
		if q.d.Enough() {
			return nil
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// gentle are the steps that leave the newest round alone.
func (q *squeezing) gentle() []step {
	half := fold.PageRoom{Total: q.page.Total / 2, Words: q.page.Words}
	return []step{
		q.maskOlder,
		q.dropThinking,
		func() error { return q.shorten(cutLong) },
		q.foldOlder,
		func() error { q.page.Files = 0; return q.foldOlder() },
		func() error { return q.shorten(cutMiddle) },
		func() error { return q.foldTo(q.d.Marks().Newest, half) },
		func() error { return q.shorten(cutShort) },
	}
}

// hard are the steps at whose end the newest round itself goes, if nothing else helps: first
// the length of what no model has seen, then its place.
func (q *squeezing) hard() []step {
	d := q.d
	half := fold.PageRoom{Total: q.page.Total / 2, Words: q.page.Words, Untold: true}
	least := fold.PageRoom{Total: leastPage, Words: q.page.Words, Plain: true}
	all := func(room fold.PageRoom) step {
		return func() error { return q.foldTo(len(d.Facts()), room) }
	}
	head := func(room fold.PageRoom) step {
		return func() error { return q.fold(d.Facts().Prompt(), len(d.Facts()), room) }
	}
	return []step{
		func() error { return q.foldTo(d.Marks().Newest, q.rest()) },
		func() error { return q.foldTo(d.Marks().Newest, least) },
		func() error { d.Allow(fold.AnyUnseen); return q.shorten(cutLong) },
		func() error { return q.shorten(cutMiddle) },
		func() error { return q.shorten(cutShort) },
		func() error {
			room := fold.PageRoom{Total: d.Limits.Max - d.Fixed() - q.page.Total/8, Words: q.page.Words}
			return q.foldTo(len(d.Facts()), room)
		},
		all(half),
		all(least),
		q.shortenHead,
		head(half),
		head(least),
		head(fold.PageRoom{Total: leastPage, Plain: true}),
		head(fold.PageRoom{Plain: true}),
	}
}

// rest is the room that the head and the newest round leave for a page.
func (q *squeezing) rest() fold.PageRoom {
	d := q.d
	left := d.Limits.Max - d.Fixed() - d.TokensIn(d.Marks().Newest, len(d.Facts()))
	r := fold.PageRoom{Total: left * 9 / 10, Words: q.page.Words, Untold: true}
	r.Total = max(2*r.Total-q.size(r), leastPage) // less what the user's words take beyond it
	return r
}

// size is how many tokens a page may come to in so much room.
func (q *squeezing) size(r fold.PageRoom) int {
	a := q.d.Pages().Allot(0, 0, q.Restore)
	return a.Size(r)
}

// maskOlder folds the results before the newest round.
func (q *squeezing) maskOlder() error { return q.mask(0, q.d.Marks().Newest) }

// maskRecalled folds what was recalled in a turn that began at start and is not over, but for the
// newest: it can be recalled again, and what the turn began with stays whole.
func (q *squeezing) maskRecalled(start int) error {
	at := q.d.Marks()
	for start < at.Newest && q.d.Facts()[start].Role != transcript.RoleAssistant {
		start++
	}
	return q.mask(start, at.Newest)
}

// mask folds the results of messages start ≤ i < end.
func (q *squeezing) mask(start, end int) error {
	d := q.d
	for _, ref := range d.Results() {
		if ref.Message < start {
			continue
		}
		if d.Enough() || ref.Message >= end {
			return nil
		}
		if d.Facts().Block(ref).Fixed || d.Folds().Block(ref) != nil {
			continue
		}
		stub, err := d.Stub(q.ctx, ref, "", "")
		if err != nil {
			return err
		}
		d.FoldBlock(ref, q.Squeeze, "old result, to fit", stub)
	}
	return nil
}

// dropThinking removes the thinking of the turns before the user's newest words. Providers
// allow that; inside an open turn they do not.
func (q *squeezing) dropThinking() error {
	q.d.DropThinking(q.d.Marks().Turn)
	return nil
}

// foldOlder folds the turns before the newest round that have no room beside the page.
func (q *squeezing) foldOlder() error {
	at := q.d.Marks()
	return q.foldTo(digestEnd(q.d, at.Head, at.Newest, q.size(q.page), false), q.page)
}

func (q *squeezing) foldTo(end int, room fold.PageRoom) error {
	start := q.d.Marks().Head
	if !room.Plain && !room.Untold {
		room = q.d.Pages().Beside(q.d.Pages().Allot(0, 0, q.Restore), room, start, end)
	}
	return q.fold(start, end, room)
}

func (q *squeezing) fold(start, end int, room fold.PageRoom) error {
	const narrow = 400 // tokens: user words and ledger only
	if room.Plain = room.Plain || room.Total < narrow; end <= start {
		return nil
	}
	_, err := q.d.Pages().Fold(q.ctx, start, end, q.Squeeze, "to fit", fold.PageStyle{Room: room, Restore: q.Restore})
	return err
}

// shorten cuts the blocks of the messages that are left to about limit tokens each,
// keeping their beginning and end. The newest words of the user stay.
func (q *squeezing) shorten(limit int) error {
	at := q.d.Marks()
	for i := at.Head; i < at.End && !q.d.Enough(); i++ {
		if q.d.Folds().Overlaps(i, i+1) {
			continue
		}
		if err := q.shortenMessage(i, limit); err != nil {
			return err
		}
	}
	return nil
}

// shortenHead cuts the messages before the first answer, except the user's newest words.
func (q *squeezing) shortenHead() error {
	for i := range q.d.Marks().Head {
		if q.d.Facts().System(i) {
			continue
		}
		if err := q.shortenMessage(i, cutHead); err != nil {
			return err
		}
	}
	return nil
}

// shortenMessage cuts the blocks of one message. Of the message with the user's newest words
// only the results that may stand beside them are cut.
func (q *squeezing) shortenMessage(i, limit int) error {
	d := q.d
	newest := i == d.Marks().Typed
	for b, bf := range d.Facts()[i].Blocks {
		if bf.Fixed || int(bf.Tokens) <= limit || newest && bf.Kind != transcript.KindToolResult {
			continue
		}
		ref := transcript.BlockRef{Message: i, Block: b}
		blk, err := d.Source.Block(q.ctx, ref)
		if err != nil {
			return err
		}
		mark := foldedMark(d, bf.Handle.String())
		short := ""
		switch blk := blk.(type) {
		case transcript.ToolCall:
			short = shortInput(blk.Input.String(), limit, d.Count, mark)
		case transcript.Text, transcript.ToolResult:
			short = shortText(transcript.BlockText(blk), limit, d.Count, mark)
		}
		if short != "" {
			d.FoldBlock(ref, q.Squeeze, "shortened to fit", short)
		}
	}
	return nil
}
