package pleat

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Folds returns every fold that was ever made in the session, oldest first, whether it
// is in force or not. The store can give back what each of them replaced. They are the session's
// own, for reading only.
func (s *Session) Folds() []*fold.Fold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.st.Folds)
}

// StoredText is the text by which search finds an entry that a session has stored, see
// [store.Entry].Text. Stores do not give it back, so whoever copies a
// session to another store asks here. The entry needs its Body. Entries that are not
// found by text have none.
func StoredText(e store.Entry, codecs map[transcript.Format]transcript.Codec) (string, error) {
	if e.Kind != store.EntryMessage {
		return "", nil
	}
	m, err := StoredMessage(e, codecs)
	if err != nil {
		return "", err
	}
	return conv.SearchText(m), nil
}

// StoredMessage reads the message of an entry of kind [store.EntryMessage]. The entry needs its
// Body; codecs are those of the wires that messages were stored from.
func StoredMessage(e store.Entry, codecs map[transcript.Format]transcript.Codec) (transcript.Message, error) {
	if e.Kind != store.EntryMessage {
		return transcript.Message{}, fmt.Errorf("read entry %d (%s): it is no message", e.Seq, e.Kind)
	}
	d, err := conv.ReadMessageData(e.Data)
	if err != nil {
		return transcript.Message{}, fmt.Errorf("read entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	m, err := d.Reading().Message(e.Body, codecs)
	if err != nil {
		return transcript.Message{}, fmt.Errorf("read entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	return m, nil
}
