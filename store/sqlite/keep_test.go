package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
)

func TestTenants(t *testing.T) {
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "pleat.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
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
