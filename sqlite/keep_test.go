package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/sqlite"
)

func TestTenants(t *testing.T) {
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "pleat.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, key := range []pleat.SessionKey{{Tenant: "b", Session: "1"}, {Session: "1"}, {Tenant: "a\xff", Session: "1"}, {Tenant: "b", Session: "2"}} {
		if _, err := store.Append(t.Context(), key, 0, pleat.Entry{Kind: pleat.EntryNote}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := store.Tenants(t.Context())
	if diff := cmp.Diff([]string{"", "a\xff", "b"}, got); diff != "" || err != nil {
		t.Errorf("%v, tenants (-want +got):\n%s", err, diff)
	}
}
