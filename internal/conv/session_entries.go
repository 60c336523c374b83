package conv

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

type MessageData struct {
	Form   string            `json:"form"` // "wire": the body is the message's raw bytes; "pleat": the neutral form
	Format transcript.Format `json:"format,omitempty"`
	Role   transcript.Role   `json:"role"`
	Origin transcript.Origin `json:"origin,omitempty"`
	// Blocks says what the body holds, for the case that it cannot be read any more.
	Blocks []BlockShape `json:"blocks,omitempty"`
}

// blockShape is what is known of a block without its words.
type BlockShape struct {
	Kind  string          `json:"kind"`
	ID    string          `json:"id,omitempty"`    // of a call, or of the call that a result answers
	Name  string          `json:"name,omitempty"`  // of a call's tool
	Hash  transcript.Hash `json:"sha256,omitzero"` // of the text that its handle stands for
	Bytes int             `json:"bytes,omitempty"` // of that text
	Lines int             `json:"lines,omitempty"`

	Tokens  int  `json:"-"` // if Counted
	Counted bool `json:"-"`
}

// shapesOf says what the blocks of a message are.
func ShapesOf(m transcript.Message) []BlockShape {
	out := make([]BlockShape, m.Blocks().Len())
	for i, b := range m.Blocks().All() {
		s := BlockShape{Kind: b.Kind().String()}
		switch b := b.(type) {
		case transcript.ToolCall:
			s.ID, s.Name = b.ID, b.Name
		case transcript.ToolResult:
			s.ID = b.CallID
		case transcript.Image, transcript.Opaque:
			out[i] = s
			continue
		}
		txt := transcript.BlockText(b)
		s.Hash, s.Bytes, s.Lines = transcript.HashOf(txt), len(txt), text.LineCount(txt)
		out[i] = s
	}
	return out
}

// searchText is the text a message is found by: its blocks' texts, one after the other,
// each on lines of its own if there are several. starts has the first line of each block.
func SearchText(m transcript.Message) (txt string, starts []int) {
	var b strings.Builder
	texts, size := make([]string, m.Blocks().Len()), 0
	for i, blk := range m.Blocks().All() {
		texts[i] = transcript.BlockText(blk)
		size += len(texts[i]) + 1
	}
	if len(texts) == 1 { // no need to put anything together: it may be large
		return texts[0], []int{0}
	}
	b.Grow(size)
	line := 0
	for _, t := range texts {
		starts = append(starts, line)
		if t == "" {
			continue
		}
		b.WriteString(t)
		line += text.LineCount(t)
		if !strings.HasSuffix(t, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String(), starts
}
