package postgres

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

const (
	entryColumns = "e.moment, " + rows.EntryColumns
	// A session is found by the hash over its names; the names are compared as well.
	sessionWhere  = "s.hash = $1 AND s.tenant = $2 AND s.name = $3"
	selectSession = "SELECT " + rows.SessionColumns + " FROM pleat.session s WHERE " + sessionWhere
	selectEntries = "SELECT " + entryColumns + " FROM pleat.entry e WHERE e.session = $1 AND e.seq >= $2"
	// One statement sees one snapshot: the session, its entry and the body, or none.
	selectBody = "SELECT " + entryColumns + ", b.size, b.codec, b.data FROM pleat.session s " +
		"JOIN pleat.entry e ON e.session = s.id AND e.body = $4 " +
		"LEFT JOIN pleat.blob b ON b.hash = e.body AND b.owner = s.owner WHERE " + sessionWhere + " LIMIT 1"
	// The body is needed only for a text that is the body.
	selectText = "SELECT " + entryColumns + ", " + rows.TextColumns + `
		FROM pleat.entry e JOIN pleat.session s ON s.id = e.session
		LEFT JOIN pleat.text t ON t.session = e.session AND t.seq = e.seq
		LEFT JOIN pleat.blob b ON e.text = e.body AND b.hash = e.body AND b.owner = s.owner
		WHERE e.session = $1 AND e.seq = $2`
)

// ownerOf is the number of a tenant: 8 bytes of a hash. If two tenants ever had the same
// one, their names would still tell them apart.
func ownerOf(tenant string) int64 {
	return int64(binary.BigEndian.Uint64(rows.KeyOf("tenant", tenant)))
}

func sessionArgs(key store.SessionKey, more ...any) []any {
	return append([]any{rows.SessionHash(key), rows.Column(key.Tenant), rows.Column(key.Session)}, more...)
}

func (t tables) Session(ctx context.Context, key store.SessionKey) (x *rows.Session, err error) {
	err = t.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		x, err = t.base.ReadSessionOf(key, conn.QueryRow(ctx, selectSession, sessionArgs(key)...))
		return err
	})
	return x, err
}

func (t tables) Page(
	ctx context.Context, x *rows.Session, from uint64, most int, kinds []store.EntryKind,
) ([]*rows.Record, error) {
	text, args := selectEntries+" ORDER BY e.seq LIMIT $3", []any{x.ID, int64(from), most}
	if len(kinds) > 0 {
		list := make([][]byte, len(kinds))
		for i, kind := range kinds {
			list[i] = rows.Column(kind)
		}
		text, args = selectEntries+" AND e.kind = ANY($4) ORDER BY e.seq LIMIT $3", append(args, list)
	}
	read := func(row rows.Scanner) (*rows.Record, error) { return t.base.ReadEntry(row, x.Key) }
	return collect(ctx, t.read, read, text, args...)
}

// Body implements [store.Store].
func (s *Store) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) (body []byte, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		var data []byte
		body, err = rows.ReadBody(&s.base, conn.QueryRow(ctx, selectBody, sessionArgs(key, hash[:])...), key,
			hash, &data)
		return err
	})
	return body, s.base.Fail(ctx, err, "read body %v of session %q", hash, key)
}

// selectFound finds the newest entry for each key, and only those of the tenant.
const selectFound = "SELECT " + entryColumns + `, s.tenant, s.name FROM unnest($1::bytea[]) AS k(find)
	CROSS JOIN LATERAL (SELECT * FROM pleat.entry n WHERE n.find = k.find ORDER BY n.moment DESC, n.seq DESC LIMIT 1) e
	JOIN pleat.session s ON s.id = e.session WHERE s.owner = $2 AND s.tenant = $3`

func (t tables) Find(ctx context.Context, tenant string, kind store.EntryKind, labels []string) ([]store.Found, error) {
	keys := make([][]byte, len(labels))
	for i, label := range labels {
		keys[i] = rows.FindKey(tenant, kind, label)
	}
	asked := func(r *rows.Record) bool {
		_, ok := slices.BinarySearch(labels, r.Label)
		return ok
	}
	read := func(row rows.Scanner) (store.Found, error) { return t.base.ReadFound(row, tenant, kind, asked) }
	return collect(ctx, t.retry, read, selectFound, keys, ownerOf(tenant), rows.Column(tenant))
}
