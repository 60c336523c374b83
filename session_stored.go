package pleat

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Folds returns every fold that was ever made in the session, oldest first, whether it
// is in force or not: what a check of the store has to be able to give back.
func (s *Session) Folds() []*Fold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.st.folds)
}

// StoredText is the text by which search finds an entry that a session has stored: what
// [Entry].Text was when it was appended. Stores do not give it back, so whoever copies a
// session to another store asks here. The entry needs its Body. Entries that are not
// found by text have none.
func StoredText(e Entry, codecs map[Format]Codec) (string, error) {
	if e.Kind != EntryMessage {
		return "", nil
	}
	m, err := StoredMessage(e, codecs)
	if err != nil {
		return "", err
	}
	text, _ := searchText(m)
	return text, nil
}

// StoredMessage reads the message of an entry of kind [EntryMessage]. The entry needs its
// Body; codecs are those of the wires that messages were stored from.
func StoredMessage(e Entry, codecs map[Format]Codec) (Message, error) {
	if e.Kind != EntryMessage {
		return Message{}, fmt.Errorf("read entry %d (%s): it is no message", e.Seq, e.Kind)
	}
	d, err := readMessageData(e.Data)
	if err != nil {
		return Message{}, fmt.Errorf("read entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	m, err := d.reading().message(e.Body, codecs)
	if err != nil {
		return Message{}, fmt.Errorf("read entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	return m, nil
}

// The forms of a message's body.
const (
	formWire  = "wire"
	formPleat = "pleat"
)

// messageForm says how a stored message is read.
type messageForm struct {
	wire   bool
	format Format
	role   Role
	origin Origin
}

func readMessageData(data []byte) (d messageData, err error) {
	err = json.Unmarshal(data, &d)
	return d, err
}

func (d messageData) reading() messageForm {
	return messageForm{d.Form != formPleat, d.Format, d.Role, d.Origin}
}

// message reads a message back from its body.
func (f messageForm) message(body []byte, codecs map[Format]Codec) (Message, error) {
	if !f.wire {
		var m Message
		err := json.Unmarshal(body, &m)
		return m, err
	}
	codec := codecs[f.format]
	if codec == nil {
		return Message{}, fmt.Errorf("no codec for format %q: pass it in Options.Codecs", f.format)
	}
	m, err := codec(body)
	if err != nil {
		return Message{}, err
	}
	return m.WithOrigin(f.origin), nil
}
