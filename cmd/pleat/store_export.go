package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func exportCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "export SESSION",
		Args:  takes(1, 1, "one session"),
		Short: "write a session with all its bytes to one file",
		Long: `Writes a session of the store to a file or to standard output: every message as it came,
every fold, note, pin and usage record. "pleat store import" puts it into another store, where
every handle works and every view is the same bytes.

The file has lines of JSON with a check on each; docs/format.md specifies it. It holds
everything that was said in the session, so treat it like the session.`,
		Example: `# to a file
pleat store export file:3f9c20b17a44e05d -o session.jsonl
# to another machine
pleat store export file:3f9c | ssh host pleat store import -`,
	}
	fs := c.Flags()
	f := stores.Declare(fs)
	out := fs.StringP("output", "o", "", "write to `FILE` instead of standard output")
	force := fs.Bool("force", false, "replace FILE if it exists")
	c.RunE = runs(p, onStore(f, stores.ReadOnly, func(ctx context.Context, p *term.Console, store stores.Store, args []string) error {
		info, err := stores.Find(ctx, store, f, args[0])
		if err != nil {
			return err
		}
		write := func(w io.Writer) error { return stores.Export(ctx, p, store, info, w) }
		if *out == "" || *out == "-" {
			err = write(p.Contents())
		} else {
			err = term.WriteNewFile(*out, *force, write)
		}
		if err != nil {
			return fmt.Errorf("export session %s: %w", info.Key, err)
		}
		p.Note("Exported session %s: %s, %s.\n", info.Key.Session, stores.EntryCount(info.Entries), term.ByteSize(info.BodyBytes))
		return nil
	}))
	return c
}
