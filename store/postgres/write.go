package postgres

import (
	"bytes"
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/transcript"
)

// One statement writes many rows, from arrays; these bound one array.
const (
	writeRows  = 1000
	writeBytes = 16 << 20
)

const (
	insertBlobs = `INSERT INTO pleat.blob(owner, size, codec, hash, data)
		SELECT $1, * FROM unnest($2::bigint[], $3::smallint[], $4::bytea[], $5::bytea[]) ON CONFLICT (hash, owner) DO `
	mendBlobs     = insertBlobs + "UPDATE SET size = excluded.size, codec = excluded.codec, data = excluded.data"
	insertEntries = `INSERT INTO pleat.entry(
			session, moment, seq, prev, time, size, kind, label, body, text, find, sum, data)
		SELECT $1, $2, * FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
			$7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bytea[])`
	insertTexts = `INSERT INTO pleat.text(session, seq, size, codec, data)
		SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::smallint[], $5::bytea[])`
	copyTexts = `INSERT INTO pleat.text(session, seq, size, codec, data)
		SELECT $1, seq, size, codec, data FROM pleat.text WHERE session = $2 AND seq <= $3`
	insertPending = "INSERT INTO pleat.pending(session, seq, done) SELECT $1, *, 0 FROM unnest($2::bigint[])"
	// The ID of the key that encrypts is the token of a claim that does not end. Everybody reads it before each
	// commit: who has not that key would go on in plain text, or with one that was taken from use.
	sealer    = `token FROM pleat.claim WHERE work = 'sealed'`
	setSealer = `INSERT INTO pleat.claim(work, token, expires) VALUES('sealed', $1, 'infinity')
		ON CONFLICT (work) DO UPDATE SET token = excluded.token`
	updateSession = `UPDATE pleat.session
		SET head = $1, kinds = $2, bytes = $3, first = $4, last = $5, newest = $6, sum = $7 WHERE id = $8 AND head = $9`
)

// writeEntries writes everything and commits, in one round trip. There has the bodies that
// are stored already, with false for those that are damaged.
func (s *Store) writeEntries(
	ctx context.Context, conn *pgxpool.Conn, a *appending, x *rows.Session, there map[transcript.Hash]bool,
) error {
	batch := &pgx.Batch{}
	fresh := table{insert: insertBlobs + "NOTHING", fixed: []any{a.owner}}
	mended := table{insert: mendBlobs, fixed: []any{a.owner}}
	entries := table{insert: insertEntries, fixed: []any{x.ID, x.Newest}}
	texts := table{insert: insertTexts, fixed: []any{x.ID}}
	keys := s.base.Keys
	var pending []int64
	for i := range a.drafts {
		d := &a.drafts[i]
		x.Add(d)
		if good, known := there[d.BodyHash]; d.Body.Size > 0 && !good {
			blobs := &fresh
			if known {
				blobs = &mended
			}
			blobs.add(batch, []int64{int64(d.Body.Size), int64(d.Body.Codec)}, d.BodyHash[:], d.Body.Data)
			there[d.BodyHash] = true
		}
		var find []byte
		if d.Label != "" {
			find = rows.FindKey(x.Key.Tenant, d.Kind, d.Label)
		}
		entries.add(batch, []int64{int64(d.Seq), int64(d.Prev), d.Time.UnixMilli(), int64(d.BodySize)},
			rows.Column(d.Kind), keys.Column([]byte(d.Label), "label"), rows.HashColumn(d.BodyHash),
			rows.HashColumn(d.TextHash), find, d.Sum(x.Key), keys.Column(d.Data, "data"))
		if !d.TextHash.IsZero() {
			pending = append(pending, int64(d.Seq))
		}
		if a.source == nil && d.OwnText() {
			texts.add(batch, []int64{int64(d.Seq), int64(d.Text.Size), int64(d.Text.Codec)}, d.Text.Data)
		}
	}
	for _, t := range []*table{&fresh, &mended, &entries, &texts} {
		t.queue(batch)
	}
	if a.source != nil {
		batch.Queue(copyTexts, x.ID, a.source.ID, int64(len(a.drafts)))
	}
	if len(pending) > 0 {
		batch.Queue(insertPending, x.ID, pending)
	}
	batch.Queue(updateSession, append(x.Values(), int64(a.last))...)
	if id := keys.ID(); !bytes.Equal(id, a.sealer) {
		batch.Queue(setSealer, id)
	}
	batch.Queue("COMMIT")
	return conn.SendBatch(ctx, batch).Close()
}

// table collects rows for a table, column by column: first the numbers, then the bytes, of
// which the last column is large.
type table struct {
	insert  string
	fixed   []any // before the columns
	numbers [][]int64
	bytes   [][][]byte
	size    int
}

func (t *table) add(batch *pgx.Batch, numbers []int64, bytes ...[]byte) {
	if t.numbers == nil {
		t.numbers, t.bytes = make([][]int64, len(numbers)), make([][][]byte, len(bytes))
	}
	for i, n := range numbers {
		t.numbers[i] = append(t.numbers[i], n)
	}
	for i, b := range bytes {
		t.bytes[i] = append(t.bytes[i], b)
	}
	if t.size += len(bytes[len(bytes)-1]); t.size >= writeBytes || len(t.numbers[0]) >= writeRows {
		t.queue(batch)
	}
}

func (t *table) queue(batch *pgx.Batch) {
	if t.numbers == nil {
		return
	}
	args := append([]any{}, t.fixed...)
	for _, column := range t.numbers {
		args = append(args, column)
	}
	for _, column := range t.bytes {
		args = append(args, column)
	}
	batch.Queue(t.insert, args...)
	t.numbers, t.bytes, t.size = nil, nil, 0
}
