package transcript

import (
	"io"
	"strconv"
)

// RenderMessage writes message i as text: what unfolding a stretch of messages shows.
func RenderMessage(w io.StringWriter, i int, m Message) {
	w.WriteString("--- message " + strconv.Itoa(i+1) + ", " + string(m.Role()) + "\n")
	for _, blk := range m.Blocks().All() {
		RenderBlock(w, blk)
	}
}

// RenderBlock writes a block as text.
func RenderBlock(b io.StringWriter, blk Block) {
	switch blk := blk.(type) {
	case Text:
		b.WriteString(blk.Text.String())
	case Thinking:
		if blk.Text.IsEmpty() {
			return
		}
		b.WriteString("(thinking) ")
		b.WriteString(blk.Text.String())
	case ToolCall:
		b.WriteString("(call " + blk.ID + ") " + blk.Name + " ")
		b.WriteString(blk.Input.String())
	case ToolResult:
		word := "result"
		if blk.Error {
			word = "error"
		}
		b.WriteString("(" + word + " of " + blk.CallID + ")\n")
		b.WriteString(blk.Text())
		for _, p := range blk.Parts.All() {
			if p.Kind() != KindText {
				b.WriteString("\n(" + p.Kind().String() + ")")
			}
		}
	case Image:
		b.WriteString("(image " + blk.MediaType + ")")
	case Opaque:
		b.WriteString("(" + blk.Type + ") ")
		b.WriteString(blk.Raw)
	}
	b.WriteString("\n")
}
