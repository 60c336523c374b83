package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func importCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE",
		Args:  takes(1, 1, "one file, or - for standard input"),
		Short: "bring an exported session into the store",
		Long: `Reads a file that "pleat store export" made, or standard input (-), and puts its session into
the store. The whole file is checked before anything is written; a damaged file is refused
with the line that is damaged. Afterwards every fold of the session is unfolded once.

Importing again changes nothing, and an import that was interrupted goes on where it
stopped. Messages that are damaged in the store are repaired from the file. If the store has
a session of the same name with other content, that one is left as it is; --as imports the
file under another name.`,
		Example: `pleat store import session.jsonl
# beside a session of the same name
pleat store import session.jsonl --as from-laptop`,
	}
	fs := c.Flags()
	f := stores.Declare(fs)
	as := fs.String("as", "", "store it under this `NAME`")
	asJSON := fs.Bool("json", false, "print JSON")
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		file, name, err := openExport(p, args[0])
		if err != nil {
			return err
		}
		defer file.Close()
		done, err := stores.Import(ctx, p, f, file, name, *as)
		if err != nil {
			return err
		}
		return p.Output(*asJSON, done)
	})
	return c
}

// openExport opens an export file. Standard input is copied to a temporary file that has
// no name, because it is read twice.
func openExport(p *term.Console, name string) (file *os.File, shown string, err error) {
	if name != "-" {
		file, err = os.Open(name)
		return file, name, err
	}
	file, err = os.CreateTemp("", "pleat-import-*")
	if err != nil {
		return nil, "", fmt.Errorf("keep standard input: %w", err)
	}
	defer os.Remove(file.Name())
	if _, err := io.Copy(file, p.Stdin); err != nil {
		_ = file.Close()
		return nil, "", fmt.Errorf("read standard input: %w", err)
	}
	return file, "standard input", nil
}
