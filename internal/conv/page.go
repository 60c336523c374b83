package conv

import (
	"io"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// messageHandle is the address of a message's longest block, which for what a person
// typed is the message.
func (c *Conversation) MessageHandle(i int) string {
	best := -1
	for b, bf := range c.Facts[i].Blocks {
		if bf.Name != 0 && (best < 0 || int(bf.Bytes) > int(c.Facts[i].Blocks[best].Bytes)) {
			best = b
		}
	}
	if best < 0 {
		return ""
	}
	return c.Facts[i].Blocks[best].Name.String()
}

// renderText writes messages start ≤ i < end as text: what unfolding a stretch shows.
// It is a pure function of the messages, so the hash in the fold checks it.
func (c *Conversation) RenderText(start, end int) string {
	var b strings.Builder
	size := 0
	for i := start; i < end; i++ {
		size += 40
		for _, bf := range c.Facts[i].Blocks {
			size += int(bf.Bytes) + 80
		}
	}
	b.Grow(size)
	c.renderTo(&b, start, end)
	return b.String()
}

// renderTo writes what renderText returns, message by message.
func (c *Conversation) renderTo(w io.StringWriter, start, end int) {
	for i := start; i < end; i++ {
		transcript.RenderMessage(w, i, c.Transcript.At(i))
	}
}
