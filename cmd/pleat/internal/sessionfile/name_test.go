package sessionfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
)

// Who is to choose a session is offered what is in the store too, by the titles that lists have, and
// told that there are more.
func TestOffer(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".claude", "projects", "-shop")
	difftest.Must(t, os.MkdirAll(dir, 0o700))
	said := `{"type":"user","sessionId":"s","cwd":"/shop","uuid":"u1","message":{"role":"user","content":"` +
		strings.Repeat("Long words. ", 60_000) + `"}}` + "\n"
	for i := range 10 {
		titled := fmt.Sprintf(`{"type":"ai-title","sessionId":"s","aiTitle":"Title %d"}`+"\n", i)
		difftest.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("s%d.jsonl", i)), []byte(said+titled), 0o600))
	}
	var told bytes.Buffer
	env := map[string]string{"HOME": home, "PLEAT_STORE": filepath.Join(home, "pleat.db")}
	p := &term.Console{
		Stdin: strings.NewReader(""), Stdout: &told, Stderr: &told, Getenv: func(v string) string { return env[v] },
	}
	flags := &stores.Flags{Path: env["PLEAT_STORE"]}
	st, err := stores.Open(t.Context(), p, flags)
	difftest.Must(t, err)
	s, err := pleat.OpenSession(t.Context(), st, store.SessionKey{Tenant: "key-1", Session: "proxied"}, nil)
	if err == nil {
		err = s.Append(t.Context(), pleat.User("Through the proxy."))
	}
	difftest.Must(t, err)
	difftest.Must(t, st.Close())
	all, end := catalogue(t.Context(), p, flags)
	defer end()
	list, err := offer(t.Context(), p, all)
	if err != nil || len(list) != 9 || list[0].Key.String() != "key-1/proxied" {
		t.Fatal(list, err)
	}
	for _, want := range []string{"stored       Through the proxy.", "claude-code  Title ", "2 older ones"} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("no %q in %s", want, told.String())
		}
	}
	if strings.Contains(told.String(), "Long words") {
		t.Errorf("another title than that of the list: %s", told.String())
	}
}
