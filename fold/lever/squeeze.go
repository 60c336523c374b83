package lever

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// Squeeze makes a view that fits, without a model, whatever it takes. It gives things up
// in this order: old results, thinking before the user's newest words, length within long
// blocks, turns before the newest round, restored files, key lines, ledger detail, the same of what
// only another session has shown, length of results that no model has seen, the newest
// round's place in the view, the head. It never gives up the newest words of the user.
type Squeeze struct {
	Restore fold.Restore `json:"restore,omitzero"` // on its pages
}

// Name returns "squeeze".
func (Squeeze) Name() string { return "squeeze" }

// Check refuses negative numbers.
func (s Squeeze) Check() error { return s.Restore.Check() }

// Fits marks the lever as one that guarantees views that fit.
func (Squeeze) Fits() {}

// Pull squeezes.
func (s Squeeze) Pull(d *fold.Draft) {
	page := fold.PageRoom{Total: pageTokens(d, 0, 0), Files: d.RestoreRoom(s.Restore), Words: d.WordsRoom()}
	half, least := fold.PageRoom{Total: page.Total / 2, Words: page.Words}, fold.PageRoom{Total: 300, Words: page.Words, Plain: true}
	older := func(room fold.PageRoom) {
		s.foldTo(d, digestEnd(d, d.Head(), d.Newest(), d.PageSize(room), false), room)
	}
	gentle := []func(){
		func() { s.maskOlder(d) },
		func() { s.dropThinking(d) },
		func() { s.shorten(d, 1_500) },
		func() { older(page) },
		func() { page.Files = 0; older(page) },
		func() { s.shorten(d, 500) },
		func() { s.foldTo(d, d.Newest(), half) },
		func() { s.shorten(d, 120) },
	}
	pull := func(steps []func()) {
		for _, step := range steps {
			if d.Enough() {
				return
			}
			step()
		}
	}
	pull(gentle)
	goal := d.Goal
	defer func() { d.Goal = goal }()
	if d.Goal = d.Limits.Max - d.PinsRoom(); !d.Enough() && d.AllowAnswered() {
		pull(gentle)
	}
	// After the next step the newest round itself goes, which nothing else can prevent: first
	// the length of what no model has seen, then its place.
	half.Untold = true
	hard := []func(){
		func() { s.foldTo(d, d.Newest(), s.rest(d, page.Words)) },
		func() { s.foldTo(d, d.Newest(), least) },
		func() { d.AllowUnseen(true); s.shorten(d, 1_500) },
		func() { s.shorten(d, 500) },
		func() { s.shorten(d, 120) },
		func() {
			s.foldTo(d, d.Len(), fold.PageRoom{Total: d.Limits.Max - d.Fixed() - page.Total/8, Words: page.Words})
		},
		func() { s.foldTo(d, d.Len(), half) },
		func() { s.foldTo(d, d.Len(), least) },
		func() { s.shortenHead(d) },
		func() { s.fold(d, d.Prompt(), d.Len(), half) },
		func() { s.fold(d, d.Prompt(), d.Len(), least) },
		func() { s.fold(d, d.Prompt(), d.Len(), fold.PageRoom{Total: 300, Plain: true}) },
		func() { s.fold(d, d.Prompt(), d.Len(), fold.PageRoom{Plain: true}) },
	}
	for _, step := range hard {
		if d.Goal = d.Limits.Max - d.PinsRoom(); d.Enough() {
			return
		}
		step()
	}
}

// rest is the room that the head and the newest round leave for a page.
func (Squeeze) rest(d *fold.Draft, words int) fold.PageRoom {
	r := fold.PageRoom{Total: (d.Limits.Max - d.Fixed() - d.TokensIn(d.Newest(), d.Len())) * 9 / 10, Words: words, Untold: true}
	r.Total = max(2*r.Total-d.PageSize(r), 300) // less what the user's words take beyond it
	return r
}

// maskOlder folds the results before the newest round.
func (s Squeeze) maskOlder(d *fold.Draft) {
	newest := d.Newest()
	for _, ref := range d.Results() {
		if d.Enough() || ref.Message >= newest {
			return
		}
		if !d.Facts(ref).Fixed && d.Folded(ref) == nil {
			d.FoldBlock(ref, s, "old result, to fit", d.Stub(ref, "", ""))
		}
	}
}

// dropThinking removes the thinking of the turns before the user's newest words. Providers
// allow that; inside an open turn they do not.
func (Squeeze) dropThinking(d *fold.Draft) {
	if at := d.Turn(); at > d.Bare() {
		d.SetBare(at)
	}
}

func (s Squeeze) foldTo(d *fold.Draft, end int, room fold.PageRoom) {
	if !room.Plain && !room.Untold {
		room = d.PageLeft(room, d.Head(), end)
	}
	s.fold(d, d.Head(), end, room)
}

func (s Squeeze) fold(d *fold.Draft, start, end int, room fold.PageRoom) {
	if room.Plain = room.Plain || room.Total < 400; end > start {
		d.FoldPage(start, end, s, "to fit", fold.PageStyle{Room: room, Restore: s.Restore})
	}
}

// shorten cuts the blocks of the messages that are left to about limit tokens each,
// keeping their beginning and end. The newest words of the user stay.
func (s Squeeze) shorten(d *fold.Draft, limit int) {
	for i := d.Head(); i < d.Len() && !d.Enough(); i++ {
		if !d.Covered(i) {
			s.shortenMessage(d, i, limit)
		}
	}
}

// shortenHead cuts the messages before the first answer, except the user's newest words.
func (s Squeeze) shortenHead(d *fold.Draft) {
	for i := range d.Head() {
		if r := d.Message(i).Role; r != transcript.RoleSystem && r != transcript.RoleDeveloper {
			s.shortenMessage(d, i, 60)
		}
	}
}

// shortenMessage cuts the blocks of one message. Of the message with the user's newest words
// only the results that may stand beside them are cut.
func (s Squeeze) shortenMessage(d *fold.Draft, i, limit int) {
	newest := i == d.LastTyped()
	for b := range d.Message(i).Blocks {
		ref := transcript.BlockRef{Message: i, Block: b}
		bf := d.Facts(ref)
		if bf.Fixed || int(bf.Tokens) <= limit || newest && bf.Kind != transcript.KindToolResult {
			continue
		}
		mark := foldedMark(d, bf.Name.String())
		short := ""
		switch blk := d.Block(ref).(type) {
		case transcript.ToolCall:
			short = shortInput(blk.Input.String(), limit, d.Count, mark)
		case transcript.Text, transcript.ToolResult:
			short = shortText(transcript.BlockText(blk), limit, d.Count, mark)
		}
		if short != "" {
			d.FoldBlock(ref, s, "shortened to fit", short)
		}
	}
}

// foldedMark returns what stands where a number of bytes was cut out of a block.
func foldedMark(d *fold.Draft, handle string) func(cut int) string {
	how := d.Recall(handle)
	if how != "" {
		how = ": " + how
	}
	return func(cut int) string { return fmt.Sprintf("[… %s folded%s …]", text.Plural(cut, "byte"), how) }
}

// shortText keeps the beginning and the end of a text, with a mark between them, in at
// most about limit tokens, or only the first words where the mark alone takes that many. It
// returns "" if that is no shorter.
func shortText(txt string, limit int, count func(string) int, mark func(cut int) string) string {
	total := max(count(txt), 1)
	keep := len(txt) * limit / total
	for keep > 16 {
		head := text.CutText(txt, keep*2/3)
		tail := text.CutEnd(txt, keep/3)
		out := head + "\n" + mark(len(txt)-len(head)-len(tail)) + "\n" + tail
		if count(out) <= limit {
			if len(out) >= len(txt) { // a few tokens less, and nothing is won
				return ""
			}
			return out
		}
		keep = keep * 9 / 10
	}
	head := text.CutText(txt, 48) // a mark that tells nothing of what it stands for is no use
	if out := head + "\n" + mark(len(txt)-len(head)); count(out) < total {
		return out
	}
	return ""
}

// shortInput shortens the long values of a call's input and keeps it valid JSON, because
// the wires demand that. An input that is no JSON object is shortened as text.
func shortInput(input string, limit int, count func(string) int, mark func(cut int) string) string {
	data := []byte(input)
	var c jsonspan.Cursor
	c.Reset(data, jsonspan.Limits{})
	if c.Kind() != jsonspan.Object {
		if jsonspan.Value(data).Valid(jsonspan.Invalid) != nil {
			return shortText(input, limit, count, mark)
		}
		return string(jsonspan.AppendQuote(nil, mark(len(input))))
	}
	var edits []jsonspan.Edit
	room := max(limit*2, 64) // bytes for each value
	c.Object()
	for _, ok := c.NextKey(); ok; _, ok = c.NextKey() {
		kind := c.Kind()
		span := c.Skip()
		if span.Len() <= room {
			continue
		}
		short := mark(span.Len())
		if text, ok := jsonspan.Unquote(span.Of(data)); ok && kind == jsonspan.String {
			if short = shortText(text, room/4, count, mark); short == "" {
				continue
			}
		}
		edits = append(edits, jsonspan.Edit{Span: span, With: jsonspan.AppendQuote(nil, short)})
	}
	if c.End() != nil {
		return `{"folded":` + string(jsonspan.AppendQuote(nil, mark(len(input)))) + `}`
	}
	out, err := jsonspan.Splice(data, edits)
	if err != nil || count(string(out)) > 2*limit {
		return `{"folded":` + string(jsonspan.AppendQuote(nil, mark(len(input)))) + `}`
	}
	return strings.Clone(string(out))
}
