package pleat_test

import (
	"cmp"
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

// imports is the architecture, from the ground floor up: who may import whom, in all
// modules of the repository. Folders are relative to its top; "" is the library's front
// door. A new package or a new arrow is a change to this table, to be argued for in
// review. Test files may import anything but may not make a cycle.
var imports = map[string][]string{
	// The ground floor: values, and mechanisms that know no type of pleat.
	"transcript":        {"internal/fence", "internal/jsonspan", "internal/text"},
	"internal/text":     {},
	"internal/fence":    {},
	"internal/fault":    {},
	"internal/client":   {"internal/text"},
	"internal/shell":    {},
	"internal/bpe":      {},
	"internal/jsonspan": {"internal/text"},
	"internal/sse":      {},
	"internal/secrets":  {},
	"internal/glob":     {},
	"internal/clue":     {},

	"model":  {"internal/jsonspan", "internal/text", "transcript"},
	"search": {"internal/text"},

	"internal/order": {"transcript"},
	"internal/table": {"model"},

	"tokens": {"internal/bpe", "internal/jsonspan", "internal/text", "model", "transcript"},
	"store":  {"search", "transcript"},

	"internal/annotate": {"internal/client", "internal/text", "transcript"},

	"ledger/toolcall": {
		"internal/annotate", "internal/fence", "internal/jsonspan", "internal/secrets", "internal/shell", "internal/text",
		"internal/client", "transcript",
	},
	"ledger":             {"internal/client", "internal/text", "ledger/toolcall", "transcript"},
	"internal/filestate": {"internal/annotate", "internal/text", "ledger", "ledger/toolcall", "transcript"},
	"userwords": {
		"internal/annotate", "internal/client", "internal/fence", "internal/jsonspan", "internal/text", "transcript",
	},

	"internal/conv": {
		"internal/fence", "internal/annotate", "internal/text", "ledger", "ledger/toolcall", "store", "tokens", "transcript", "userwords",
	},

	"fold": {
		"internal/fault", "internal/fence", "internal/text", "ledger", "ledger/toolcall", "model",
		"tokens", "transcript", "userwords",
	},
	"internal/page": {
		"internal/annotate", "internal/filestate",
		"fold", "internal/conv", "internal/fence", "internal/text", "internal/client", "ledger", "ledger/toolcall",
		"transcript", "userwords",
	},
	"internal/query": {"search"},
	"digest":         {"internal/text", "model"},
	"internal/dump":  {"internal/annotate", "internal/fence", "transcript"},
	"internal/summarizer": {
		"digest", "internal/annotate", "internal/dump", "internal/fault", "internal/fence", "internal/text", "model",
		"transcript", "userwords",
	},
	"internal/toolargs": {},
	"recall": {
		"internal/fence", "internal/text", "internal/toolargs", "ledger", "ledger/toolcall", "model", "store", "transcript",
	},
	"internal/finder": {
		"internal/conv", "internal/fence", "internal/filestate", "internal/query", "internal/text", "internal/toolargs",
		"ledger", "ledger/toolcall", "recall", "search", "store", "tokens", "transcript",
	},
	"fold/lever": {
		"fold", "internal/annotate", "internal/fence", "internal/jsonspan", "internal/text", "internal/client", "ledger",
		"ledger/toolcall", "transcript", "userwords",
	},
	"policy": {"fold", "fold/lever", "internal/fault", "internal/jsonspan"},

	"internal/meter": {"fold", "internal/text", "model", "tokens"},
	"internal/epoch": {"fold", "internal/conv", "internal/text", "ledger", "model", "store", "transcript"},

	"internal/match": {"fold", "internal/conv", "internal/epoch", "transcript"},

	// The parts of a session. None imports the front door, which puts them together.
	"internal/journal": {
		"digest", "fold", "internal/conv", "internal/epoch", "internal/fault", "internal/meter", "internal/text", "store",
		"tokens", "transcript",
	},
	"internal/digester": {
		"digest", "fold", "internal/annotate", "internal/epoch", "internal/fault", "internal/journal", "internal/summarizer",
		"internal/text", "model", "store", "transcript",
	},
	"internal/inside": {
		"fold", "fold/lever", "internal/conv", "internal/finder", "ledger", "model", "tokens", "transcript", "userwords",
	},

	"": {
		"digest", "fold", "fold/lever", "internal/conv", "internal/digester", "internal/dump", "internal/epoch",
		"internal/fault", "internal/finder", "internal/inside", "internal/journal", "internal/match", "internal/meter",
		"internal/order", "internal/page", "internal/table", "internal/text", "ledger", "model", "policy", "recall",
		"store", "tokens", "transcript", "userwords",
	},

	// The wings know what is said, not how it is folded.
	"internal/wire":  {"internal/jsonspan", "internal/sse", "internal/table", "model", "transcript"},
	"internal/call":  {"internal/jsonspan", "internal/wire", "model"},
	"wire/anthropic": {"internal/call", "internal/jsonspan", "internal/order", "internal/sse", "internal/table", "internal/wire", "model", "transcript"},
	"wire/openai":    {"internal/call", "internal/jsonspan", "internal/order", "internal/wire", "model", "transcript"},
	"wire/gemini":    {"internal/call", "internal/jsonspan", "internal/order", "internal/wire", "model", "transcript"},

	"internal/localserver": {"model"},

	"sessionlog": {
		"internal/annotate", "internal/jsonspan", "model", "transcript", "wire/anthropic", "wire/openai",
	},
	"internal/rows":  {"internal/jsonspan", "search", "store", "transcript"},
	"store/sqlite":   {"internal/rows", "search", "store", "transcript"},
	"store/postgres": {"internal/rows", "search", "store", "transcript"},

	// The user's sessions, for the doors.
	"cmd/pleat/internal/agentdb":   {"sessionlog"},
	"cmd/pleat/internal/textindex": {"internal/finder", "search"},
	"cmd/pleat/internal/library": {
		"cmd/pleat/internal/textindex", "internal/finder", "internal/inside", "internal/query", "internal/journal", "", "cmd/pleat/internal/agentdb",
		"fold", "fold/lever", "internal/bill", "internal/fence", "internal/secrets", "internal/annotate",
		"internal/text", "ledger", "ledger/toolcall", "model", "policy", "recall", "search", "sessionlog", "store", "tokens",
		"transcript", "userwords", "wire/anthropic", "wire/gemini", "wire/openai",
	},

	// The doors work through Session.
	"agent": {
		"internal/digester", // which model its digests are asked of, and so what they cost
		"internal/inside",
		"", "fold", "fold/lever", "internal/glob", "internal/secrets", "internal/shell", "ledger", "ledger/toolcall",
		"model", "recall", "store", "tokens", "transcript",
	},
	"cmd/pleat/internal/rehearsal": {
		"", "agent", "digest", "fold", "fold/lever", "model", "tokens", "transcript", "wire/anthropic",
	},
	"internal/behind": {"store", "transcript"},
	"internal/bill":   {"store", "transcript"},
	"internal/local":  {},
	"internal/relay":  {"internal/jsonspan", "internal/sse"},
	// The proxy in three rooms: the front takes requests, the lineage says which session each belongs
	// to, the exchange rewrites and answers them. Only the public package knows all three.
	"proxy/internal/httpbody": {},
	"proxy/internal/protocol": {
		"internal/jsonspan", "internal/relay", "internal/wire", "model", "transcript", "wire/anthropic", "wire/gemini",
		"wire/openai",
	},
	"proxy/internal/front": {"proxy/internal/httpbody", "proxy/internal/protocol"},
	"proxy/internal/lineage": {
		"internal/conv", "internal/jsonspan", "model", "proxy/internal/httpbody", "proxy/internal/protocol", "recall",
		"store", "transcript",
	},
	"proxy/internal/exchange": {
		"internal/inside",
		"", "fold", "fold/lever", "internal/behind", "internal/bill", "internal/conv", "internal/fault", "internal/relay",
		"internal/sse",
		"model", "policy", "proxy/internal/httpbody", "proxy/internal/lineage", "proxy/internal/protocol", "recall",
		"store", "tokens", "transcript", "wire/anthropic",
	},
	"proxy": {
		"", "fold", "fold/lever", "internal/bill", "internal/fault", "model", "policy", "proxy/internal/exchange",
		"proxy/internal/front", "proxy/internal/httpbody", "proxy/internal/lineage", "store", "transcript",
	},
	"cmd/pleat/internal/dash": {
		"internal/inside", "internal/query",
		"", "fold", "internal/bill", "internal/local", "internal/secrets", "internal/text", "ledger", "ledger/toolcall",
		"cmd/pleat/internal/library", "model", "policy", "recall", "sessionlog", "store", "tokens", "transcript",
	},
	"cmd/pleat/internal/mcp":          {"internal/inside", "internal/text", "ledger", "", "cmd/pleat/internal/library", "recall"},
	"cmd/pleat/internal/clientconfig": {"cmd/pleat/internal/term", "internal/secrets"},
	"cmd/pleat/internal/term":         {"internal/text"},
	"cmd/pleat/internal/models": {
		"cmd/pleat/internal/term", "internal/local", "model", "transcript", "wire/anthropic", "wire/gemini",
		"wire/openai", "internal/localserver",
	},
	"cmd/pleat/internal/sessionfile": {
		"internal/inside",
		"", "agent", "cmd/pleat/internal/models", "cmd/pleat/internal/stores", "cmd/pleat/internal/term", "digest",
		"fold", "fold/lever", "internal/fence", "internal/text", "ledger", "ledger/toolcall", "cmd/pleat/internal/library",
		"model", "policy", "sessionlog", "store", "tokens", "transcript", "userwords",
	},
	"cmd/pleat/internal/stores": {
		"cmd/pleat/internal/textindex", "internal/journal",
		"", "cmd/pleat/internal/term", "internal/bill", "cmd/pleat/internal/library", "model", "recall", "store", "store/postgres",
		"store/sqlite", "tokens", "transcript",
	},
	"cmd/pleat/internal/telemetry": {"", "cmd/pleat/internal/term", "fold", "model", "proxy", "store", "transcript"},
	"cmd/pleat/internal/browse": {
		"", "cmd/pleat/internal/sessionfile", "cmd/pleat/internal/stores", "cmd/pleat/internal/term", "fold",
		"cmd/pleat/internal/library", "tokens", "transcript", "userwords",
	},
	"cmd/pleat/internal/live": {
		"", "agent", "cmd/pleat/internal/rehearsal", "cmd/pleat/internal/models", "cmd/pleat/internal/sessionfile",
		"cmd/pleat/internal/stores", "cmd/pleat/internal/telemetry", "cmd/pleat/internal/term", "fold", "internal/conv",
		"ledger", "cmd/pleat/internal/library", "model", "recall", "store",
	},
	"cmd/pleat/internal/tally": {
		"cmd/pleat/internal/dash", "cmd/pleat/internal/library", "cmd/pleat/internal/term", "fold", "internal/local",
		"proxy", "store",
	},
	"cmd/pleat/internal/webproxy": {},
	"cmd/pleat/internal/service":  {"cmd/pleat/internal/term"},
	"cmd/pleat/internal/hook": {
		"cmd/pleat/internal/library", "cmd/pleat/internal/tally", "cmd/pleat/internal/term", "internal/page", "sessionlog", "store",
	},
	"cmd/pleat/internal/clients": {
		"cmd/pleat/internal/clientconfig", "cmd/pleat/internal/hook", "cmd/pleat/internal/term",
		"cmd/pleat/internal/webproxy",
	},
	"cmd/pleat/internal/doctor": {
		"cmd/pleat/internal/clients", "cmd/pleat/internal/hook", "cmd/pleat/internal/library", "cmd/pleat/internal/stores",
		"cmd/pleat/internal/tally", "cmd/pleat/internal/term", "cmd/pleat/internal/webproxy", "internal/localserver",
		"cmd/pleat/internal/models", "", "agent", "model", "proxy", "store", "transcript", "wire/gemini",
	},
	"cmd/pleat": {
		"", "agent", "cmd/pleat/internal/bench", "cmd/pleat/internal/browse", "cmd/pleat/internal/clientconfig",
		"cmd/pleat/internal/live", "cmd/pleat/internal/models", "cmd/pleat/internal/rehearsal",
		"cmd/pleat/internal/sessionfile",
		"cmd/pleat/internal/stores", "cmd/pleat/internal/telemetry", "cmd/pleat/internal/term", "cmd/pleat/internal/dash",
		"cmd/pleat/internal/clients", "cmd/pleat/internal/doctor", "cmd/pleat/internal/hook", "cmd/pleat/internal/service",
		"cmd/pleat/internal/tally", "cmd/pleat/internal/webproxy", "fold", "internal/local", "internal/text", "internal/toolargs",
		"ledger", "ledger/toolcall", "cmd/pleat/internal/library", "cmd/pleat/internal/mcp", "model", "policy", "proxy",
		"recall", "sessionlog", "store", "tokens", "transcript", "wire/gemini", "internal/bill", "internal/query",
	},
	"cmd/pleat/internal/bench": {
		"", "digest", "fold", "fold/lever", "cmd/pleat/internal/library", "cmd/pleat/internal/term", "internal/clue",
		"ledger/toolcall", "model",
		"policy", "recall", "sessionlog", "store", "tokens", "transcript", "userwords", "wire/anthropic", "wire/openai",
	},

	// Kits for tests, whose names end in test, and packages that have only tests.
	"internal/difftest": {"internal/text"},
	"internal/killtest": {
		"", "agent", "fold", "ledger", "ledger/toolcall", "model", "pleattest", "store", "transcript",
	},
	"store/storetest":        {"internal/difftest", "store", "transcript"},
	"pleattest":              {"", "fold", "internal/conv", "model", "internal/page", "store", "tokens", "transcript"},
	"internal/wire/wiretest": {"internal/difftest", "internal/jsonspan", "internal/wire", "model", "transcript"},
	"internal/viewtest": {
		"", "fold", "fold/lever", "model", "policy", "store", "tokens", "transcript", "wire/anthropic",
	},
	"internal/bpe/bpetest":     {},
	"internal/fence/fencetest": {},
	"internal/upstreamtest": {
		"internal/jsonspan", "internal/relay", "internal/sse", "internal/wire", "model", "recall", "tokens", "transcript",
		"wire/anthropic", "wire/gemini", "wire/openai",
	},
	"internal/pgtest":                     {},
	"cmd/pleat/internal/bench/tokenizers": {},
	"proxy/sdktest":                       {},
	"tools/vocabulary":                    {},
	"example":                             {},
	"example/adopt":                       {},
	"cmd/pleat/internal/dash/browsertest": {},
	"proxy/adversary":                     {},
	"store/sqlite/whole":                  {},

	"internal/corpustest":         {"internal/corpustest/folders", "sessionlog", "transcript"},
	"internal/corpustest/folders": {},
}

// others says which packages may use which other people's code. Everything not listed
// uses the standard library alone.
var others = map[string][]string{
	"cmd/pleat": {
		"github.com/BurntSushi/toml", "github.com/charmbracelet/x/ansi", "github.com/klauspost/compress/zstd",
		"github.com/spf13/cobra", "github.com/spf13/pflag",
	},
	"cmd/pleat/internal/clientconfig": {
		"github.com/BurntSushi/toml", "github.com/tailscale/hujson", "go.yaml.in/yaml/v3",
	},
	"cmd/pleat/internal/term": {
		"github.com/charmbracelet/x/ansi", "github.com/spf13/cobra", "golang.org/x/term",
	},
	"cmd/pleat/internal/textindex":   {"github.com/klauspost/compress/zstd", "modernc.org/sqlite", "modernc.org/sqlite/lib"},
	"cmd/pleat/internal/agentdb":     {"modernc.org/sqlite", "modernc.org/sqlite/lib"},
	"cmd/pleat/internal/bench":       {"golang.org/x/sync/errgroup"},
	"cmd/pleat/internal/sessionfile": {"github.com/spf13/pflag"},
	"cmd/pleat/internal/stores":      {"github.com/spf13/pflag"},
	"cmd/pleat/internal/telemetry": {
		"go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/codes",
		"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp", "go.opentelemetry.io/otel/sdk/resource",
		"go.opentelemetry.io/otel/sdk/trace", "go.opentelemetry.io/otel/trace", "go.opentelemetry.io/otel/trace/noop",
	},
	"cmd/pleat/internal/browse": {
		"charm.land/bubbles/v2/viewport", "charm.land/bubbletea/v2", "github.com/charmbracelet/x/ansi",
	},
	"cmd/pleat/internal/live": {"github.com/charmbracelet/x/ansi", "github.com/spf13/pflag"},

	"internal/rows":          {"github.com/klauspost/compress/s2", "github.com/klauspost/compress/zstd"},
	"tools/vocabulary":       {"github.com/pkoukk/tiktoken-go-loader/assets"},
	"cmd/pleat/internal/mcp": {"github.com/modelcontextprotocol/go-sdk/jsonrpc", "github.com/modelcontextprotocol/go-sdk/mcp"},
	"store/postgres":         {"github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgconn", "github.com/jackc/pgx/v5/pgxpool"},
	"store/sqlite":           {"modernc.org/sqlite", "modernc.org/sqlite/lib"},
}

// modules are the modules of the repository, by folder, with those of ours that each may
// require. What needs other people's code is not in the first, so that a program that
// imports the engine gets no requirement from it.
var modules = map[string][]string{
	".":              {},
	"internal/rows":  {"."},
	"store/sqlite":   {".", "internal/rows"},
	"store/postgres": {".", "internal/rows"},
	"cmd/pleat": {
		".", "internal/rows", "store/postgres", "store/sqlite",
	},
	"proxy/sdktest": {"."},
	"example/adopt": {"."},
	"tools":         {},
}

// TestModules holds the go.mod files to the table. Our modules require each other at one
// version, the one that go.work replaces with the folders.
func TestModules(t *testing.T) {
	work, err := os.ReadFile("go.work")
	must(t, err)
	err = filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(file))
		may, ok := modules[dir]
		if !ok {
			t.Errorf("%s is not in the table of modules", file)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if dir == "." && strings.Contains(string(data), "require") {
			t.Errorf("the engine's module has requirements")
		}
		if strings.Contains(string(data), "replace ") {
			t.Errorf("%s replaces modules: nobody could install it", file)
		}
		for line := range strings.Lines(string(data)) {
			name, version, ok := strings.Cut(strings.TrimSpace(line), " ")
			if !ok || !strings.HasPrefix(name, module) {
				continue
			}
			version, _, _ = strings.Cut(version, " ")
			other := cmp.Or(strings.Trim(strings.TrimPrefix(name, module), "/"), ".")
			if !slices.Contains(may, other) {
				t.Errorf("%s requires %s, which the table forbids", file, name)
			}
			if !strings.Contains(string(work), "\t"+name+" "+version+" => ") {
				t.Errorf("%s requires %s at %s, which go.work does not replace", file, name, version)
			}
		}
		return nil
	})
	must(t, err)
}

func TestImportTable(t *testing.T) {
	seen := make(map[string]bool)
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != "." &&
				(strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
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
	must(t, err)
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
		case !ours && strings.Contains(strings.SplitN(name, "/", 2)[0], ".") && !slices.Contains(others[dir], name):
			t.Errorf("%s imports %s, which is not allowed there", file, name)
		}
	}
}
