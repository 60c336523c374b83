package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
)

func TestTenants(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pleat.db"))
	for _, key := range []store.SessionKey{
		{Tenant: "b", Session: "1"}, {Session: "1"}, {Tenant: "a\xff", Session: "1"}, {Tenant: "b", Session: "2"},
	} {
		put(t, st, key, 0, store.Entry{Kind: store.EntryNote})
	}
	got, err := st.Tenants(t.Context())
	if d := difftest.Values([]string{"", "a\xff", "b"}, got); d != "" || err != nil {
		t.Errorf("%v, tenants (-want +got):\n%s", err, d)
	}
}
