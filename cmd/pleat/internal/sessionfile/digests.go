package sessionfile

import (
	"cmp"
	"context"

	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/models"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Digests are the flags that say which model writes digests.
type Digests struct {
	Name   string
	output term.TokenCount
}

// Declare declares the flags.
func (d *Digests) Declare(fs *pflag.FlagSet) {
	fs.StringVar(&d.Name, "digest-model", "", "let `MODEL` write the digests; none: code writes them")
	fs.Var(&d.output, "digest-output", "MODEL may write `N` tokens at once, where neither table nor server says how many")
}

// Open makes the client; without a model none, and no error.
func (d *Digests) Open(ctx context.Context, env func(string) string) (c models.Client, err error) {
	if d.Name != "" && d.Name != "none" {
		c, err = models.Open(ctx, d.Name, env)
		c.Model.MaxOutput = cmp.Or(c.Model.MaxOutput, int(d.output))
	}
	return c, err
}
