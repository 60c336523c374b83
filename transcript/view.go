package transcript

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/text"
)

// The errors of a view. What wraps one of them says which message it is about.
var (
	// ErrNoSuchBlock: an edit names a block that its message does not have.
	ErrNoSuchBlock = errors.New("no such block")
	// ErrNotEditable: an edit would change a block that may only be kept or removed.
	ErrNotEditable = errors.New("block cannot be edited")
	// ErrIllegal: a view breaks a rule of the wire that the transcript does not break. It
	// is not sent.
	ErrIllegal = errors.New("view is not legal")
	// ErrBadView: a view does not fit the request or the session that it is applied to.
	ErrBadView = errors.New("view does not fit the conversation")
)

// View is what the model is sent: the transcript with its folds applied. A wire package
// turns it into bytes, by editing the request it came from or from scratch.
type View struct {
	Messages []ViewMessage // in order
	// DropThinking: the view shows thinking, but not after the bytes that it came after.
	// Where the provider binds thinking to the bytes before it, the request must ask it
	// to drop the blocks that do not verify.
	DropThinking bool
	// Marker asks for a cache marker behind this many messages, where the wire has cache
	// markers and the request uses them; 0: none.
	Marker int
}

// ViewMessage is one message of a view: a message of the transcript, as it came or with
// some of its blocks edited, or a message of pleat's own.
type ViewMessage struct {
	Source int         // index in the transcript; negative: it is Made
	Edits  []BlockEdit // changes to the source's blocks, by ascending block
	Made   Message     // pleat's own message, when Source is negative
}

// BlockEdit is what a view does to one block. Text blocks get Text as their text, tool
// results as their whole content, tool calls as their whole input (JSON where the wire
// wants JSON); everything else about the block stays byte for byte.
type BlockEdit struct {
	Block int    // which block of the message
	Drop  bool   // remove the block; otherwise its content becomes Text
	Text  string // never empty unless Drop
}

// Same reports whether two messages of views show the same: one message of the transcript
// with the same edits, or made messages with the same text.
func (m ViewMessage) Same(o ViewMessage) bool {
	if m.Source < 0 || o.Source < 0 {
		return m.Source < 0 && o.Source < 0 && m.Made.Text() == o.Made.Text()
	}
	return m.Source == o.Source && slices.Equal(m.Edits, o.Edits)
}

// Whole returns the view that shows n messages as they came.
func Whole(n int) View {
	v := View{Messages: make([]ViewMessage, n)}
	for i := range v.Messages {
		v.Messages[i].Source = i
	}
	return v
}

// IsWhole reports whether the view shows n messages as they came, all of them.
func (v View) IsWhole(n int) bool {
	if len(v.Messages) != n {
		return false
	}
	for i, m := range v.Messages {
		if m.Source != i || len(m.Edits) > 0 {
			return false
		}
	}
	return true
}

// Resolve applies the view to the transcript it was made for. Edited messages lose their
// raw bytes, which no longer say what they say, and those whose thinking is hidden their ids.
func (v View) Resolve(t *Transcript) ([]Message, error) {
	out, lost := make([]Message, 0, len(v.Messages)), v.lost(t)
	for i, vm := range v.Messages {
		if vm.Source < 0 {
			out = append(out, vm.Made)
			continue
		}
		if vm.Source >= t.Len() {
			return nil, fmt.Errorf("resolve view message %d: message %d of %d: %w", i, vm.Source, t.Len(), ErrBadView)
		}
		m := t.At(vm.Source)
		if lost[vm.Source] {
			m = m.Unnamed()
		}
		if len(vm.Edits) > 0 {
			var err error
			if m, err = m.edited(vm.Edits); err != nil {
				return nil, fmt.Errorf("resolve view message %d: %w", i, err)
			}
		}
		out = append(out, m)
	}
	return out, nil
}

func (m Message) edited(edits []BlockEdit) (Message, error) {
	blocks := make([]Block, 0, m.Blocks().Len())
	next := 0
	for i, b := range m.Blocks().list {
		if next == len(edits) || edits[next].Block != i {
			blocks = append(blocks, b)
			continue
		}
		e := edits[next]
		next++
		if e.Drop {
			continue
		}
		b, err := editBlock(b, e.Text)
		if err != nil {
			return Message{}, fmt.Errorf("block %d: %w", i, err)
		}
		blocks = append(blocks, b)
	}
	if next < len(edits) {
		return Message{}, fmt.Errorf("edit of block %d: %w", edits[next].Block, ErrNoSuchBlock)
	}
	return Message{&message{role: m.Role(), blocks: Blocks{blocks}}}, nil
}

func editBlock(b Block, text string) (Block, error) {
	switch b := b.(type) {
	case Text:
		return Text{Text: Plain(text)}, nil
	case ToolResult:
		r := Result(b.CallID, text)
		r.Error = b.Error
		return r, nil
	case ToolCall:
		return Call(b.ID, b.Name, text), nil
	default:
		return nil, fmt.Errorf("%s block: %w", b.Kind(), ErrNotEditable)
	}
}

// Violation is one rule of a wire format that a request breaks.
type Violation struct {
	Rule    string // short stable name of the rule, such as "tool-result-missing"
	Path    string // place in the request, such as "messages.3.content.0"
	Message string // what is wrong, in the provider's words where it has an error for it
}

// String gives the place and the message.
func (v Violation) String() string { return v.Path + ": " + v.Message }

// NewViolations returns what a rewrite added: of each rule, the violations in after that
// are more than before had of it. A client's own illegal request is its provider's to
// refuse.
func NewViolations(before, after []Violation) []Violation {
	had := make(map[string]int)
	for _, v := range before {
		had[v.Rule]++
	}
	var added []Violation
	for _, v := range after {
		if had[v.Rule] > 0 {
			had[v.Rule]--
			continue
		}
		added = append(added, v)
	}
	return added
}

// Check returns where a view breaks the rules that every wire shares: a call and its result, and what else is
// tied together, are shown together or not at all, messages are in order, there are some, none is empty, and
// the view does not end on an assistant message of pleat's own. What was already wrong in the transcript
// does not count.
func (v View) Check(t *Transcript) []Violation {
	var out []Violation
	bad := func(i int, rule, format string, args ...any) {
		out = append(out, Violation{Rule: rule, Path: fmt.Sprintf("view.%d", i), Message: fmt.Sprintf(format, args...)})
	}
	if len(v.Messages) == 0 && t.Len() > 0 {
		bad(0, "no-messages", "the view has no messages")
	}
	shown := make(map[BlockRef]bool)
	last := -1
	for i, m := range v.Messages {
		if m.Source < 0 {
			if m.Made.Blocks().Len() == 0 || text.Blank(m.Made.Text()) {
				bad(i, "empty-message", "a made message is empty")
			}
			continue
		}
		if m.Source <= last || m.Source >= t.Len() {
			bad(i, "order", "message %d after message %d", m.Source, last)
			continue
		}
		last = m.Source
		if left := showBlocks(m, t, shown); left == 0 && t.sizes[m.Source] > 0 {
			bad(i, "empty-message", "nothing is left of message %d", m.Source)
		}
		for _, e := range m.Edits {
			if !e.Drop && text.Blank(e.Text) {
				bad(i, "empty-text", "block %d of message %d is empty", e.Block, m.Source)
			}
		}
	}
	for _, r := range t.rounds {
		for _, c := range r.Calls {
			if c.Answered && shown[c.Call] != shown[c.Result] {
				bad(0, "pair-split", "call %s in message %d is shown: %v, its result in message %d: %v",
					c.ID, c.Call.Message, shown[c.Call], c.Result.Message, shown[c.Result])
			}
		}
	}
	for _, n := range t.ties.needs {
		if shown[n.of] && !shown[n.other] {
			bad(0, "pair-split", "message %d is shown without message %d", n.of.Message, n.other.Message)
		}
	}
	if n := len(v.Messages); n > 0 && v.Messages[n-1].Source < 0 && v.Messages[n-1].Made.Role() == RoleAssistant {
		bad(n-1, "assistant-last", "the view ends on an assistant message of pleat's own")
	}
	return out
}

// showBlocks marks the blocks that a message of the view shows and counts them.
func showBlocks(m ViewMessage, t *Transcript, shown map[BlockRef]bool) int {
	left, next := 0, 0
	for b := range int(t.sizes[m.Source]) {
		if next < len(m.Edits) && m.Edits[next].Block == b {
			next++
			if m.Edits[next-1].Drop {
				continue
			}
		}
		shown[BlockRef{m.Source, b}] = true
		left++
	}
	return left
}
