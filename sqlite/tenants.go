package sqlite

import (
	"context"
)

// Tenants lists the tenants that have sessions, in order of name: for the owner of the
// file, who checks or keeps all of it.
func (s *Store) Tenants(ctx context.Context) ([]string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, s.fail(ctx, err, "list tenants")
	}
	defer s.work.Done()
	rows, err := s.read.QueryContext(ctx, "SELECT DISTINCT tenant FROM session ORDER BY tenant")
	if err != nil {
		return nil, s.fail(ctx, err, "list tenants")
	}
	defer rows.Close()
	var tenants []string
	for rows.Next() {
		var name []byte
		if err := rows.Scan(&name); err != nil {
			return nil, s.fail(ctx, err, "list tenants")
		}
		tenants = append(tenants, string(name))
	}
	return tenants, s.fail(ctx, rows.Err(), "list tenants")
}
