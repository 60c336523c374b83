package toolcall

import "testing"

func TestScriptKeeps(t *testing.T) {
	for script, want := range map[string]bool{
		"go test ./...":                     true,
		"time ./gen.sh":                     false,
		`psql -d db -c "SELECT 1"`:          true,
		`psql -c "\\copy t to x.csv"`:       false,
		"psql -f x.sql":                     false,
		`psql -c "SELECT 1" -o x.txt`:       false,
		"gh pr view 12":                     true,
		"gh pr checks 12 | head":            true,
		"gh pr checkout 12":                 false,
		"gh repo sync":                      false,
		"glab mr checkout 12":               false,
		"docker ps":                         true,
		"docker run -v .:/src img make gen": false,
		"docker compose run app gen":        false,
		"curl -sSLO https://e.org/x.go?v=1": false,
		"wget https://e.org/x.go":           false,
		"curl -s https://e.org/x.go":        true,
		"gofmt -l .":                        false,
		"gofmt -w .":                        false,
		"cargo fmt":                         false,
		"cargo fmt --check":                 true,
		"prettier --check --write src":      false,
	} {
		if got := ScriptKeeps(script, false); got != want {
			t.Errorf("%s: %v", script, got)
		}
	}
}
