package library

import (
	"context"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// How many bytes of a message are shown at first, and at least, where a view is too long as text.
const mostShown, leastShown = 16 << 10, 250

// less writes a view that is too long as text and cannot be folded any more: the page and the user's
// newest words whole, less and less of every other message, and at last the oldest of them not at all.
// What is left out, is left out before it is fenced.
func (h *handoff) less(ctx context.Context, v transcript.View) (string, error) {
	msgs, err := Spoken(ctx, h.s, v)
	if err != nil {
		return "", err
	}
	var newest userwords.Said
	if said, _ := inside.Of(h.s).UserWords(); len(said) > 0 {
		newest = said[len(said)-1]
	}
	most, drop := mostShown, 0
	for drop <= len(msgs) {
		s := h.head() + Earlier(lessOf(v, msgs, newest, most, drop))
		if h.counter.CountText(s) <= h.budget {
			return s, nil
		}
		if most /= 2; most < leastShown {
			most, drop = leastShown, drop+1
		}
	}
	return "", fmt.Errorf("the page and the user's newest words alone are too long: %w", fold.ErrCannotFit)
}

// lessOf writes a view without the oldest messages that may be left out, and so many bytes of the others.
func lessOf(v transcript.View, msgs []transcript.Message, newest userwords.Said, most, drop int) string {
	var b strings.Builder
	left := 0 // messages that were left out just before
	tell := func() {
		if left > 0 {
			fmt.Fprintf(&b, "[… %s left out …]\n", text.Plural(left, "message"))
		}
		left = 0
	}
	for i, m := range msgs {
		src := v.Messages[i].Source
		newly := src == newest.Message && newest.Text != ""
		switch {
		case instructs(m):
			continue
		case src < 0: // the page
		case newly && newest.Via == "":
			m = shorter(m, most, transcript.KindText)
		case newly:
			m = shorter(m, most, transcript.KindToolResult)
		case drop > 0:
			drop--
			left++
			continue
		default:
			m = shorter(m, most, transcript.KindThinking) // which a handoff has none of
		}
		tell()
		WriteMessage(&b, m, src, false)
	}
	tell()
	return b.String()
}

// shorter is a message with so many bytes in its blocks, but for those of one kind, which stay whole.
// Its texts become one: each alone would need its own fence.
func shorter(m transcript.Message, most int, whole transcript.Kind) transcript.Message {
	var said []string
	blocks := make([]transcript.Block, 1, m.Blocks().Len()+1)
	share := max(most/max(m.Blocks().Len(), 1), 1)
	cut := func(kind transcript.Kind, s string, most int) string {
		if kind == whole {
			return s
		}
		return text.ShortMiddle(s, most)
	}
	for _, blk := range m.Blocks().All() {
		switch b := blk.(type) {
		case transcript.Text:
			said = append(said, b.Text.String())
		case transcript.ToolCall:
			blocks = append(blocks, transcript.Call(b.ID, b.Name, cut(b.Kind(), b.Input.String(), share)))
		case transcript.ToolResult:
			r := transcript.Result(b.CallID, cut(b.Kind(), b.Text(), share))
			r.Error = b.Error
			blocks = append(blocks, r)
		case transcript.Opaque:
			b.Raw = text.ShortMiddle(b.Raw, share)
			blocks = append(blocks, b)
		default:
			blocks = append(blocks, blk)
		}
	}
	blocks[0] = transcript.Say(cut(transcript.KindText, strings.Join(said, "\n"), max(share*len(said), 1)))
	if len(said) == 0 {
		blocks = blocks[1:]
	}
	return transcript.NewMessage(m.Role(), blocks...).WithOrigin(m.Origin())
}
