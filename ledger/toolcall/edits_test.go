package toolcall

import (
	"reflect"
	"testing"
)

func TestScriptEdits(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         []Edit
	}{
		{"all of it", "cat > f.txt <<EOF\n\ta\nEOF", []Edit{{Kind: EditWrite, Path: "f.txt", New: "\ta\n"}}},
		{"appended", "cat - >> f.txt <<EOF\na\nEOF", []Edit{{Kind: EditAppend, Path: "f.txt", New: "a\n"}}},
		{"quoted", "cat <<'EOF' > f.txt\n$a\nEOF", []Edit{{Kind: EditWrite, Path: "f.txt", New: "$a\n"}}},
		{"expanded", "cat > f.txt <<EOF\n$a\nEOF", nil},
		{
			"without tabs", "cat > f.txt <<-EOF\n\ta\n\t\t b\tc\n\tEOF",
			[]Edit{{Kind: EditWrite, Path: "f.txt", New: "a\n b\tc\n"}},
		},
		{
			"without tabs, quoted", "cat > f.txt <<-'EOF'\n\t$a\n\tEOF",
			[]Edit{{Kind: EditWrite, Path: "f.txt", New: "$a\n"}},
		},
		{"after another file", "cat head.txt - > f.txt <<EOF\na\nEOF", nil},
		{"with numbers", "cat -n > f.txt <<EOF\na\nEOF", nil},
		{"errors elsewhere", "cat > f.txt 2> err.txt <<EOF\na\nEOF", nil},
		{"tee", "tee f.txt <<EOF\na\nEOF", []Edit{{Kind: EditWrite, Path: "f.txt", New: "a\n"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := scriptEdits(c.script, false); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestDiffPaths(t *testing.T) {
	const patch = "--- a/x.sql\n+++ b/x.sql\n@@ -1,3 +1,3 @@\n a\n--- old remark\n+b\n@@ -9,2 +9,2 @@\n--- from\n+++ to\n c\n" +
		"--- a/y.sql\t2026\r\n+++ b/y.sql\r\n@@ -1 +1 @@\n-d\n+e\n--- a/z.sql\n+++ /dev/null\n@@ -1 +0,0 @@\n-f\n"
	want := []PathChange{
		{Path: "x.sql", Change: CallEdit}, {Path: "y.sql", Change: CallEdit}, {Path: "z.sql", Change: CallDelete},
	}
	if got := patchPaths(patch); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

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
