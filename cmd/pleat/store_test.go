package main

import (
	"errors"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/store"
)

func TestDataFolder(t *testing.T) {
	for _, c := range []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", map[string]string{"HOME": "/home/me"}, "/home/me/.local/share"},
		{"linux", map[string]string{"HOME": "/home/me", "XDG_DATA_HOME": "/data"}, "/data"},
		{"linux", map[string]string{"HOME": "/home/me", "XDG_DATA_HOME": "data"}, "/home/me/.local/share"},
		{"linux", nil, ""},
		{"darwin", map[string]string{"HOME": "/Users/me", "XDG_DATA_HOME": "/data"}, "/Users/me/Library/Application Support"},
		{"windows", map[string]string{"LocalAppData": "/C/Local"}, "/C/Local"},
		{"windows", map[string]string{"USERPROFILE": "/C/me"}, "/C/me/AppData/Local"},
		{"windows", nil, ""},
	} {
		got := filepath.ToSlash(term.DataFolder(c.goos, func(name string) string { return c.env[name] }))
		if got != c.want && runtime.GOOS != "windows" {
			t.Errorf("%s %v: %q, want %q", c.goos, c.env, got, c.want)
		}
	}
}

// A proxy's bill is in the store and is listed only for who asks for its tenant.
func TestListWithoutBill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pleat.db")
	st, err := openStoreAt(t.Context(), path, makeMissing)
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
