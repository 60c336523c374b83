package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/browse"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func browseCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "browse FILE|SESSION",
		Args:  takes(1, 1, "one session file, - for standard input, or the name of a stored session"),
		Short: "look around in a session: turns, messages, folds, and what is behind them",
		Long: `Shows a session as a tree on the terminal: turns, their messages, what each takes in tokens,
and what is folded. A FILE is folded to --budget first, as "pleat plan" would, and nothing is
stored; a SESSION of the store is shown with the folds that it has.

Right and left open and close a branch, enter shows what is behind a line, u changes between
what the model sees of it and the original, q goes back and out. Where there is no terminal,
the tree is printed.`,
		Example: `pleat browse session.jsonl --budget 30k
pleat browse run-20260102`,
	}
	fs := c.Flags()
	var src sessionfile.Flags
	var flags sessionfile.FoldFlags
	src.Declare(fs)
	flags.Declare(fs)
	store := stores.Declare(fs)
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		if _, err := os.Stat(args[0]); err != nil && args[0] != "-" {
			s, end, failed := stores.OpenSession(ctx, p, store, args[0])
			if failed != nil {
				return fmt.Errorf("%w; and %w", err, failed)
			}
			defer end()
			return browse.Show(ctx, p, s.Key().Session, "", s)
		}
		f, err := sessionfile.Read(ctx, p, args[0], src)
		if err != nil {
			return err
		}
		defer f.Close()
		scratch, drop, err := f.Scratch(ctx)
		if err != nil {
			return err
		}
		defer drop()
		tell := p.Progress()
		r, err := f.Fold(ctx, tell, scratch, flags)
		tell.Done()
		if err != nil {
			return err
		}
		return browse.Show(ctx, p, term.FileName(args[0]), ", budget "+term.Short(r.Tokens().Budget), r.Session)
	})
	return c
}
