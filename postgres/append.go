package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/packed"
)

// draft is an entry on its way into the store: hashed and compressed before anything is
// locked.
type draft struct {
	record
	body packed.Blob
	text packed.Blob
}

// appending is one Append through all its attempts.
type appending struct {
	key       pleat.SessionKey
	owner     int64
	last      uint64
	drafts    []draft
	bodies    map[pleat.Hash]*draft // one for each body
	uncertain []string              // transactions of which it is not known whether they were committed
	head      uint64
}

// Append implements [pleat.Store]. If the connection is lost while the entries are
// committed and the server does not come back in time, the error is [ErrUncertain];
// after any other error none of them is there.
func (s *Store) Append(ctx context.Context, key pleat.SessionKey, last uint64, entries ...pleat.Entry) (uint64, error) {
	if err := s.enterWriting(ctx); err != nil {
		return 0, fmt.Errorf("append to session %q: %w", key, err)
	}
	defer s.work.Done()
	a := &appending{key: key, owner: ownerOf(key.Tenant), last: last, drafts: make([]draft, len(entries)), bodies: make(map[pleat.Hash]*draft)}
	indexable := false
	for i, e := range entries {
		if e.Kind == "" {
			return 0, fmt.Errorf("append to session %q: entry %d has no kind", key, i)
		}
		a.drafts[i] = newDraft(e)
		if d := &a.drafts[i]; d.BodySize > 0 {
			a.bodies[d.BodyHash] = d
		}
		indexable = indexable || e.Text != ""
	}
	if err := s.appendTo(ctx, a); err != nil {
		return 0, s.fail(ctx, err, "append to session %q", key)
	}
	if indexable {
		s.wakeIndexer()
	}
	return a.head, nil
}

// newDraft does all that can be done without the server.
func newDraft(e pleat.Entry) draft {
	var d draft
	d.Entry = pleat.Entry{
		Kind: e.Kind, Label: e.Label, Time: time.UnixMilli(e.Time.UnixMilli()),
		Data: e.Data, BodySize: len(e.Body),
	}
	if len(e.Body) > 0 {
		d.BodyHash = pleat.HashOf(e.Body)
		d.body = packed.Pack(e.Body)
	}
	if e.Text != "" {
		if d.textHash = pleat.HashOf(e.Text); d.textHash != d.BodyHash {
			d.text = packed.PackText(e.Text)
		}
	}
	return d
}

// appendTo tries until it is known what happened. As long as a commit is in doubt it
// goes on without regard to the caller's context: the answer is worth more than haste.
func (s *Store) appendTo(ctx context.Context, a *appending) error {
	try := func(ctx context.Context, conn *pgxpool.Conn) error { return s.tryAppend(ctx, conn, a) }
	err := s.retry(ctx, try)
	if err != nil && ctx.Err() != nil && len(a.uncertain) > 0 && worthRetry(err) {
		err = s.retry(context.WithoutCancel(ctx), try)
	}
	if err != nil && len(a.uncertain) > 0 && !errors.Is(err, pleat.ErrConflict) && !errors.Is(err, pleat.ErrCorrupt) {
		return fmt.Errorf("%s: %w: %v", s.name, ErrUncertain, err)
	}
	return err
}

// tryAppend is one attempt: what is there is locked and read in one round trip, what is
// new is written and committed in another.
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
	head := uint64(0)
	if x != nil {
		head = x.head
	}
	if head != a.last {
		if done, err := s.wasAppended(ctx, conn, a, x); done || err != nil {
			return errors.Join(err, rollback(finish, conn))
		}
		return fmt.Errorf("after entry %d: its last entry is %d: %w", a.last, head, pleat.ErrConflict)
	}
	if len(a.drafts) == 0 {
		a.head = head
		return rollback(finish, conn)
	}
	if x.id == 0 {
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
	a.head = x.head
	return nil
}

func rollback(ctx context.Context, conn *pgxpool.Conn) error {
	_, err := conn.Exec(ctx, "ROLLBACK")
	return err
}

// lockSession begins a transaction, locks the session and reads it, and which of the
// bodies the tenant has already. A session that is not there comes back without an id.
//
// The shared lock on the tenant keeps Forget from deleting a body that is about to be
// used. The moment is taken under the session's lock, so moments grow within a session.
func (s *Store) lockSession(ctx context.Context, conn *pgxpool.Conn, a *appending) (x *session, xid string, there map[pleat.Hash]bool, err error) {
	x, there = nil, make(map[pleat.Hash]bool)
	var moment int64
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	batch.Queue("SELECT pg_advisory_xact_lock_shared($1)", a.owner)
	batch.Queue(selectSession+" FOR UPDATE", sessionArgs(a.key)...).QueryRow(func(row pgx.Row) (err error) {
		x, err = s.readSessionOf(a.key, row)
		return err
	})
	if len(a.drafts) > 0 {
		batch.Queue("SELECT nextval('pleat.moment'), pg_current_xact_id()::text").QueryRow(func(row pgx.Row) error {
			return row.Scan(&moment, &xid)
		})
	}
	if len(a.bodies) > 0 {
		hashes := make([][]byte, 0, len(a.bodies))
		for hash := range a.bodies {
			hashes = append(hashes, hash[:])
		}
		batch.Queue("SELECT hash, size, codec, data FROM pleat.blob WHERE owner = $1 AND hash = ANY($2)", a.owner, hashes).
			Query(func(rows pgx.Rows) error { return s.checkBodies(rows, a, there) })
	}
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, "", nil, err
	}
	if x == nil {
		x = &session{key: a.key, kinds: make(map[pleat.EntryKind]uint64)}
	}
	x.newest = max(moment, x.newest)
	return x, xid, there, nil
}

// checkBodies notes which bodies the tenant has. An Append must not rely on bytes that
// have gone bad, and can mend them: those are noted with false.
func (s *Store) checkBodies(rows pgx.Rows, a *appending, there map[pleat.Hash]bool) error {
	defer rows.Close()
	for rows.Next() {
		var hash []byte
		var p packed.Blob
		if err := rows.Scan(&hash, &p.Size, &p.Codec, &p.Data); err != nil {
			return err
		}
		var h pleat.Hash
		if !setHash(&h, hash) || a.bodies[h] == nil {
			continue
		}
		_, err := p.Unpack(a.bodies[h].BodySize, h)
		if there[h] = err == nil; err != nil {
			s.log.Warn("mended a damaged body", "store", s.name, "hash", h, "err", err)
		}
	}
	return rows.Err()
}

// wasAppended finds out whether an earlier attempt, whose connection was lost, was
// committed after all: its transaction must have been, and its entries be there. That
// the session is locked means that no such transaction is still under way.
func (s *Store) wasAppended(ctx context.Context, conn *pgxpool.Conn, a *appending, x *session) (bool, error) {
	if len(a.uncertain) == 0 || x.head < a.last+uint64(len(a.drafts)) {
		return false, nil
	}
	committed := false
	for _, xid := range a.uncertain {
		var status *string
		err := conn.QueryRow(ctx, "SELECT pg_xact_status($1::text::xid8)", xid).Scan(&status)
		if code(err) == codeInvalidValue { // a server that has never heard of it
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
	rows, err := conn.Query(ctx, "SELECT seq, sum FROM pleat.entry WHERE session = $1 AND seq > $2 AND seq <= $3 ORDER BY seq",
		x.id, a.last, a.last+uint64(len(a.drafts)))
	if err != nil {
		return false, err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var seq uint64
		var sum []byte
		if err := rows.Scan(&seq, &sum); err != nil {
			return false, err
		}
		if d := &a.drafts[n]; seq != d.Seq || !bytes.Equal(sum, d.sum(a.key)) {
			return false, nil
		}
	}
	a.head = a.last + uint64(len(a.drafts))
	return n == len(a.drafts), rows.Err()
}

// addSession makes the row of a new session. If somebody else makes the same at the
// same time this waits for them, and if they succeed everything begins anew.
func (s *Store) addSession(ctx context.Context, conn *pgxpool.Conn, a *appending, x *session) error {
	x.first = a.drafts[0].Time.UnixMilli()
	err := conn.QueryRow(ctx, `INSERT INTO pleat.session(owner, hash, head, bytes, first, last, newest, tenant, name, kinds, sum)
		VALUES($1, $2, 0, 0, 0, 0, 0, $3, $4, '', '') ON CONFLICT (hash) DO NOTHING RETURNING id`,
		a.owner, sessionHash(a.key), column(a.key.Tenant), column(a.key.Session)).Scan(&x.id)
	if errors.Is(err, pgx.ErrNoRows) {
		return errAgain
	}
	return err
}
