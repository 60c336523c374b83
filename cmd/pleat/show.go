package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func showCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "show FILE",
		Short: "say what is in a session file and where its tokens went",
		Long: `Reads a session file of Claude Code, Codex, opencode (an export), Gemini CLI, Copilot CLI or
pi, a request body, or a trajectory; "-" is standard input. The content tells the format.
Shows messages, rounds and calls, tokens by kind and by tool, the largest blocks, where the
agent compacted its context, and how full the window was over time.

Nothing is written anywhere.`,
		Example: `# what is in the newest session of Claude Code here?
pleat show "$(pleat sessions --agent claude-code --limit 1 --paths)"
# an opencode session
opencode export ses_123 | pleat show -
# the ten tools that use the most tokens
pleat show session.jsonl --json | jq '.tools[:10]'`,
	}
	fs := c.Flags()
	on := declareFile(c)
	most := fs.Int("top", 10, "how many tools and blocks to list, at most `N`")
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		return on.run(ctx, p, args, func(f *sessionfile.File, tell *term.Progress) (term.Result, error) {
			return sessionfile.Overview(f, max(*most, 0), tell)
		})
	})
	return c
}
