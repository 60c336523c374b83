package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/browse"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/tokens"
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
stored; a SESSION of the store is shown with its folds. Last is the newest of both.

Right and left open and close a branch, enter shows the text of a line, u changes between the
original and what replaces it, / finds words, ? lists the keys, q goes back and out. Without a
terminal the tree is printed.`,
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
		f, err := sessionfile.Read(ctx, p, first(args), src)
		if err != nil {
			return err
		}
		defer f.Close()
		if s := f.Stored; s != nil {
			return browse.Show(ctx, p, s.Key().Session, f.Sees(), s, tokens.NewTokenizer(f.Model, nil), true)
		}
		return browseFile(ctx, p, f, flags)
	})
	return c
}

// browseFile shows a session file as it would be folded.
func browseFile(ctx context.Context, p *term.Console, f *sessionfile.File, flags sessionfile.FoldFlags) error {
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
