package adversary

import (
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The judges share no code with what they judge: beside the standard library they may
// import what a user of the proxy imports, and a judge of pages that imports nothing of ours.
func TestImports(t *testing.T) {
	const module = "github.com/pleat-dev/pleat"
	allowed := []string{
		module, module + "/policy", module + "/proxy", module + "/store", module + "/internal/fence/fencetest",
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") && !slices.Contains(allowed, name) {
				t.Errorf("%s imports %s", file.Name(), name)
			}
		}
	}
}
