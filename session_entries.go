package pleat

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// The data of a session's entries. These are stored: fields may be added, names and
// meanings stay. docs/format.md lists them.

type sessionData struct {
	Version int    `json:"version"`
	Policy  string `json:"policy,omitempty"`
	Model   string `json:"model,omitempty"`
	Parent  string `json:"parent,omitempty"` // the session that it was forked from
}

type messageData struct {
	Form   string `json:"form"` // "wire": the body is the message's raw bytes; "pleat": the neutral form
	Format Format `json:"format,omitempty"`
	Role   Role   `json:"role"`
	Origin Origin `json:"origin,omitempty"`
	// Blocks says what the body holds, for the case that it cannot be read any more.
	Blocks []blockShape `json:"blocks,omitempty"`
}

// blockShape is what is known of a block without its words.
type blockShape struct {
	Kind  string `json:"kind"`
	ID    string `json:"id,omitempty"`    // of a call, or of the call that a result answers
	Name  string `json:"name,omitempty"`  // of a call's tool
	Hash  Hash   `json:"sha256,omitzero"` // of the text that its handle stands for
	Bytes int    `json:"bytes,omitempty"` // of that text
	Lines int    `json:"lines,omitempty"`

	tokens  int // if counted
	counted bool
}

type foldData struct {
	Folds []*Fold `json:"folds"`
}

// epochData is a complete answer to "which folds are in force": later epochs do not
// depend on earlier ones, so undoing is writing an old answer again.
type epochData struct {
	Epoch        int       `json:"epoch"`
	Messages     int       `json:"messages"` // length of the transcript when it was made
	Trigger      Trigger   `json:"trigger"`
	Undo         bool      `json:"undo,omitempty"`
	Focus        string    `json:"focus,omitempty"`
	Folds        []*Fold   `json:"folds,omitempty"` // new ones
	InForce      []int     `json:"in_force"`        // numbers of all folds in force from now on
	Bare         int       `json:"bare,omitempty"`
	DropThinking bool      `json:"drop_thinking,omitempty"`
	Before       int       `json:"tokens_before"`
	After        int       `json:"tokens_after"`
	Cache        CacheCost `json:"cache"`
	Warning      string    `json:"warning,omitempty"`
	Kept         []string  `json:"kept,omitempty"` // files kept because they were read again after each epoch
}

type pinData struct {
	Text   string `json:"text"`
	Remove bool   `json:"remove,omitempty"`
}

// Note is something the agent wrote down for itself, outside of the transcript.
type Note struct {
	Key  string `json:"key"`
	Text string `json:"text"` // empty: the note was removed
}

// digestData is how a digest came to be; the body of its entry is the text, none if there
// is no digest.
type digestData struct {
	DigestReport
	Source Hash `json:"source"` // of the messages it tells of
}

type usageData struct {
	Usage     Usage   `json:"usage"`
	Estimated int     `json:"estimated"` // our count of the same prompt
	USD       float64 `json:"usd,omitempty"`
	Limit     int     `json:"limit,omitempty"` // the prompt was refused: the most that the provider takes
}

// newMessage is a message on its way into the store.
type newMessage struct {
	m      Message // as it will be read back
	form   messageForm
	shapes []blockShape
	body   Hash
	entry  Entry
}

// prepare makes the entry for a message, and the message as it will be read back from it.
// A message that came off a wire shares memory with a whole request, which it must not
// keep alive; and what cannot be read back must not be stored, because no later opening
// would get past it. Then the neutral form is stored, which always can.
func (s *Session) prepare(m Message) (newMessage, error) {
	n := newMessage{m: m}
	d := messageData{Form: formWire, Format: m.Format(), Role: m.Role(), Origin: m.Origin()}
	codec := s.o.Codecs[m.Format()]
	var body []byte
	wire := false
	if codec != nil && m.Raw() != "" {
		own, err := d.reading().message(stringBytes(m.Raw()), s.o.Codecs)
		if wire = err == nil && own.Blocks().Len() == m.Blocks().Len(); wire {
			n.m = own
			if body = stringBytes(own.Raw()); own.Raw() != m.Raw() {
				body = []byte(m.Raw())
			}
		}
	}
	if !wire {
		d.Form = formPleat
		var err error
		if body, err = json.Marshal(m); err != nil {
			return newMessage{}, fmt.Errorf("encode message: %w", err)
		}
		if m.Format() != FormatNone {
			if n.m, err = d.reading().message(body, nil); err != nil {
				return newMessage{}, err
			}
		}
	}
	n.m, n.form = n.m.decoded(), d.reading()
	n.shapes = shapesOf(n.m)
	d.Blocks = n.shapes
	data, err := json.Marshal(d)
	if err != nil {
		return newMessage{}, fmt.Errorf("encode message: %w", err)
	}
	text, _ := searchText(n.m)
	n.body = HashOf(body)
	n.entry = Entry{Kind: EntryMessage, Data: data, Body: body, Text: text}
	return n, nil
}

// shapesOf says what the blocks of a message are.
func shapesOf(m Message) []blockShape {
	out := make([]blockShape, m.Blocks().Len())
	for i, b := range m.Blocks().All() {
		s := blockShape{Kind: b.Kind().String()}
		switch b := b.(type) {
		case ToolCall:
			s.ID, s.Name = b.ID, b.Name
		case ToolResult:
			s.ID = b.CallID
		case Image, Opaque:
			out[i] = s
			continue
		}
		text := blockText(b)
		s.Hash, s.Bytes, s.Lines = HashOf(text), len(text), lineCount(text)
		out[i] = s
	}
	return out
}

// searchText is the text a message is found by: its blocks' texts, one after the other,
// each on lines of its own if there are several. starts has the first line of each block.
func searchText(m Message) (text string, starts []int) {
	var b strings.Builder
	texts, size := make([]string, m.Blocks().Len()), 0
	for i, blk := range m.Blocks().All() {
		texts[i] = blockText(blk)
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
		line += lineCount(t)
		if !strings.HasSuffix(t, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String(), starts
}

// apply takes an entry in: the one way in which a session changes, live and restored.
func (s *Session) apply(ctx context.Context, e Entry) error {
	var err error
	switch e.Kind {
	case EntryMessage:
		err = s.applyMessage(ctx, e)
	case EntryFold:
		var d foldData
		if err = json.Unmarshal(e.Data, &d); err == nil {
			s.st.use(d.Folds)
		}
	case EntryEpoch:
		var d epochData
		if err = json.Unmarshal(e.Data, &d); err == nil {
			if err = s.st.enter(d); err == nil {
				s.st.epochSeq = e.Seq
			}
		}
	case EntryDigest:
		err = s.applyDigest(ctx, e)
	case EntryPin:
		var d pinData
		if err = json.Unmarshal(e.Data, &d); err == nil {
			s.st.pin(d.Text, d.Remove)
		}
	case EntryNote:
		var n Note
		if err = json.Unmarshal(e.Data, &n); err == nil {
			s.st.note(n)
		}
	case EntryUsage:
		var d usageData
		if err = json.Unmarshal(e.Data, &d); err == nil {
			s.cal.Observe(d.Estimated, d.Usage.Prompt())
			s.usd += d.USD
			if d.Limit > 0 {
				s.cap = d.Limit
			}
		}
	}
	if err != nil {
		return fmt.Errorf("read entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	return nil
}

// applyMessage takes a message in: one that is being appended, or one that is read back. A
// body that is damaged costs that message, not the session.
func (s *Session) applyMessage(ctx context.Context, e Entry) error {
	if len(s.fresh) > 0 {
		n := s.fresh[0]
		s.fresh = s.fresh[1:]
		s.st.record(n.m, n.shapes, keptMessage{e.Seq, n.body, n.form})
		return nil
	}
	d, err := readMessageData(e.Data)
	if err != nil {
		return err
	}
	k := keptMessage{e.Seq, e.BodyHash, d.reading()}
	m, err := s.st.msgs.read(ctx, k)
	switch {
	case err == nil:
		s.st.record(m, shapesOf(m), k)
	case isDamage(err):
		s.o.Logger.Warn("a message cannot be read back", "session", s.key.String(), "entry", e.Seq, "err", err)
		s.st.record(standIn(k.form, d.Blocks), d.Blocks, k)
	default:
		return err
	}
	return nil
}
