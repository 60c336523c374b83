package journal

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// The data of a session's entries. These are stored: fields may be added, names and
// meanings stay. docs/format.md lists them.

// Session is the data of a session's first entry.
type Session struct {
	Version int    `json:"version"`
	Policy  string `json:"policy,omitempty"`
	Model   string `json:"model,omitempty"`
	Parent  string `json:"parent,omitempty"` // the session that it was forked from

	Project string      `json:"project,omitempty"`
	Budget  fold.Budget `json:"budget,omitzero"` // as it was given, with the model's window
	Head    fold.Parts  `json:"head,omitzero"`   // of its first requests
}

type folds struct {
	Folds []*fold.Fold `json:"folds"`
}

type pin struct {
	Text   string `json:"text"`
	Remove bool   `json:"remove,omitempty"`
}

// told is how a digest came to be; the body of its entry is the text, none if there is no digest.
type told struct {
	digest.Origin
	Source transcript.Hash `json:"source"` // of the messages that it tells of
}

// entry makes an entry of a kind.
func entry(kind store.EntryKind, data any) (store.Entry, error) {
	b, err := json.Marshal(data)
	if err != nil {
		return store.Entry{}, fmt.Errorf("encode %s: %w", kind, err)
	}
	return store.Entry{Kind: kind, Data: b}, nil
}

// putData writes an entry of a kind after what others write.
func (j *Journal) putData(ctx context.Context, kind store.EntryKind, label string, data any, body []byte) error {
	e, err := entry(kind, data)
	if err != nil {
		return err
	}
	e.Label, e.Body = label, body
	return j.put(ctx, e)
}

// Create writes the first entries of a new session; before is what came before it, empty if nothing did.
func (j *Journal) Create(ctx context.Context, s Session, before string) error {
	s.Version = 1
	first, err := entry(store.EntrySession, s)
	if err != nil {
		return err
	}
	entries := []store.Entry{first}
	if before != "" {
		lead, err := Lead(epoch.LeadOf(before))
		if err != nil {
			return err
		}
		entries = append(entries, lead)
	}
	return j.Write(ctx, entries...)
}

// Lead is the entry that lets views begin otherwise than the conversation.
func Lead(l epoch.Lead) (store.Entry, error) { return entry(store.EntrySystem, l) }

// back is what was said after an answer that the next history lacked. The body is what it has of the message
// before that, if it lacks text at its end.
type back struct {
	Message  int `json:"message"` // the first that it lacks
	Messages int `json:"messages"`
	*conv.MessageData
}

// Back is the entry that takes n messages out of the conversation and, if again is not nil, puts that in place of the
// message before them.
func (j *Journal) Back(message, n int, again *transcript.Message) (store.Entry, error) {
	if again == nil {
		return entry(store.EntryBack, back{Message: message, Messages: n})
	}
	m, err := j.prepare(*again)
	if err != nil {
		return store.Entry{}, err
	}
	e, err := entry(store.EntryBack, back{message, n, &conv.MessageData{MessageForm: m.form, Blocks: m.shapes}})
	e.Body, e.Text = m.entry.Body, m.entry.Text
	return e, err
}

// Pin writes that every view must hold a text, or no longer must.
func (j *Journal) Pin(ctx context.Context, text string, remove bool) error {
	return j.putData(ctx, store.EntryPin, "", pin{text, remove}, nil)
}

// Note writes a note under a key; an empty text removes it.
func (j *Journal) Note(ctx context.Context, key, text string) error {
	return j.putData(ctx, store.EntryNote, key, transcript.Note{Key: key, Text: text}, nil)
}

// Usage writes what the provider reported or refused.
func (j *Journal) Usage(ctx context.Context, u meter.Usage) error {
	return j.putData(ctx, store.EntryUsage, "", u, nil)
}

// Digest writes a digest of the messages with the hash source, or that there is none.
func (j *Journal) Digest(ctx context.Context, o digest.Origin, source transcript.Hash, text string) error {
	return j.putData(ctx, store.EntryDigest, "", told{o, source}, []byte(text))
}

// Epoch writes an epoch. It says which folds are in force, so what others write meanwhile is a conflict.
func (j *Journal) Epoch(ctx context.Context, d epoch.Data) error {
	e, err := entry(store.EntryEpoch, d)
	if err != nil {
		return err
	}
	return j.Write(ctx, e)
}
