package pleat_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/pleat-dev/pleat"

// imports is the architecture: who may import whom. Folders are relative to the module;
// "" is the library itself. A new package or a new arrow is a change to this table, to
// be argued for in review. Test files may import anything but may not make a cycle.
var imports = map[string][]string{
	"":                     {"internal/bpe", "internal/jsonspan", "internal/secrets"},
	"internal/bpe":         {},
	"internal/glob":        {},
	"internal/jsonspan":    {},
	"internal/secrets":     {},
	"internal/sse":         {},
	"internal/wire":        {"", "internal/jsonspan"},
	"internal/call":        {""},
	"anthropic":            {"", "internal/call", "internal/jsonspan", "internal/sse", "internal/wire"},
	"openai":               {"", "internal/call", "internal/jsonspan", "internal/sse", "internal/wire"},
	"internal/rows":        {"", "internal/jsonspan"},
	"sqlite":               {"", "internal/rows"},
	"postgres":             {"", "internal/rows"},
	"sessionlog":           {"", "internal/jsonspan"},
	"pleattest":            {""},
	"proxy":                {"", "anthropic", "openai", "internal/jsonspan"},
	"agent":                {"", "internal/glob", "internal/secrets"},
	"agent/rehearsal":      {"", "agent"},
	"internal/bpe/bpetest": {},
	"internal/upstream":    {"", "anthropic", "internal/sse", "openai"},
	"eval":                 {"", "anthropic", "openai", "sessionlog"},
	"internal/pgtest":      {},
	"cmd/pleat":            {"", "agent", "agent/rehearsal", "anthropic", "eval", "openai", "postgres", "proxy", "sessionlog", "sqlite"},
}

// modules says which packages may use which other people's code. Everything not listed
// uses the standard library alone.
var modules = map[string][]string{
	"cmd/pleat": {
		"github.com/BurntSushi/toml",
		"github.com/klauspost/compress/zstd",
		"github.com/prometheus/client_golang/prometheus", "github.com/prometheus/client_golang/prometheus/promhttp",
		"go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/codes",
		"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp",
		"go.opentelemetry.io/otel/sdk/resource", "go.opentelemetry.io/otel/sdk/trace",
		"go.opentelemetry.io/otel/trace", "go.opentelemetry.io/otel/trace/noop",
		"golang.org/x/term",
	},
	"pleattest":         {"github.com/google/go-cmp/cmp"},
	"internal/rows":     {"github.com/klauspost/compress/s2", "github.com/klauspost/compress/zstd"},
	"internal/upstream": {"github.com/klauspost/compress/zstd"},
	"internal/pgtest":   {"github.com/jackc/pgx/v5"},
	"postgres":          {"github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgconn", "github.com/jackc/pgx/v5/pgxpool"},
	"sqlite":            {"modernc.org/sqlite", "modernc.org/sqlite/lib"},
}

func TestImportTable(t *testing.T) {
	seen := make(map[string]bool)
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || hasGoMod(file)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		dir := strings.TrimPrefix(path.Dir(filepath.ToSlash(file)), ".")
		seen[dir] = true
		checkFile(t, dir, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range imports {
		if !seen[dir] {
			t.Errorf("the import table lists %q, which has no Go files", dir)
		}
	}
}

func checkFile(t *testing.T, dir, file string) {
	t.Helper()
	allowed, ok := imports[dir]
	if !ok {
		t.Errorf("%s: package %q is not in the import table", file, dir)
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	for _, spec := range f.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		inside, ours := strings.CutPrefix(name, module)
		switch {
		case ours && !slices.Contains(allowed, strings.TrimPrefix(inside, "/")):
			t.Errorf("%s imports %s, which the import table forbids", file, name)
		case !ours && strings.Contains(strings.SplitN(name, "/", 2)[0], ".") && !slices.Contains(modules[dir], name):
			t.Errorf("%s imports %s, which is not among the modules allowed there", file, name)
		}
	}
}

func hasGoMod(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
