package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Draft is an entry on its way into the store, hashed and compressed before anything is
// locked. A draft of a copy has the ID of the original, and neither body nor text.
type Draft struct {
	Record
	Body Blob
	Text Blob
}

// NewDraft prepares an entry as far as that needs no database.
func (b *Base) NewDraft(e store.Entry) Draft {
	var d Draft
	d.Entry = store.Entry{
		Kind: e.Kind, Label: e.Label, Time: time.UnixMilli(e.Time.UnixMilli()),
		Data: e.Data, BodySize: len(e.Body),
	}
	if !b.Keys.none() {
		e.Text = "" // an index would show the words
	}
	if len(e.Body) > 0 {
		d.BodyHash = transcript.HashOf(e.Body)
		if b.Quick {
			d.Body = PackQuick(e.Body)
		} else {
			d.Body = Pack(e.Body)
		}
	}
	d.Body = b.Keys.sealed(d.Body)
	if e.Text != "" {
		d.TextHash = transcript.HashOf(e.Text)
	}
	if d.OwnText() {
		if b.Quick {
			d.Text = PackPlaces(e.Text, e.Body)
		} else {
			d.Text = Pack(transcript.StringBytes(e.Text)) // only read
		}
	}
	return d
}

// OwnText reports whether the entry has a text that is not its body.
func (r *Record) OwnText() bool { return !r.TextHash.IsZero() && r.TextHash != r.BodyHash }

// Append implements [store.Store].
func (c Calls) Append(ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry) (uint64, error) {
	var head uint64
	err := c.b.doWriting(ctx, func() (err error) {
		drafts := make([]Draft, len(entries))
		for i, e := range entries {
			if e.Kind == "" {
				return fmt.Errorf("entry %d has no kind", i)
			}
			if bytes.HasPrefix(e.Data, []byte(sealing)) || strings.HasPrefix(e.Label, sealing) {
				return fmt.Errorf("entry %d looks as if it were encrypted", i)
			}
			drafts[i] = c.b.NewDraft(e)
		}
		head, err = c.b.tables.Append(ctx, key, last, drafts, nil)
		return err
	}, "append to session %q", key)
	if err != nil {
		return 0, err
	}
	return head, nil
}

// Fork implements [store.Forker]. The copies refer to the bodies of the
// originals: a tenant has each body once.
func (c Calls) Fork(
	ctx context.Context, from store.SessionKey, upTo uint64, to store.SessionKey,
	data func(store.Entry) ([]byte, error),
) error {
	return c.b.doWriting(ctx, func() error {
		if from.Tenant != to.Tenant {
			return errors.New("the new session belongs to another tenant")
		}
		source, err := c.b.tables.Session(ctx, from)
		if err == nil && source == nil && upTo > 0 {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		var drafts []Draft
		for r, err := range c.b.Records(ctx, from, 1, nil) {
			if err != nil {
				return err
			}
			if r.Seq > upTo {
				break
			}
			if r.Data, err = data(r.Entry); err != nil {
				return err
			}
			drafts = append(drafts, Draft{Record: *r})
		}
		if n := uint64(len(drafts)); n != upTo {
			return fmt.Errorf("entry %d of %d: %w", upTo, n, store.ErrNotFound)
		}
		_, err = c.b.tables.Append(ctx, to, 0, drafts, source)
		return err
	}, "fork session %q as %q", from, to)
}

// Still returns an error if the session was forgotten since it was read. Now is the session
// of that name, nil if there is none.
func (x *Session) Still(now *Session) error {
	if now == nil || now.ID != x.ID {
		return fmt.Errorf("session was forgotten: %w", store.ErrNotFound)
	}
	return nil
}

// After returns an error unless the session's newest entry is the one the caller expects.
func (x *Session) After(last uint64) error {
	if x.Head != last {
		return fmt.Errorf("after entry %d: its last entry is %d: %w", last, x.Head, store.ErrConflict)
	}
	return nil
}

// Add counts an entry in and numbers it.
func (x *Session) Add(d *Draft) {
	if x.Head == 0 {
		x.First = d.Time.UnixMilli()
	}
	x.Head++
	d.Seq, d.Prev = x.Head, x.Kinds[d.Kind]
	x.Kinds[d.Kind] = d.Seq
	x.Bytes += int64(d.BodySize)
	x.Last = d.Time.UnixMilli()
}
