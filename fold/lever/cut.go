package lever

import (
	"context"
	"fmt"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

func blockText(ctx context.Context, d *fold.Draft, ref transcript.BlockRef) (string, error) {
	b, err := d.Source.Block(ctx, ref)
	if err != nil {
		return "", err
	}
	return transcript.BlockText(b), nil
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
	c.Reset(data)
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
	if c.End() == nil {
		if out, err := jsonspan.Splice(data, edits); err == nil && count(string(out)) <= 2*limit {
			return string(out)
		}
	}
	return `{"folded":` + string(jsonspan.AppendQuote(nil, mark(len(input)))) + `}`
}
