package main

import (
	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/live"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/models"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func runCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "run [TASK]",
		Short: "give a model a task, in a window that never overflows",
		Long: `Works on TASK with a model and the tools of a coding agent, in this folder, until it is done.
Before every request the conversation is folded as far as its window needs. Nothing is lost:
the model can get back what it needs. Without TASK it is a chat: in it,
/compact FOCUS folds at once, and Ctrl-C stops an answer, or ends the chat at the prompt.

The model is the one that --model names, else one for which there is a key or a server on
this machine. "pleat demo" needs neither.

File tools are confined to the folder. On a terminal you are asked before commands run and
files change. Where nobody can be asked they are refused, unless --allow or --yes says
otherwise. --resume continues a run that was interrupted.

` + models.Help,
		Example: `# a task, tests allowed without asking
pleat run --allow 'bash(go test *)' 'Find out why the build is red and fix it.'
# continue where it stopped
pleat run --resume last`,
	}
	c.RunE = runs(p, live.Declare(c.Flags()).Run)
	return c
}

func demoCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:       "demo [SCENARIO]",
		Args:      takes(0, 1, "one scenario"),
		ValidArgs: live.Scenarios(),
		Short:     "watch an agent stay inside a small window: no key, no server",
		Long: `Plays a rehearsal of "pleat run": a program plays the model and calls real tools, in a separate
folder and without a network. The context fills up and is folded; in shop, the default, an early
result comes back word for word. SCENARIO is one of these:

` + live.About + `
With --model, a real model plays constraint or plot.`,
		Example: `pleat demo
# one of the published designs, in its own demonstration
pleat demo book
# also what a policy does silently
pleat demo three-layer --verbose`,
	}
	c.RunE = runs(p, live.DeclareDemo(c.Flags()).Run)
	return c
}
