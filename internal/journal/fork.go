package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Fork copies the entries 1 to upTo of a session into a new one, see pleat.Fork.
func Fork(
	ctx context.Context, st store.Store, from store.SessionKey, upTo uint64, to store.SessionKey,
	codecs map[transcript.Format]transcript.Codec,
) error {
	data := func(e store.Entry) ([]byte, error) { return forkedData(e, from.Session) }
	if forker, ok := st.(store.Forker); ok && from.Tenant == to.Tenant {
		return forker.Fork(ctx, from, upTo, to, data)
	}
	var entries []store.Entry
	for e, err := range st.Scan(ctx, from, 1) {
		if err == nil && e.Seq > upTo {
			break
		}
		if err == nil && e.BodySize > 0 {
			e.Body, err = st.Body(ctx, from, e.BodyHash)
		}
		if err == nil {
			e.Text, err = Text(e, codecs)
		}
		if err == nil {
			e.Data, err = data(e)
		}
		if err != nil {
			return fmt.Errorf("fork session %s: %w", from, err)
		}
		entries = append(entries, e)
	}
	if uint64(len(entries)) != upTo {
		return fmt.Errorf("fork session %s at entry %d of %d: %w", from, upTo, len(entries), store.ErrNotFound)
	}
	if _, err := st.Append(ctx, to, 0, entries...); err != nil {
		return fmt.Errorf("fork session %s as %s: %w", from, to.Session, err)
	}
	return nil
}

// forkedData is the data of an entry's copy: it says which session the copy was forked from.
func forkedData(e store.Entry, parent string) ([]byte, error) {
	if e.Kind != store.EntrySession {
		return e.Data, nil
	}
	var d Session
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return nil, errors.Join(store.ErrCorrupt, err)
	}
	d.Parent = parent
	return json.Marshal(d)
}

// Text is the text by which search finds an entry that a session has stored, see
// [store.Entry].Text. Stores do not give it back, so whoever copies a
// session to another store asks here. The entry needs its Body. Entries that are not
// found by text have none.
func Text(e store.Entry, codecs map[transcript.Format]transcript.Codec) (string, error) {
	if e.Kind != store.EntryMessage && (e.Kind != store.EntryBack || len(e.Body) == 0) {
		return "", nil
	}
	m, err := Message(e, codecs)
	if err != nil {
		return "", err
	}
	return conv.SearchText(m), nil
}

// Message reads the message of an entry of kind [store.EntryMessage]. The entry needs its
// Body; codecs are those of the wires that messages were stored from.
func Message(e store.Entry, codecs map[transcript.Format]transcript.Codec) (transcript.Message, error) {
	if e.Kind != store.EntryMessage && e.Kind != store.EntryBack {
		return transcript.Message{}, fmt.Errorf("read entry %d (%s): it is no message", e.Seq, e.Kind)
	}
	d, err := conv.ReadMessageData(e.Data)
	if err != nil {
		return transcript.Message{}, fmt.Errorf("read entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	m, err := d.Message(e.Body, codecs)
	if err != nil {
		return transcript.Message{}, fmt.Errorf("read entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	return m, nil
}
