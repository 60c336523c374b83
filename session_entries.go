package pleat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// The data of a session's entries. These are stored: fields may be added, names and
// meanings stay. docs/format.md lists them.

type sessionData struct {
	Version int    `json:"version"`
	Policy  string `json:"policy,omitempty"`
	Model   string `json:"model,omitempty"`
	Parent  string `json:"parent,omitempty"` // the session that it was forked from

	Project string      `json:"project,omitempty"`
	Budget  fold.Budget `json:"budget,omitzero"` // as it was given, with the model's window
	Head    fold.Parts  `json:"head,omitzero"`   // of its first requests
}

type foldData struct {
	Folds []*fold.Fold `json:"folds"`
}

// backData is messages of the user that the next history lacked.
type backData struct {
	Message  int `json:"message"` // the first of them
	Messages int `json:"messages"`
}

type pinData struct {
	Text   string `json:"text"`
	Remove bool   `json:"remove,omitempty"`
}

// digestData is how a digest came to be; the body of its entry is the text, none if there
// is no digest.
type digestData struct {
	digest.Origin
	Source transcript.Hash `json:"source"` // of the messages it tells of
}

// newMessage is a message on its way into the store.
type newMessage struct {
	m      transcript.Message // as it will be read back
	form   conv.MessageForm
	shapes []conv.BlockShape
	body   transcript.Hash
	entry  store.Entry
}

// prepare makes the entry for a message, and the message as it will be read back from it.
// A message that came off a wire shares memory with a whole request, which it must not
// keep alive; and what cannot be read back must not be stored, because no later opening
// would get past it. Then the neutral form is stored, which always can.
func (s *Session) prepare(m transcript.Message) (newMessage, error) {
	if err := checkBlocks(m.Blocks()); err != nil {
		return newMessage{}, err
	}
	if err := checkRole(m); err != nil {
		return newMessage{}, err
	}
	n := newMessage{m: m}
	d := conv.MessageData{Form: conv.FormWire, Format: m.Format(), Role: m.Role(), Origin: m.Origin()}
	codec := s.o.Codecs[m.Format()]
	var body []byte
	wire := false
	if codec != nil && m.Raw() != "" {
		own, err := d.Reading().Message(transcript.StringBytes(m.Raw()), s.o.Codecs)
		if wire = err == nil && sameBlocks(own.Blocks(), m.Blocks()); wire {
			n.m = own
			if body = transcript.StringBytes(own.Raw()); own.Raw() != m.Raw() {
				body = []byte(m.Raw())
			}
		}
	}
	if !wire {
		d.Form = conv.FormPleat
		var err error
		if body, err = m.MarshalJSON(); err != nil { // json.Marshal would read and copy it once more
			return newMessage{}, fmt.Errorf("encode message: %w", err)
		}
		if m.Format() != transcript.FormatNone {
			if n.m, err = d.Reading().Message(body, nil); err != nil {
				return newMessage{}, err
			}
		}
	}
	n.m, n.form = n.m.Decoded(), d.Reading()
	n.shapes = conv.ShapesOf(n.m)
	d.Blocks = n.shapes
	data, err := json.Marshal(d)
	if err != nil {
		return newMessage{}, fmt.Errorf("encode message: %w", err)
	}
	n.body = transcript.HashOf(body)
	n.entry = store.Entry{Kind: store.EntryMessage, Data: data, Body: body, Text: conv.SearchText(n.m)}
	return n, nil
}

// sameBlocks reports whether a codec gave back what the message has. A literal that no one has
// read is compared as it is.
func sameBlocks(got, want transcript.Blocks) bool {
	if got.Len() != want.Len() {
		return false
	}
	same := func(x, y transcript.Content) bool {
		a, escaped := x.Escaped()
		if b, both := y.Escaped(); escaped && both {
			return a == b
		}
		return x.String() == y.String()
	}
	for i, x := range got.All() {
		ok := false
		switch y := want.At(i).(type) {
		case transcript.Text:
			x, is := x.(transcript.Text)
			ok = is && same(x.Text, y.Text)
		case transcript.Thinking:
			x, is := x.(transcript.Thinking)
			ok = is && same(x.Text, y.Text) && x.Signature == y.Signature
		case transcript.ToolCall:
			x, is := x.(transcript.ToolCall)
			ok = is && x.ID == y.ID && x.Name == y.Name && x.Signed == y.Signed && same(x.Input, y.Input)
		case transcript.ToolResult:
			x, is := x.(transcript.ToolResult)
			ok = is && x.CallID == y.CallID && x.Error == y.Error && sameBlocks(x.Parts, y.Parts)
		default:
			ok = x.Kind() == y.Kind() // their raw bytes are those of the message
		}
		if !ok {
			return false
		}
	}
	return true
}

// checkRole refuses a message that nobody speaks, and a user's that says nothing, which providers refuse.
// What came off a wire is what it is.
func checkRole(m Message) error {
	if m.Role() == transcript.RoleUser && m.Format() == transcript.FormatNone && saysNothing(m) {
		return errors.New("the user says nothing in it: leave it out")
	}
	switch m.Role() {
	case transcript.RoleSystem, transcript.RoleDeveloper, transcript.RoleUser, transcript.RoleAssistant,
		transcript.RoleTool:
		return nil
	}
	if m.Format() != transcript.FormatNone {
		return nil
	}
	const roles = "system, developer, user, assistant and tool are the roles: see User, Assistant and Results"
	if m.Role() == "" {
		return errors.New("it has no role; " + roles)
	}
	return fmt.Errorf("it has the role %q; %s", m.Role(), roles)
}

func saysNothing(m Message) bool {
	for _, b := range m.Blocks().All() {
		if t, ok := b.(transcript.Text); !ok || !text.Blank(t.Text.String()) {
			return false
		}
	}
	return true
}

// checkBlocks refuses blocks of types that nothing reads: their content would be gone.
func checkBlocks(blocks transcript.Blocks) error {
	for i, b := range blocks.All() {
		var err error
		switch b := b.(type) {
		case transcript.Text, transcript.Thinking, transcript.ToolCall, transcript.Image, transcript.Opaque:
		case transcript.ToolResult:
			err = checkBlocks(b.Parts)
		case nil:
			err = errors.New("it is nil")
		default:
			err = fmt.Errorf("%T is no block of package transcript", b)
		}
		if err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
	}
	return nil
}

// apply takes an entry in: the one way in which a session changes, live and restored.
func (s *Session) apply(ctx context.Context, e store.Entry) error {
	var err error
	switch e.Kind {
	case store.EntrySession:
		var d sessionData
		if err = json.Unmarshal(e.Data, &d); err == nil {
			s.st.Forked = d.Parent != ""
		}
	case store.EntryPrefix:
		s.st.Marked = s.st.Len()
	case store.EntryMessage:
		restored, total := len(s.fresh) == 0, s.st.Parts.Total()
		sent := s.meter.LastSent(0)
		if restored && e.Time.After(s.heard) && total <= s.meter.Most() {
			sent = total // what comes later than the message before it was answered, not told
		}
		s.heard = e.Time
		if err = s.applyMessage(ctx, e); s.st.LastRole() == transcript.RoleAssistant {
			s.answered, s.elsewhere = e.Time, s.elsewhere || restored
			s.meter.Answered(sent)
		}
	case store.EntryFold:
		var d foldData
		if err = json.Unmarshal(e.Data, &d); err == nil {
			err = s.st.Use(d.Folds)
		}
	case store.EntryEpoch:
		var d epoch.Data
		if err = json.Unmarshal(e.Data, &d); err == nil {
			if err = s.st.Enter(d); err == nil {
				s.st.EpochSeq = e.Seq
				s.legal = 0
			}
		}
	case store.EntryDigest:
		err = s.applyDigest(ctx, e)
	case store.EntrySystem:
		var d leadData
		if err = json.Unmarshal(e.Data, &d); err == nil {
			s.setLead(d)
		}
	case store.EntryBack:
		var d backData
		if err = json.Unmarshal(e.Data, &d); err == nil {
			err = s.takeBack(d)
		}
	case store.EntryPin:
		var d pinData
		if err = json.Unmarshal(e.Data, &d); err == nil {
			s.st.Pin(d.Text, d.Remove)
		}
	case store.EntryNote:
		var n transcript.Note
		if err = json.Unmarshal(e.Data, &n); err == nil {
			s.st.Note(n)
		}
	case store.EntryUsage:
		var u meter.Usage
		if err = json.Unmarshal(e.Data, &u); err == nil {
			s.meter.Take(u)
		}
	}
	if err != nil {
		return fmt.Errorf("read entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	return nil
}

// takeBack takes messages of the user out of the conversation.
func (s *Session) takeBack(d backData) error {
	if err := s.st.TakeBack(d.Message, d.Messages); err != nil {
		return err
	}
	s.legal, s.edited = 0, nil
	s.pages.Forget()
	return nil
}

// applyMessage takes a message in: one that is being appended, or one that is read back. A
// body that is damaged costs that message, not the session.
func (s *Session) applyMessage(ctx context.Context, e store.Entry) error {
	if len(s.fresh) > 0 {
		n := s.fresh[0]
		s.fresh = s.fresh[1:]
		s.st.Record(n.m, n.shapes, conv.KeptMessage{Seq: e.Seq, Body: n.body, Form: n.form})
		return nil
	}
	d, err := conv.ReadMessageData(e.Data)
	if err != nil {
		return err
	}
	k := conv.KeptMessage{Seq: e.Seq, Body: e.BodyHash, Form: d.Reading()}
	m, err := s.st.Contents.Read(ctx, k)
	switch {
	case err == nil:
		s.st.Record(m, conv.ShapesOf(m), k)
	case conv.IsDamage(err):
		s.warn(ctx, Event{Warning: fmt.Sprintf("message %d cannot be read back: %v", s.st.Len(), err)})
		s.st.Record(conv.StandIn(k.Form, d.Blocks), d.Blocks, k)
	default:
		return err
	}
	return nil
}
