package conv

import (
	"encoding/json"
	"strings"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Back is what was said after an answer and the next history lacks: Count messages from message From on, and text at the
// end of the message before them, of which Again is left; nil if it is the same.
type Back struct {
	From, Count int
	Again       *transcript.Message
}

// IsZero reports whether the next history lacks nothing.
func (b Back) IsZero() bool { return b.Count == 0 && b.Again == nil }

// ReadBack reads what an entry of kind [store.EntryBack] takes back. Again, if there is one, has no content.
func ReadBack(e store.Entry) (b Back, err error) {
	var d struct {
		Message, Messages int
		Form              string
	}
	if err = json.Unmarshal(e.Data, &d); err == nil && d.Form != "" {
		b.Again = new(transcript.Message)
	}
	b.From, b.Count = d.Message, d.Messages
	return b, err
}

// Cut reports whether a message is an earlier one, which is no answer, without text at its end, and how a view makes it
// of that one. Clients add the time, or how many tokens are left, to their newest message alone.
func Cut(was, now transcript.Message) (edits []transcript.BlockEdit, ok bool) {
	a, b := was.Blocks(), now.Blocks()
	last := b.Len() - 1
	if was.Role() != now.Role() || was.Role() == transcript.RoleAssistant || last < 0 || last >= a.Len() {
		return nil, false
	}
	for k, y := range b.All() {
		if x := a.At(k); sameBlock(x, y) {
			continue
		} else if k < last || !begins(x, y) {
			return nil, false
		}
		edits = append(edits, transcript.BlockEdit{Block: k, Text: transcript.BlockText(y)})
	}
	for k := last + 1; k < a.Len(); k++ {
		if a.At(k).Kind() != transcript.KindText {
			return nil, false
		}
		edits = append(edits, transcript.BlockEdit{Block: k, Drop: true})
	}
	return edits, len(edits) > 0
}

// begins reports whether y is a text, or a result of text, with which x begins.
func begins(x, y transcript.Block) bool {
	if r, ok := y.(transcript.ToolResult); ok {
		was, both := x.(transcript.ToolResult)
		if !both || was.CallID != r.CallID || was.Parts.Len() != 1 || r.Parts.Len() != 1 {
			return false
		}
		x, y = was.Parts.At(0), r.Parts.At(0)
	}
	if x.Kind() != transcript.KindText || y.Kind() != transcript.KindText {
		return false
	}
	left := transcript.BlockText(y)
	return strings.TrimSpace(left) != "" && strings.HasPrefix(transcript.BlockText(x), left)
}
