package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/browse"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func showCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "show FILE",
		Short: "show what fills a session",
		Long: `Reads the body of a request, or a session file ("-" is standard input) of
` + sessionfile.Agents + `.
The format is detected from the content. Instead of a file, name a session that "pleat
sessions" or "pleat store list" lists, or last: the newest of both, a rehearsal only if there
is nothing else.
Shows messages, rounds and calls, tokens by kind and by tool, the largest blocks, where the
agent compacted its context, and how full the window was over time.

Nothing is written anywhere.`,
		Example: `# what is in the newest session of Claude Code here?
pleat show "$(pleat sessions --agent claude-code --limit 1 --paths)"
# an opencode session, by the beginning of its ID
pleat show ses_123
# the ten tools that use the most tokens
pleat show session.jsonl --json | jq '.tools[:10]'`,
	}
	on := declareFile(c)
	most := c.Flags().Int("top", 10, "how many tools and blocks to list, at most `N`")
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		return on.run(ctx, p, args, func(f *sessionfile.File, tell *term.Progress) (term.Result, error) {
			return sessionfile.Overview(f, max(*most, 0), tell)
		})
	})
	return c
}

func browseCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "browse FILE|SESSION",
		Args:  takes(0, 1, "one session: a file, last, - for standard input, or the name of a stored session"),
		Short: "explore a session: turns, messages, folds and originals",
		Long: `Shows a session as a tree on the terminal: turns, their messages, what each takes in tokens,
and what is folded. A FILE is folded to --budget first, and nothing is
stored; a SESSION of the store is shown with the folds that it has. The newest of both is last.

Right and left open and close a branch, enter shows what is behind a line, u changes between
the original and what stands for it, / finds words, ? lists the keys, q goes back and
out. Where there is no terminal, the tree is printed.`,
		Example: `pleat browse session.jsonl --budget 30k
pleat browse run-20260102`,
	}
	fs := c.Flags()
	var src sessionfile.Flags
	var flags sessionfile.FoldFlags
	src.Declare(fs)
	flags.Declare(fs)
	src.Store = stores.Declare(fs)
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		info, err := sessionfile.Find(ctx, p, src.Store, first(args))
		switch {
		case err != nil:
			return err
		case info.File == "":
			return browseStored(ctx, p, src.Store, info)
		}
		return browseFile(ctx, p, info, src, flags)
	})
	return c
}

// browseStored shows a session of the store with the folds that it has.
func browseStored(ctx context.Context, p *term.Console, store *stores.Flags, info library.Info) error {
	s, err := stores.OpenSession(ctx, p, store, info)
	if err != nil {
		return err
	}
	defer s.Store.Close()
	about := "the model sees %s of %s tokens"
	if sessionfile.Compacted(s.Key()) {
		about = "%s of %s tokens are left"
	} else if len(s.Report().Folds) > 0 && library.Observed(ctx, s.Store, s.Key()) {
		about = "the model saw all, because the proxy only observed; it would have seen %s of %s tokens"
	}
	return browse.Show(ctx, p, s.Key().Session, about, s.Session, s.Counts(), true)
}

// browseFile shows a session file as it would be folded.
func browseFile(
	ctx context.Context, p *term.Console, info library.Info, src sessionfile.Flags, flags sessionfile.FoldFlags,
) error {
	f, err := sessionfile.ReadFound(ctx, p, info, src)
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
	about := "the model would see, within a budget of " + term.Short(r.Tokens().Budget) + ", %s of %s tokens"
	return browse.Show(ctx, p, term.FileName(f.Name), about, r.Session, r.Counts, false)
}
