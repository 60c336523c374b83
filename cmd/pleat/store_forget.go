package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/live"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

func forgetCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "forget SESSION",
		Args:  takes(1, 1, "one session"),
		Short: "delete a session from the store for good",
		Long: `Deletes a session: its messages, folds, notes, pins and search index. Content that other
sessions have too stays with them. In a file, the freed bytes are overwritten with zeros; the
file keeps its size and uses the space again. A database frees them with VACUUM. This cannot
be undone: run "pleat store export" first for what you may want back. The files of a rehearsal
are deleted too.

The name must be complete. On a terminal you are asked; elsewhere --yes is needed.`,
		Example: `pleat store forget file:3f9c20b17a44e05d
# without asking
pleat store forget file:3f9c20b17a44e05d --yes`,
	}
	fs := c.Flags()
	f := stores.Declare(fs)
	yes := fs.Bool("yes", false, "do not ask")
	c.RunE = runs(p, onStore(f, stores.MustExist, func(ctx context.Context, p *term.Console, st stores.Store, args []string) error {
		key := f.Key(args[0])
		info, err := stores.Find(ctx, st, f, key.Session)
		if errors.Is(err, store.ErrCorrupt) {
			info = store.SessionInfo{Key: key} // a damaged session can be forgotten too
		} else if err != nil {
			return err
		}
		if info.Key != key {
			return fmt.Errorf("session %q: %w (did you mean %s? forget needs the whole name)", key.Session, store.ErrNotFound, info.Key.Session)
		}
		question := fmt.Sprintf("Delete session %s (%s, %s) for good?", key.Session, stores.EntryCount(info.Entries), term.ByteSize(info.BodyBytes))
		if err := p.Confirm(ctx, *yes, question); err != nil {
			return fmt.Errorf("forget session %s: %w", key, err)
		}
		if err := st.Forget(ctx, key); err != nil {
			return err
		}
		if live.IsRehearsal(key.Session) && filepath.Base(key.Session) == key.Session {
			dir, err := live.RehearsalDir(p, key.Session)
			if err == nil {
				err = os.RemoveAll(dir)
			}
			if err != nil {
				return fmt.Errorf("session %s is forgotten, the files of the rehearsal are not: %w", key, err)
			}
		}
		p.Printf("Forgot session %s.\n", key.Session)
		return nil
	}))
	return c
}
