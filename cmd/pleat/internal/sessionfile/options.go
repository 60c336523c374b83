package sessionfile

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
)

// PolicyUsage is the help of --policy.
const PolicyUsage = "fold as `POLICY` says: a name that \"pleat config policies\" lists, or a JSON file"

// PolicyNames lists the policies that come with pleat.
func PolicyNames() (names []string) {
	for _, p := range policy.All() {
		names = append(names, p.Name)
	}
	return names
}

// NamedPolicy finds a policy by name.
func NamedPolicy(name string) (fold.Policy, error) {
	p, err := policy.ByName(name)
	if err != nil {
		err = term.UsageError(err.Error() + term.DidYouMean("", name, PolicyNames()))
	}
	return p, err
}

// LoadPolicy finds a policy by name, or reads it from a file as "pleat config policies NAME"
// prints it.
func LoadPolicy(name string) (fold.Policy, error) {
	if !strings.ContainsAny(name, `./\`) {
		return NamedPolicy(name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return fold.Policy{}, fmt.Errorf("read policy: %w", err)
	}
	p, err := policy.Parse(data)
	if err != nil {
		return p, fmt.Errorf("file %s: %w", name, err)
	}
	return p, nil
}

// FormatNamed is the form that --format names, or the one that --json asks for.
func FormatNamed(name string, asJSON bool) (Format, error) {
	i := slices.IndexFunc(formats, func(f Format) bool { return f.name == name })
	switch {
	case i < 0:
		return Format{}, term.UsageError(fmt.Sprintf("unknown format %q: want text or prompt", name))
	case asJSON:
		return Format{write: writeViewJSON}, nil
	}
	return formats[i], nil
}

type writeFunc func(w io.Writer, r *Folded) error

// Format is a form of the result.
type Format struct {
	name  string
	write writeFunc
}

var formats = []Format{
	{"text", writeViewText},
	{"prompt", writeViewPrompt},
}

// collectFor sets up garbage collection for a session of size bytes, unless the user did.
// A short command with a small session may leave four times as much garbage as it uses.
func collectFor(p *term.Console, size int64) {
	percent := 400
	if size > keptFile {
		percent = 40
	}
	if p.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// holdTo sets a memory limit for a large session, unless the user set one: some for the
// work itself, and some for each message. Beyond it garbage is collected more eagerly.
func holdTo(p *term.Console, size int64, messages int) {
	if size > keptFile && p.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(224<<20 + int64(messages)*500)
	}
}

// Scratch makes a store that lasts until drop is called: in memory, or in a temporary folder
// if the session is large.
func (f *File) Scratch(ctx context.Context) (st store.Store, drop func() error, err error) {
	if f.size <= keptFile {
		return store.NewMemory(), func() error { return nil }, nil
	}
	return stores.Temporary(ctx)
}
