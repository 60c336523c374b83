package pleat_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
)

// TestSurface counts the exported names of every public package of the repository, and their
// methods, those of fold.Draft aside: go test -run '^TestSurface$' -v .
func TestSurface(t *testing.T) {
	names := make(map[string]int) // by folder
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		base := filepath.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." &&
			(strings.HasPrefix(base, ".") || base == "internal" || base == "testdata" || base == "cmd"):
			return filepath.SkipDir
		case !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err == nil && file.Name.Name != "main" {
			names[filepath.Dir(name)] += len(exported(file))
		}
		return err
	})
	must(t, err)
	all := 0
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		t.Logf("%5d %s", names[dir], dir)
		all += names[dir]
	}
	t.Logf("%5d in all", all)
	if most := 1_013; all > most {
		t.Errorf("%d names are exported, at most %d were meant to be: what nobody outside needs is internal", all, most)
	}
}

// exported lists the exported names and methods that a file declares.
func exported(file *ast.File) []string {
	var out []string
	add := func(id *ast.Ident) {
		if id.IsExported() {
			out = append(out, id.Name)
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || isPublic(d.Recv.List[0].Type) {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add(id)
					}
				}
			}
		}
	}
	return out
}

// isPublic reports whether a method with this receiver counts.
func isPublic(recv ast.Expr) bool {
	switch r := recv.(type) {
	case *ast.StarExpr:
		return isPublic(r.X)
	case *ast.IndexExpr:
		return isPublic(r.X)
	case *ast.Ident:
		return r.IsExported() && r.Name != "Draft"
	}
	return false
}

// A provider that reports twice pleat's count: a plan has pleat's tokens throughout, the meter and the sizes
// of an event the provider's. (Plans once said "44,108 → 11,979 tokens, target 15,007, window 30,021".)
func TestKindsOfTokens(t *testing.T) {
	const window = 60_000
	var event pleat.Event
	s := busy(t, 40, &pleat.Options{
		Budget: fold.Budget{Window: window},
		Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
			if e.Kind == pleat.EventEpoch {
				event = e
			}
		},
	})
	for range 20 { // so many that the line is what is reported
		must(t, s.Used(t.Context(), model.Usage{Input: 2 * s.Snapshot().Parts.Total()}))
	}
	before := s.Snapshot()
	p := compact(t, s)
	after := s.Snapshot()
	near := func(what string, got, want int) {
		t.Helper()
		if got < want*9/10 || got > want*11/10 {
			t.Errorf("%s: %d, want about %d", what, got, want)
		}
	}
	if p.Before != before.Parts.Total() || p.After != after.Parts.Total() {
		t.Errorf("plan %d → %d, but the views have %d and %d", p.Before, p.After, before.Parts.Total(), after.Parts.Total())
	}
	if p.Cache.Removed != p.Before-p.After || p.Cache.Rewritten > p.After {
		t.Errorf("plan %d → %d has the cache of another: %+v", p.Before, p.After, p.Cache)
	}
	near("the plan's window", p.Limits.Window, window/2)
	near("the plan's target", p.Limits.Target, int(after.Limits.Target)/2)
	near("the meter's view", int(after.Tokens), 2*p.After)
	if after.Limits.Window != window || *event.Snapshot != after || event.Before != before.Tokens {
		t.Errorf("the event has %d → %d in a window of %d, the meter %d → %d", event.Before, event.Snapshot.Tokens,
			event.Snapshot.Limits.Window, before.Tokens, after.Tokens)
	}
	rest := inside.Of(s).ProviderTokens(p.After - p.Cache.Rewritten)
	if event.Rewritten != after.Tokens-rest || event.Rewritten > tokens.Reported(2*p.Cache.Rewritten) {
		t.Errorf("the event has %d rewritten, the plan %d", event.Rewritten, p.Cache.Rewritten)
	}
}

// Every promise in docs/security.md names tests, and they exist.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	must(t, err)
	var tests strings.Builder
	err = filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			var code []byte
			code, err = os.ReadFile(path)
			tests.Write(code)
		}
		return err
	})
	must(t, err)
	names := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 10 {
		t.Errorf("the page names %d tests", len(names))
	}
	for _, name := range names {
		if !strings.Contains(tests.String(), "\nfunc "+name[1]+"(") {
			t.Errorf("there is no %s", name[1])
		}
	}
}
