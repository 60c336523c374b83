package toolcall

import "testing"

func TestScriptKeeps(t *testing.T) {
	for script, want := range map[string]bool{
		"go test ./...":                     true,
		"time go test ./...":                true,
		"time -p go test ./...":             true,
		"time ./gen.sh":                     false,
		"time -p ./gen.sh":                  false,
		"time gofmt -w .":                   false,
		"gh pr view 12":                     true,
		"gh pr checks 12 | head":            true,
		"gh pr checkout 12":                 false,
		"gh repo sync":                      false,
		"glab mr checkout 12":               false,
		"docker ps":                         true,
		"docker run -v .:/src img make gen": false,
		"docker compose run app gen":        false,
		"curl -d a=b https://e.org/x.go":    true,
		"curl -sSLO https://e.org/x.go?v=1": false,
		"curl -O https://e.org/y.go":        true,
		"curl -OJ https://e.org/y":          false,
		"wget https://e.org/x.go":           false,
		"wget -q https://e.org/y.go":        true,
		"wget -r https://e.org/":            false,
	} {
		if got := ScriptKeeps(script, false, "/app/x.go"); got != want {
			t.Errorf("%s: %v", script, got)
		}
	}
}
