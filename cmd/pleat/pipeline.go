package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/models"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/model"
)

// Commands on session files and on the store share their steps: read the file or open the
// store, make a result from it, and print that for people or as JSON.

// prints makes c print what find returns: for people or, with the flag --json, as one JSON object.
// A result is printed also if an error comes with it, such as that of damage that was found.
func prints(
	p *term.Console, c *cobra.Command, find func(context.Context, *term.Console, []string) (term.Result, error),
) {
	asJSON := c.Flags().Bool("json", false, "print one JSON object")
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		r, err := find(ctx, p, args)
		if r != nil {
			err = cmp.Or(p.Output(*asJSON, r), err)
		}
		return err
	})
}

type fileCommand struct {
	sessionfile.Flags
	json bool
}

// declareFile declares the flags that commands on a session file share.
func declareFile(c *cobra.Command) *fileCommand {
	f := &fileCommand{}
	f.Declare(c.Flags())
	f.Store = stores.Declare(c.Flags())
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	c.Args = oneFile
	return f
}

type fileResult func(f *sessionfile.File, tell *term.Progress) (term.Result, error)

// run reads the file, and prints the result that find returns.
func (c *fileCommand) run(ctx context.Context, p *term.Console, args []string, find fileResult) error {
	f, err := sessionfile.Read(ctx, p, first(args), c.Flags)
	if err != nil {
		return err
	}
	defer f.Close()
	if c.Model != "" && len(f.Model.Prices) == 0 { // a row for a whole family, or for any model
		p.Note("pleat: model %q is counted as %q, which the table has%s\n", c.Model,
			cmp.Or(f.Model.ID, model.UnknownModel), term.DidYouMean("", c.Model, models.Names()))
	}
	tell := p.Progress()
	r, err := find(f, tell)
	tell.Done()
	if err != nil {
		return err
	}
	return p.Output(c.json, r)
}

// first is the first argument; "": there is none.
func first(args []string) string { return strings.Join(args[:min(len(args), 1)], "") }

type storeFunc func(ctx context.Context, p *term.Console, store stores.Store, args []string) error

// onStore makes the function that runs a command on a store, which must exist.
func onStore(f *stores.Flags, how stores.Access, do storeFunc) runFunc {
	return func(ctx context.Context, p *term.Console, args []string) error {
		store, _, err := stores.OpenAs(ctx, p, f, how)
		if err != nil {
			return err
		}
		defer store.Close()
		return do(ctx, p, store, args)
	}
}
