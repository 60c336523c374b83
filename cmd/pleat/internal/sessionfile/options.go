package sessionfile

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/models"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/spf13/pflag"
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

// Formats are the forms of a result for people: --format names one.
var Formats = []string{"text", "prompt"}

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

// Digests are the flags that say which model writes digests.
type Digests struct {
	Name   string
	output term.TokenCount
}

// Declare declares the flags.
func (d *Digests) Declare(fs *pflag.FlagSet) {
	fs.StringVar(&d.Name, "digest-model", "", "let `MODEL` write the digests; none: code writes them")
	fs.Var(&d.output, "digest-output", "MODEL may write `N` tokens at once, if neither table nor server says how many")
}

// Open makes the client; without a model none, and no error.
func (d *Digests) Open(ctx context.Context, env func(string) string) (c models.Client, err error) {
	if d.Name != "" && d.Name != "none" {
		c, err = models.Open(ctx, d.Name, env)
		c.Model.MaxOutput = cmp.Or(c.Model.MaxOutput, int(d.output))
	}
	return c, err
}
