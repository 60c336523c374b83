package main

import (
	"context"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/policy"
)

func policiesCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "policies [NAME]",
		Args:  takes(0, 1, "one name"),
		Short: "list the policies, or show one as JSON",
		Long: `Lists the policies that come with pleat. With NAME it prints that policy as JSON. Change what
you need, save it, and pass the file to --policy.`,
		Example: `# all of them
pleat policies
# a policy of your own
pleat policies default > mine.json
pleat plan session.jsonl --policy ./mine.json`,
	}
	fs := c.Flags()
	asJSON := fs.Bool("json", false, "print one JSON object")
	c.RunE = runs(p, func(_ context.Context, p *term.Console, args []string) error {
		if len(args) == 0 {
			return p.Output(*asJSON, policiesJSON{"pleat/policies/2", policy.All()})
		}
		pol, err := sessionfile.NamedPolicy(args[0])
		if err != nil {
			return err
		}
		return term.WriteJSON(p.Contents(), pol)
	})
	return c
}

type policiesJSON struct {
	Format   string        `json:"format"`
	Policies []fold.Policy `json:"policies"`
}

func (j policiesJSON) Print(p *term.Page) {
	name := term.Widest(j.Policies, func(p fold.Policy) string { return p.Name })
	for _, policy := range j.Policies {
		for i, line := range strings.Split(ansi.Wordwrap(policy.Doc, p.Width-name-2, ""), "\n") {
			label := p.Bold(term.Pad(policy.Name, name))
			if i > 0 {
				label = term.Styled(strings.Repeat(" ", name))
			}
			p.Line("%s  %s", label, line)
		}
	}
}
