package conv

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// The forms of a stored message's body.
const (
	FormWire  = "wire"  // the message's raw bytes
	FormPleat = "pleat" // the neutral form
)

// MessageForm says how a stored message is read.
type MessageForm struct {
	Form   string            `json:"form"`
	Format transcript.Format `json:"format,omitempty"`
	Role   transcript.Role   `json:"role"`
	Origin transcript.Origin `json:"origin,omitempty"`
}

// MessageData is what the store keeps of a message beside its body.
type MessageData struct {
	MessageForm
	// Blocks says what is in the body, in case it can no longer be read.
	Blocks []BlockShape `json:"blocks,omitempty"`
}

// ReadMessageData reads what the store keeps beside a message's body.
func ReadMessageData(data []byte) (d MessageData, err error) {
	err = json.Unmarshal(data, &d)
	return d, err
}

// Message reads a message back from its body.
func (f MessageForm) Message(body []byte, codecs map[transcript.Format]transcript.Codec) (transcript.Message, error) {
	if f.Form == FormPleat {
		var m transcript.Message
		err := json.Unmarshal(body, &m)
		return m, err
	}
	codec := codecs[f.Format]
	if codec == nil {
		return transcript.Message{}, fmt.Errorf("no codec for format %q: pass it in Options.Codecs", f.Format)
	}
	m, err := codec(body)
	if err != nil {
		return transcript.Message{}, err
	}
	return m.WithOrigin(f.Origin), nil
}

// BlockShape is what is kept of a block besides its text. It is all that is known of the
// block if the text cannot be read.
type BlockShape struct {
	Kind  string          `json:"kind"`
	ID    string          `json:"id,omitempty"`    // of a call, or of the call that a result answers
	Name  string          `json:"name,omitempty"`  // of a call's tool
	Hash  transcript.Hash `json:"sha256,omitzero"` // of its text, as unfolding shows it
	Bytes int             `json:"bytes,omitempty"` // of that text
	Lines int             `json:"lines,omitempty"`
	// Said is whose words are in the text of a user's message, where not all are typed.
	Said annotate.Notes `json:"said,omitempty"`

	Tokens  int  `json:"-"` // if Counted
	Counted bool `json:"-"`
}

// ShapesOf returns the shapes of a message's blocks.
func ShapesOf(m transcript.Message) []BlockShape {
	out := make([]BlockShape, m.Blocks().Len())
	said := annotate.Message(m, nil)
	for i, b := range m.Blocks().All() {
		s := BlockShape{Kind: b.Kind().String(), Said: said.Of(i)}
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

// Readable returns the text of a block as search finds it and unfolding shows it: of a call
// what its input says, see [toolcall.Text].
func Readable(b transcript.Block) string {
	if c, ok := b.(transcript.ToolCall); ok {
		return toolcall.Text(c.Input.String())
	}
	return transcript.BlockText(b)
}

// ReadableCalls returns a message as [annotate.Attributed] has it, with the input of its calls as text.
func ReadableCalls(m transcript.Message) transcript.Message {
	m = annotate.Attributed(m)
	blocks := make([]transcript.Block, 0, m.Blocks().Len())
	for _, b := range m.Blocks().All() {
		if c, ok := b.(transcript.ToolCall); ok {
			c.Input = transcript.Plain("\n" + Readable(c))
			b = c
		}
		blocks = append(blocks, b)
	}
	return transcript.NewMessage(m.Role(), blocks...)
}

// SearchText returns the text that a message is found by: the texts of its blocks, each on
// lines of its own.
func SearchText(m transcript.Message) string {
	texts := make([]string, 0, m.Blocks().Len())
	for _, blk := range m.Blocks().All() {
		texts = append(texts, Readable(blk))
	}
	return JoinTexts(texts)
}

// JoinTexts puts texts on lines of their own.
func JoinTexts(texts []string) string {
	if len(texts) == 1 { // no need to copy it: it may be large
		return texts[0]
	}
	var b strings.Builder
	for _, t := range texts {
		b.WriteString(t)
		if t != "" && !strings.HasSuffix(t, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
