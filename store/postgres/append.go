package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// appending is one Append through all its attempts.
type appending struct {
	key       store.SessionKey
	owner     int64
	last      uint64
	drafts    []rows.Draft
	source    *rows.Session                   // what the drafts are copies of, if they are
	bodies    map[transcript.Hash]*rows.Draft // one for each body; some may be stored already
	sealer    []byte                          // ID of the key that the store was encrypted with last; nil: it was not
	uncertain []string                        // transactions of which it is not known whether they were committed
	head      uint64
}

func (t tables) Append(
	ctx context.Context, key store.SessionKey, last uint64, drafts []rows.Draft, source *rows.Session,
) (uint64, error) {
	a := &appending{
		key: key, owner: ownerOf(key.Tenant), last: last, drafts: drafts, source: source,
		bodies: make(map[transcript.Hash]*rows.Draft),
	}
	for i := range drafts {
		if d := &drafts[i]; d.Body.Size > 0 {
			a.bodies[d.BodyHash] = d
		}
	}
	err := t.appendTo(ctx, a)
	return a.head, err
}

// appendTo tries until it is known what happened. While a commit is in doubt it goes on
// even if the caller's context is done: knowing is worth the wait.
func (s *Store) appendTo(ctx context.Context, a *appending) error {
	try := func(ctx context.Context, conn *pgxpool.Conn) error { return s.tryAppend(ctx, conn, a) }
	err := s.retry(ctx, try)
	if err != nil && ctx.Err() != nil && len(a.uncertain) > 0 && worthRetry(err) {
		err = s.retry(context.WithoutCancel(ctx), try)
	}
	if err != nil && len(a.uncertain) > 0 && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrCorrupt) {
		return fmt.Errorf("%s: %w: %v", s.name, ErrUncertain, err)
	}
	return err
}

// tryAppend is one attempt: one round trip locks and reads the session, another writes the
// entries and commits. A new session takes one more. If it is not known whether an
// earlier attempt was committed, more are needed to find out.
func (s *Store) tryAppend(ctx context.Context, conn *pgxpool.Conn, a *appending) (err error) {
	finish, cancel := s.finish(ctx)
	defer cancel()
	defer func() {
		if err != nil && !conn.Conn().IsClosed() && conn.Conn().PgConn().TxStatus() != 'I' {
			_, _ = conn.Exec(finish, "ROLLBACK") // else the pool drops the connection
		}
	}()
	x, xid, there, err := s.lockSession(ctx, conn, a)
	if err != nil {
		return err
	}
	if err := x.After(a.last); err != nil {
		if done, err := s.wasAppended(ctx, conn, a, x); done || err != nil {
			return errors.Join(err, rollback(finish, conn))
		}
		return err
	}
	if len(a.drafts) == 0 {
		a.head = x.Head
		return rollback(finish, conn)
	}
	if x.ID == 0 {
		if err := s.addSession(ctx, conn, a, x); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.writeEntries(finish, conn, a, x, there); err != nil {
		if lostConnection(err) || finish.Err() != nil {
			a.uncertain = append(a.uncertain, xid)
		}
		return err
	}
	a.head = x.Head
	return nil
}

func rollback(ctx context.Context, conn *pgxpool.Conn) error {
	_, err := conn.Exec(ctx, "ROLLBACK")
	return err
}

// lockSession begins a transaction, locks and reads the session, and finds out which of
// the bodies the tenant has already. A session that does not exist is returned without an
// id.
//
// The shared lock on the tenant keeps Forget from deleting a body that is about to be
// used. The moment is taken under the session's lock, so moments grow within a session.
func (s *Store) lockSession(
	ctx context.Context, conn *pgxpool.Conn, a *appending,
) (x *rows.Session, xid string, there map[transcript.Hash]bool, err error) {
	x, there = nil, make(map[transcript.Hash]bool)
	var moment int64
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	batch.Queue("SELECT pg_advisory_xact_lock_shared($1)", a.owner)
	if a.source != nil {
		batch.Queue(selectSession, sessionArgs(a.source.Key)...).QueryRow(func(row pgx.Row) error {
			now, err := s.base.ReadSessionOf(a.source.Key, row)
			if err != nil {
				return err
			}
			return a.source.Still(now)
		})
	}
	batch.Queue(selectSession+" FOR UPDATE", sessionArgs(a.key)...).QueryRow(func(row pgx.Row) (err error) {
		x, err = s.base.ReadSessionOf(a.key, row)
		return err
	})
	next := "0::bigint, ''"
	if len(a.drafts) > 0 {
		next = "nextval('pleat.moment'), pg_current_xact_id()::text"
	}
	batch.Queue("SELECT " + next + ", (SELECT " + sealer + "), (" + newestVersion + ")").QueryRow(func(row pgx.Row) error {
		var version int
		err := row.Scan(&moment, &xid, &a.sealer, &version)
		if err == nil {
			_, err = versions.From(version, false)
		}
		if err != nil || a.sealer == nil {
			return err
		}
		return s.base.Keys.Fit(a.sealer)
	})
	if len(a.bodies) > 0 {
		hashes := make([][]byte, 0, len(a.bodies))
		for hash := range a.bodies {
			hashes = append(hashes, hash[:])
		}
		batch.Queue("SELECT hash, size, codec, data FROM pleat.blob WHERE owner = $1 AND hash = ANY($2)",
			a.owner, hashes).
			Query(func(list pgx.Rows) error { return s.checkBodies(list, a, there) })
	}
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, "", nil, err
	}
	if x == nil {
		x = rows.NewSession(0, a.key)
	}
	x.Newest = max(moment, x.Newest)
	return x, xid, there, nil
}

// checkBodies notes which bodies the tenant has. An Append must not rely on damaged bytes,
// and can repair them: those are noted with false.
func (s *Store) checkBodies(list pgx.Rows, a *appending, there map[transcript.Hash]bool) error {
	for row, err := range rows.Each(list, nil) {
		if err != nil {
			return err
		}
		var hash []byte
		var p rows.Blob
		if err := row.Scan(&hash, &p.Size, &p.Codec, &p.Data); err != nil {
			return err
		}
		var h transcript.Hash
		if !rows.SetHash(&h, hash) || a.bodies[h] == nil {
			continue
		}
		_, err := s.base.Keys.Unpack(p, a.bodies[h].BodySize, h)
		if errors.Is(err, rows.ErrKey) {
			return fmt.Errorf("body %v %w", h, err)
		}
		if there[h] = err == nil; err != nil {
			s.base.Log.Warn("mended a damaged body", "hash", h, "err", err)
		}
	}
	return nil
}

// wasAppended finds out whether an earlier attempt, whose connection was lost, was
// committed after all: then the server knows its transaction as committed, and its entries
// are stored. Since the session is locked, no such transaction is still under way.
func (s *Store) wasAppended(ctx context.Context, conn *pgxpool.Conn, a *appending, x *rows.Session) (bool, error) {
	if len(a.uncertain) == 0 || x.Head < a.last+uint64(len(a.drafts)) {
		return false, nil
	}
	committed := false
	for _, xid := range a.uncertain {
		var status *string
		err := conn.QueryRow(ctx, "SELECT pg_xact_status($1::text::xid8)", xid).Scan(&status)
		if code(err) == codeInvalidValue { // the server does not know it
			return false, nil
		}
		if err != nil {
			return false, err
		}
		committed = committed || status != nil && *status == "committed"
	}
	if !committed {
		return false, nil
	}
	n := 0
	const sums = "SELECT seq, sum FROM pleat.entry WHERE session = $1 AND seq > $2 AND seq <= $3 ORDER BY seq"
	for row, err := range rows.Each(conn.Query(ctx, sums, x.ID, a.last, a.last+uint64(len(a.drafts)))) {
		if err != nil {
			return false, err
		}
		var seq uint64
		var sum []byte
		if err := row.Scan(&seq, &sum); err != nil {
			return false, err
		}
		if d := &a.drafts[n]; seq != d.Seq || !bytes.Equal(sum, d.Sum(a.key)) {
			return false, nil
		}
		n++
	}
	a.head = a.last + uint64(len(a.drafts))
	return n == len(a.drafts), nil
}

// addSession inserts the row of a new session. If somebody else inserts the same one at the
// same time, this waits for them, and if they succeed the attempt starts over.
func (s *Store) addSession(ctx context.Context, conn *pgxpool.Conn, a *appending, x *rows.Session) error {
	const insert = `INSERT INTO pleat.session(owner, hash, head, bytes, first, last, newest, tenant, name, kinds, sum)
		VALUES($4, $1, 0, 0, 0, 0, 0, $2, $3, '', '') ON CONFLICT (hash) DO NOTHING RETURNING id`
	err := conn.QueryRow(ctx, insert, sessionArgs(a.key, a.owner)...).Scan(&x.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return errAgain
	}
	return err
}
