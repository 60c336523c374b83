package doctor

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/store"
)

// What is wrong is said with what to do about it; a report without problems has none.
func TestExamine(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "{}")
	}))
	defer other.Close()
	address := strings.TrimPrefix(other.URL, "http://")
	env := map[string]string{
		"OPENAI_API_KEY": `"quoted"`, "HTTP_PROXY": "http://web:3128", "ANTHROPIC_BASE_URL": "http://me:hunter2@host",
	}
	o := Options{
		Listen: address, Start: "pleat proxy", Getenv: func(name string) string { return env[name] },
		Wrong: errors.New("read pleat.toml: line 3"),
		Open: func(context.Context) (library.Store, string, error) {
			return nil, "postgres://me:hunter2@host/db", errors.New("connect to postgres://me:hunter2@host/db")
		},
	}
	r := Examine(t.Context(), o)
	if r.Problems() != 5 {
		t.Errorf("%d problems", r.Problems())
	}
	for what, want := range map[string]string{
		"config": "line 3", "store": "connect to postgres://me:xxxxx@host/db", "keys": "OPENAI_API_KEY has spaces, quotes",
		"proxy": "another program answers at " + address, "network": "NO_PROXY does not name 127.0.0.1",
	} {
		found := ""
		for _, c := range r.Checks {
			if c.What == what && c.State == "wrong" && c.Do != "" {
				found += c.Found
			}
		}
		if !strings.Contains(found, want) || strings.Contains(found, "hunter2") {
			t.Errorf("%s: %q, want %q", what, found, want)
		}
	}
	clear(env)
	env["OPENAI_API_KEY"] = "key"
	o.Wrong, o.Settings, o.Outside, o.Listen = nil, []string{"pleat.toml"}, true, "127.0.0.1:0"
	o.Open = func(context.Context) (library.Store, string, error) { return store.NewMemory(), "memory", nil }
	if r = Examine(t.Context(), o); r.Problems() != 0 {
		t.Errorf("%+v", r.Checks)
	}
}
