package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
)

func (t tables) Append(
	ctx context.Context, key store.SessionKey, last uint64, drafts []rows.Draft, source *rows.Session,
) (head uint64, err error) {
	err = t.update(ctx, func(ctx context.Context) error {
		if err := t.fits(ctx); err != nil {
			return err
		}
		x, err := t.current(ctx, key)
		if err != nil {
			return err
		}
		if x == nil {
			x = rows.NewSession(0, key)
		}
		if err := x.After(last); err != nil {
			return err
		}
		if source != nil {
			now, err := t.current(ctx, source.Key)
			if err == nil {
				err = source.Still(now)
			}
			if err != nil {
				return err
			}
		}
		for i := range drafts {
			d := &drafts[i]
			x.Add(d)
			if err := t.addEntry(ctx, x, d); err != nil {
				return fmt.Errorf("entry %d: %w", x.Head, err)
			}
		}
		if head = x.Head; head == last {
			return nil
		}
		_, err = t.exec(ctx, `UPDATE session
			SET head = ?, kinds = ?, bytes = ?, first = ?, last = ?, newest = ?, sum = ? WHERE id = ?`, x.Values()...)
		return err
	})
	return head, err
}

// fits checks that the key is given that the store was encrypted with last, and notes the one that encrypts now:
// whoever lacks it would go on in plain text, or with one that was taken from use.
func (s *Store) fits(ctx context.Context) error {
	var id []byte
	err := s.get(ctx, pages.Sealer, nil, &id)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	} else if err == nil {
		err = s.base.Keys.Fit(id)
	}
	if own := s.base.Keys.ID(); err == nil && !bytes.Equal(own, id) {
		_, err = s.exec(ctx, `INSERT OR REPLACE INTO claim(work, token, expires)
			VALUES(CAST('sealed' AS BLOB), ?, 9223372036854775807)`, own)
	}
	return err
}

const (
	insertSession = `INSERT INTO session(tenant, name, hash, head, kinds, bytes, first, last, newest, sum)
		VALUES(?, ?, ?, 0, '', 0, 0, 0, 0, '')`
	insertEntry = `INSERT INTO entry(session, seq, prev, kind, label, time, size, body, text, find1, find2, sum, data)
		VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertBlob = "INSERT INTO blob(tenant, hash, size, codec, data) VALUES(?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
	insertText = "INSERT INTO text(entry, size, codec, data) VALUES(?, ?, ?, ?)"
	copyText   = "INSERT INTO text(entry, size, codec, data) SELECT ?, size, codec, data FROM text WHERE entry = ?"
)

// addEntry writes one entry, a note that its text is to be indexed, and the row of its session if it is new.
func (s *Store) addEntry(ctx context.Context, x *rows.Session, d *rows.Draft) error {
	if x.ID == 0 {
		var err error
		x.ID, err = lastID(s.exec(ctx, insertSession, sessionArgs(x.Key)...))
		if err != nil {
			return err
		}
	}
	if d.Body.Size > 0 {
		if err := s.addBlob(ctx, rows.Column(x.Key.Tenant), d); err != nil {
			return err
		}
	}
	var find1, find2 any
	if d.Label != "" {
		find1, find2 = findKeys(x.Key.Tenant, d.Kind, d.Label)
	}
	var err error
	label, data := s.base.Keys.Column([]byte(d.Label), "label"), s.base.Keys.Column(d.Data, "data")
	x.Newest, err = lastID(s.exec(ctx, insertEntry, x.ID, d.Seq, d.Prev, rows.Column(d.Kind), label,
		d.Time.UnixMilli(), d.BodySize, rows.HashColumn(d.BodyHash), rows.HashColumn(d.TextHash), find1, find2,
		d.Sum(x.Key), data))
	if err == nil && !d.TextHash.IsZero() {
		_, err = s.exec(ctx, "INSERT INTO pending(session, entry, done) VALUES(?, ?, 0)", x.ID, x.Newest)
	}
	if err != nil || !d.OwnText() {
		return err
	}
	if d.ID != 0 {
		_, err = s.exec(ctx, copyText, x.Newest, d.ID)
	} else {
		_, err = s.exec(ctx, insertText, x.Newest, d.Text.Size, d.Text.Codec, d.Text.Data)
	}
	return err
}

// findKeys are the two ways to find an entry by its label.
func findKeys(tenant string, kind store.EntryKind, label string) (find1, find2 int64) {
	h := rows.FindKey(tenant, kind, label)
	return int64(binary.BigEndian.Uint64(h)), int64(binary.BigEndian.Uint64(h[8:]))
}

// addBlob stores a body unless the tenant has it already. If so, the stored one is checked:
// an Append must not rely on damaged bytes, and can repair them.
func (s *Store) addBlob(ctx context.Context, tenant []byte, d *rows.Draft) error {
	hash, b := d.BodyHash[:], d.Body
	n, err := affected(s.exec(ctx, insertBlob, tenant, hash, b.Size, b.Codec, b.Data))
	if err != nil || n == 1 {
		return err
	}
	var there rows.Blob
	err = s.get(ctx, "SELECT size, codec, data FROM blob WHERE hash = ? AND tenant = ?", []any{hash, tenant},
		&there.Size, &there.Codec, &there.Data)
	if err == nil {
		if _, err = s.base.Keys.Unpack(there, d.BodySize, d.BodyHash); err == nil {
			return nil
		}
	}
	if code(err) != 0 || errors.Is(err, sql.ErrNoRows) || errors.Is(err, rows.ErrKey) {
		return err
	}
	s.base.Log.Warn("mended a damaged body", "hash", d.BodyHash)
	_, err = s.exec(ctx, "UPDATE blob SET size = ?, codec = ?, data = ? WHERE hash = ? AND tenant = ?",
		b.Size, b.Codec, b.Data, hash, tenant)
	return err
}
