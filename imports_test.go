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
	"":                     {"internal/bpe", "internal/jsonspan"},
	"internal/bpe":         {},
	"internal/jsonspan":    {},
	"internal/sse":         {},
	"internal/wire":        {"", "internal/jsonspan"},
	"internal/call":        {""},
	"anthropic":            {"", "internal/call", "internal/jsonspan", "internal/sse", "internal/wire"},
	"openai":               {"", "internal/call", "internal/jsonspan", "internal/sse", "internal/wire"},
	"internal/packed":      {""},
	"sqlite":               {"", "internal/packed"},
	"postgres":             {"", "internal/packed"},
	"sessionlog":           {"", "internal/jsonspan"},
	"pleattest":            {""},
	"proxy":                {"", "anthropic", "openai", "internal/jsonspan"},
