package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/store"
)

func forgetCommand(p *program) *cobra.Command {
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
	f := declareStore(fs)
	yes := fs.Bool("yes", false, "do not ask")
	c.RunE = runs(p, f.onStore(mustExist, func(ctx context.Context, p *program, st anyStore, args []string) error {
		key := f.key(args[0])
		info, err := storedSession(ctx, st, f, key.Session)
		if errors.Is(err, store.ErrCorrupt) {
			info = store.SessionInfo{Key: key} // a damaged session can be forgotten too
		} else if err != nil {
			return err
		}
		if info.Key != key {
			return fmt.Errorf("session %q: %w (did you mean %s? forget needs the whole name)", key.Session, store.ErrNotFound, info.Key.Session)
		}
		question := fmt.Sprintf("Delete session %s (%s, %s) for good?", key.Session, entryCount(info.Entries), byteSize(info.BodyBytes))
		if err := p.confirm(ctx, *yes, question); err != nil {
			return fmt.Errorf("forget session %s: %w", key, err)
		}
		if err := st.Forget(ctx, key); err != nil {
			return err
		}
		if isRehearsal(key.Session) && filepath.Base(key.Session) == key.Session {
			dir, err := rehearsalDir(p, key.Session)
			if err == nil {
				err = os.RemoveAll(dir)
			}
			if err != nil {
				return fmt.Errorf("session %s is forgotten, the files of the rehearsal are not: %w", key, err)
			}
		}
		p.printf("Forgot session %s.\n", key.Session)
		return nil
	}))
	return c
}

// confirm asks the person at the terminal, unless the answer is known. Any answer but yes is
// an error.
func (p *program) confirm(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	stdin, ok := p.stdin.(io.Writer) // a terminal is a file
	if ok {
		_, ok = terminalFile(stdin)
	}
	if !ok {
		return errors.New("there is no terminal to ask on (use --yes to do it without asking)")
	}
	p.note("%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() { // may run until the program ends: reading from a terminal cannot be stopped
		line, _ := bufio.NewReader(p.stdin).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		p.note("\n")
		return ctx.Err()
	case a := <-answer:
		if a != "y" && a != "yes" {
			return errors.New("nothing was changed: it was not confirmed")
		}
		return nil
	}
}
