package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Sizes implements [Sizer].
func (m *Memory) Sizes(ctx context.Context) (Sizes, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return Sizes{}, fmt.Errorf("measure store: %w", err)
	}
	tenants := make(map[string]*TenantSize)
	for key, s := range m.sessions {
		t := tenants[key.Tenant]
		if t == nil {
			t = &TenantSize{Tenant: key.Tenant}
			tenants[key.Tenant] = t
		}
		t.Sessions++
		t.Entries += uint64(len(s.entries))
		for _, e := range s.entries {
			t.BodyBytes += int64(e.BodySize)
		}
	}
	var out Sizes
	for at, body := range m.bodies {
		t := tenants[at.tenant]
		t.Bodies++
		t.Stored += int64(len(body))
		out.Bytes += int64(len(body))
	}
	for _, name := range slices.Sorted(maps.Keys(tenants)) {
		out.Tenants = append(out.Tenants, *tenants[name])
	}
	return out, nil
}
