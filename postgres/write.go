package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/packed"
)

// One statement writes many rows, from arrays; these bound one array.
const (
	writeRows  = 1000
	writeBytes = 16 << 20
)

const (
	insertBlobs = `INSERT INTO pleat.blob(owner, hash, size, codec, data)
		SELECT $1, * FROM unnest($2::bytea[], $3::bigint[], $4::smallint[], $5::bytea[]) ON CONFLICT (hash, owner) DO `
	insertEntries = `INSERT INTO pleat.entry(session, moment, seq, prev, time, size, kind, label, body, text, find, sum, data)
		SELECT $1, $2, * FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
			$7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bytea[])`
	insertTexts = `INSERT INTO pleat.text(session, seq, size, codec, data)
		SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::smallint[], $5::bytea[])`
	insertPending = "INSERT INTO pleat.pending(session, seq, done) SELECT $1, *, 0 FROM unnest($2::bigint[])"
	updateSession = `UPDATE pleat.session SET head = $1, kinds = $2, bytes = $3, first = $4, last = $5, newest = $6, sum = $7
		WHERE id = $8 AND head = $9`
)

// writeEntries writes everything and commits, in one round trip. There says which
// bodies need not be written; false means that what is there is damaged.
func (s *Store) writeEntries(ctx context.Context, conn *pgxpool.Conn, a *appending, x *session, there map[pleat.Hash]bool) error {
	batch := &pgx.Batch{}
	var fresh, mended blobRows
	var texts textRows
	var pending []int64
	var entries entryRows
	for i := range a.drafts {
		d := &a.drafts[i]
		x.add(d)
		if good, known := there[d.BodyHash]; d.BodySize > 0 && !good {
			if known {
				mended.add(batch, a.owner, "UPDATE SET size = excluded.size, codec = excluded.codec, data = excluded.data", d)
			} else {
				fresh.add(batch, a.owner, "NOTHING", d)
			}
			there[d.BodyHash] = true
		}
		entries.add(batch, x, d)
		if d.textHash.IsZero() {
			continue
		}
		pending = append(pending, int64(d.Seq))
		if d.textHash != d.BodyHash {
			texts.add(batch, x.id, d)
		}
	}
	fresh.queue(batch, a.owner, "NOTHING")
	mended.queue(batch, a.owner, "UPDATE SET size = excluded.size, codec = excluded.codec, data = excluded.data")
	entries.queue(batch, x)
	texts.queue(batch, x.id)
	if len(pending) > 0 {
		batch.Queue(insertPending, x.id, pending)
	}
	batch.Queue(updateSession, int64(x.head), packed.EncodeKinds(x.kinds), x.bytes, x.first, x.last, x.newest, x.sum(), x.id, int64(a.last))
	batch.Queue("COMMIT")
	return conn.SendBatch(ctx, batch).Close()
}

// add takes an entry into the session's figures and gives it its numbers.
func (x *session) add(d *draft) {
	x.head++
	d.Seq, d.prev = x.head, x.kinds[d.Kind]
	x.kinds[d.Kind] = d.Seq
	x.bytes += int64(d.BodySize)
	x.last = d.Time.UnixMilli()
}

// The rows of one table, column by column.
type (
	blobRows struct {
		hashes, data [][]byte
		sizes        []int64
		codecs       []int16
		bytes        int
	}
	textRows struct {
		seqs, sizes []int64
		codecs      []int16
		data        [][]byte
		bytes       int
	}
	entryRows struct {
		seqs, prevs, times, sizes                       []int64
		kinds, labels, bodies, texts, finds, sums, data [][]byte
		bytes                                           int
	}
)

func (b *blobRows) add(batch *pgx.Batch, owner int64, conflict string, d *draft) {
	hash := d.BodyHash
	b.hashes = append(b.hashes, hash[:])
	b.sizes = append(b.sizes, int64(d.body.Size))
	b.codecs = append(b.codecs, int16(d.body.Codec))
	b.data = append(b.data, d.body.Data)
	if b.bytes += len(d.body.Data); b.bytes >= writeBytes || len(b.data) >= writeRows {
		b.queue(batch, owner, conflict)
	}
}

func (b *blobRows) queue(batch *pgx.Batch, owner int64, conflict string) {
	if len(b.data) > 0 {
		batch.Queue(insertBlobs+conflict, owner, b.hashes, b.sizes, b.codecs, b.data)
		*b = blobRows{}
	}
}

func (t *textRows) add(batch *pgx.Batch, session int64, d *draft) {
	t.seqs = append(t.seqs, int64(d.Seq))
	t.sizes = append(t.sizes, int64(d.text.Size))
	t.codecs = append(t.codecs, int16(d.text.Codec))
	t.data = append(t.data, d.text.Data)
	if t.bytes += len(d.text.Data); t.bytes >= writeBytes || len(t.data) >= writeRows {
		t.queue(batch, session)
	}
}

func (t *textRows) queue(batch *pgx.Batch, session int64) {
	if len(t.data) > 0 {
		batch.Queue(insertTexts, session, t.seqs, t.sizes, t.codecs, t.data)
		*t = textRows{}
	}
}

func (e *entryRows) add(batch *pgx.Batch, x *session, d *draft) {
	var find []byte
	if d.Label != "" {
		find = findKey(x.key.Tenant, d.Kind, d.Label)
	}
	e.seqs = append(e.seqs, int64(d.Seq))
	e.prevs = append(e.prevs, int64(d.prev))
	e.times = append(e.times, d.Time.UnixMilli())
	e.sizes = append(e.sizes, int64(d.BodySize))
	e.kinds = append(e.kinds, column(d.Kind))
	e.labels = append(e.labels, column(d.Label))
	e.bodies = append(e.bodies, hashColumn(d.BodyHash))
	e.texts = append(e.texts, hashColumn(d.textHash))
	e.finds = append(e.finds, find)
	e.sums = append(e.sums, d.sum(x.key))
	e.data = append(e.data, column(d.Data))
	if e.bytes += len(d.Data); e.bytes >= writeBytes || len(e.data) >= writeRows {
		e.queue(batch, x)
	}
}

func (e *entryRows) queue(batch *pgx.Batch, x *session) {
	if len(e.data) > 0 {
		batch.Queue(insertEntries, x.id, x.newest, e.seqs, e.prevs, e.times, e.sizes,
			e.kinds, e.labels, e.bodies, e.texts, e.finds, e.sums, e.data)
		*e = entryRows{}
	}
}
