package pleat_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
