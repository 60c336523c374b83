//go:build unix

package stores

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was meant as an address makes no file, whose name would show the password.
func TestMistypedAddress(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, address := range []string{
		"'postgres://u:hunter2@h/d'", `"postgres://u:hunter2@h/d"`, " postgres://u:hunter2@h/d", "postgress://u:hunter2@h/d",
		"postgress:/u:hunter2@h/d", "postgres:/u:hunter2@h/d", "postgres//u:hunter2@h/d", "'postgres:u:hunter2@h/d'",
		"postgress:u:hunter2@h", "mysql:/u:hunter2@h/d", "\tPostgreSQL:///d",
		"host=127.0.0.1 user=u password=hunter2 dbname=x", "jdbc:postgresql://u:hunter2@h/d", "=postgres://u:hunter2@h/d",
		"“postgres://u:hunter2@h/d", "u:hunter2@h/d", "postgres;//u:hunter2@h/d", "password = hunter2",
		"//u:hunter2@h/d", "/u:hunter2@h/d", "u:hunter2/x@h/d", "u@h:hunter2@h/d", "sslmode=disable password=hunter2",
		"connect_timeout=9 passfile=x sslpassword=hunter2", "db.example.com:5432/x?user=u&password=hunter2",
	} {
		st, err := OpenAt(t.Context(), address, MakeMissing)
		if err == nil {
			st.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "postgres://user:password@host:5432/database") ||
			strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "unknown") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if files, err := filepath.Glob("*"); err != nil || len(files) > 0 {
		t.Errorf("made %q, %v", files, err)
	}
	must(t, errors.Join(os.MkdirAll("postgres/it's:", 0o700), os.Mkdir("u:x@h", 0o700)))
	for _, path := range []string{
		"plain.db", "postgres.db", "postgres/x.db", "postgres/it's:/u@h.db", "./mysql:x", "a:b", "my store", "u:x@h/d",
	} {
		st, err := OpenAt(t.Context(), path, MakeMissing)
		if err != nil {
			t.Error(err)
			continue
		}
		st.Close()
	}
}
