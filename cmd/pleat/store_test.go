package main

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/store"
)

// A proxy's bill is in the store and is listed only for who asks for its tenant.
func TestListWithoutBill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pleat.db")
	st, err := stores.OpenAt(t.Context(), path, stores.MakeMissing)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []store.SessionKey{{Tenant: bill.Tenant, Session: "bill"}, {Tenant: "me", Session: "work"}} {
		_, failed := st.Append(t.Context(), key, 0, store.Entry{Kind: store.EntryBill})
		err = errors.Join(err, failed)
	}
	if err = errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	for tenant, want := range map[string]string{"": "work\n", bill.Tenant: "bill\n"} {
		if out, stderr, code := cli(t, path, "store", "list", "--names", "--tenant", tenant); code != 0 || out != want {
			t.Errorf("tenant %q: exit %d: %q %s", tenant, code, out, stderr)
		}
	}
}
