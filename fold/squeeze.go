package fold

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// squeeze finds a view that fits without a model, whatever it takes. What is given up
// follows one order: old results, thinking of closed turns, length within long blocks,
// turns before the newest round, restored files, key lines, ledger detail, the newest
// round's place in the view, the head. The newest words of the user are never given up.
func (d *Draft) squeeze() {
	gentle := []func(){
		d.maskAllButNewest,
		d.dropClosedThinking,
		func() { d.shorten(1_500) },
		func() { d.foldOlder(d.pageTokens(), d.restoreRoom()) },
		func() { d.foldOlder(d.pageTokens(), 0) },
		func() { d.shorten(500) },
		func() { d.foldTo(d.newest(), d.pageTokens()/2, 0) },
		func() { d.shorten(120) },
	}
	for _, step := range gentle {
		if d.enough() {
			return
		}
		step()
	}
	// From here on the newest round itself goes: only when nothing else is legal.
	hard := []func(){
		func() { d.foldTo(d.newest(), 300, 0) },
		func() { d.foldTo(d.s.Transcript.Len(), d.pageTokens()/2, 0) },
		func() { d.foldTo(d.s.Transcript.Len(), 300, 0) },
		d.shortenHead,
		func() { d.foldFrom(d.prompt(), d.s.Transcript.Len(), 300) },
		func() { d.foldFrom(d.prompt(), d.s.Transcript.Len(), 0) },
	}
	for _, step := range hard {
		if d.total <= d.lim.Max {
			return
		}
		step()
	}
}

func (d *Draft) maskAllButNewest() {
	newest := d.newest()
	for _, ref := range d.results() {
		if d.enough() || ref.Message >= newest {
			return
		}
		if !d.s.Facts[ref.Message].Blocks[ref.Block].Fixed && d.in.blocks[ref] == nil {
			text, parts := d.stubFor(ref, d.p.Mask.Format, "")
			d.foldBlock(ref, LeverSqueeze, "old result, to fit", text, parts)
		}
	}
}

// dropClosedThinking removes the thinking of turns that ended with the user's newest
// words. Providers allow that; inside an open turn they do not.
func (d *Draft) dropClosedThinking() {
	at := d.lastTyped()
	if at <= d.in.Bare {
		return
	}
	d.setBare(at)
}

// setBare shows messages before i without thinking.
func (d *Draft) setBare(i int) {
	before := 0
	for k := d.in.Bare; k < i; k++ {
		before += d.tokensOf(k)
	}
	old := d.in.Bare
	d.in.Bare = i
	after := 0
	for k := old; k < i; k++ {
		after += d.tokensOf(k)
	}
	d.total += after - before
}

// lastTyped is the newest message that a person typed, or -1.
func (d *Draft) lastTyped() int {
	for i := len(d.s.Facts) - 1; i >= 0; i-- {
		if d.s.Facts[i].Typed {
			return i
		}
	}
	return -1
}

// foldOlder folds turns older than the newest round, as few as will do.
func (d *Draft) foldOlder(room, files int) {
	d.foldTo(d.digestEnd(d.head(), d.newest(), room+files), room, files)
}

func (d *Draft) foldTo(end, room, files int) {
	d.foldFrom(d.head(), end, room, files)
}

func (d *Draft) foldFrom(start, end, room int, files ...int) {
	if end <= start {
		return
	}
	r := PageRoom{Total: max(room, 0), Plain: room < 400}
	if len(files) > 0 {
		r.Files = files[0]
	}
	d.foldPage(start, end, LeverSqueeze, "to fit", r)
}

// shorten cuts the blocks of the messages that are left to about limit tokens each,
// keeping their beginning and end. The newest words of the user stay.
func (d *Draft) shorten(limit int) {
	last := d.lastTyped()
	for i := d.head(); i < d.s.Transcript.Len() && !d.enough(); i++ {
		if i != last && !d.covered(i) {
			d.shortenMessage(i, limit)
		}
	}
}

// shortenHead cuts what stands before the first answer, the newest words apart.
func (d *Draft) shortenHead() {
	last := d.lastTyped()
	for i := range d.head() {
		if i != last && d.s.Facts[i].Role != transcript.RoleSystem && d.s.Facts[i].Role != transcript.RoleDeveloper {
			d.shortenMessage(i, 60)
		}
	}
}

func (d *Draft) shortenMessage(i, limit int) {
	for b := range d.s.Facts[i].Blocks {
		bf := &d.s.Facts[i].Blocks[b]
		ref := transcript.BlockRef{Message: i, Block: b}
		if bf.Fixed || int(bf.Tokens) <= limit {
			continue
		}
		var text string
		switch blk := d.s.Transcript.Block(ref).(type) {
		case transcript.ToolCall:
			text = shortInput(blk.Input.String(), limit, d.count, d.marker(bf))
		case transcript.Text, transcript.ToolResult:
			text = shortText(transcript.BlockText(blk), limit, d.count, d.marker(bf))
		}
		if text == "" {
			continue
		}
		parts := Parts{Stubs: d.count(text)}
		d.foldBlock(ref, LeverSqueeze, "shortened to fit", text, parts)
	}
}

func (d *Draft) marker(bf *conv.BlockFacts) func(cut int) string {
	return func(cut int) string {
		if d.recall == nil {
			return fmt.Sprintf("[… %s folded …]", text.Plural(cut, "byte"))
		}
		return fmt.Sprintf("[… %s folded: %s …]", text.Plural(cut, "byte"), d.recall(bf.Name.String()))
	}
}

// shortText keeps the beginning and the end of a text, with a mark between them, in at
// most about limit tokens.
func shortText(txt string, limit int, count func(string) int, mark func(cut int) string) string {
	total := max(count(txt), 1)
	keep := len(txt) * limit / total
	for keep > 16 {
		head := text.CutText(txt, keep*2/3)
		tail := text.CutEnd(txt, keep/3)
		out := head + "\n" + mark(len(txt)-len(head)-len(tail)) + "\n" + tail
		if count(out) <= limit {
			return out
		}
		keep = keep * 3 / 4
	}
	return mark(len(txt))
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
			short = shortText(text, room/4, count, mark)
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
