package main

import (
	"cmp"
	"context"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/policy"
)

func configCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:        "config [COMMAND | policies]",
		SuggestFor: []string{"policies", "settings"},
		Args:       takes(0, 1, "one command"),
		Short:      "show settings and where each came from, and policies",
		Long: `Shows the default value of each flag of COMMAND and where it comes from: the environment
(--max-turns is PLEAT_MAX_TURNS), else pleat.toml in this folder or the nearest one above it,
else pleat.toml in your configuration folder, else pleat itself. Without COMMAND it shows what is
set for any command.

In pleat.toml a key is the name of a flag: at the top for every command that has the flag, in
a table for one command. A file found in a project folder comes from others. It may only set
how much is folded (budget, window, policy) and what lists show; other keys are ignored, and
a warning names them. Put those into your own file, or name the file with PLEAT_CONFIG.`,
		Example: `# what "pleat run" would use here
pleat config run
# settings for one command
printf '[run]\nwindow = 60000\n' > pleat.toml`,
	}
	c.AddCommand(policiesCommand(p))
	asJSON := c.Flags().Bool("json", false, "print one JSON object")
	c.RunE = func(c *cobra.Command, args []string) error { // it must be able to show wrong settings
		files, err := settingsFiles(p, c.Root())
		if err != nil {
			return err
		}
		out := configJSON{"pleat/config/1", append([]settingsFile{}, files...), []setting{}}
		if all := names(c.Root()); len(args) > 0 && !slices.Contains(all, args[0]) {
			return term.UsageError("there is no command " + args[0] + term.DidYouMean("", args[0], all))
		}
		each(c.Root(), func(x *cobra.Command) {
			if x == c || len(args) > 0 && x.Name() != args[0] {
				return
			}
			settings, e := settle(p, x)
			err = cmp.Or(err, e)
			for _, s := range settings {
				if s.Value = shownValue(s.Value); len(args) > 0 || s.From != "default" || s.Ignored != "" {
					out.Settings = append(out.Settings, s)
				}
			}
		})
		if err != nil {
			return err
		}
		return p.Output(*asJSON, out)
	}
	return c
}

// shownValue is a setting that can be printed. What may be an address with a password is shown without its user
// and its query; of one that is not written as addresses are, nothing is.
func shownValue(value string) string {
	if !mayHavePassword.MatchString(value) {
		return term.WithoutPassword(value)
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return "…"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

var mayHavePassword = regexp.MustCompile(`(?s):.*@|://`)

type configJSON struct {
	Format   string         `json:"format"`
	Files    []settingsFile `json:"files"`
	Settings []setting      `json:"settings"`
}

func (j configJSON) Print(p *term.Page) {
	if len(j.Files) == 0 {
		p.Line("no pleat.toml here, above, or in your configuration folder")
	}
	for _, f := range j.Files {
		who := "yours"
		if !f.Trusted {
			who = "the project's: it may not set everything"
		}
		p.Line("%s (%s)", f.Path, who)
	}
	if len(j.Settings) == 0 {
		p.Line("nothing is set: every command has its defaults")
	}
	for _, s := range j.Settings {
		p.Line("%-10s --%-20s %-24s %s", s.Command, s.Name, cmp.Or(s.Value, `""`), s.From)
		if s.Ignored != "" {
			p.Line("%-10s   not from %s: a project's file may not set it", "", s.Ignored)
		}
	}
}

func policiesCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "policies [NAME]",
		Args:  takes(0, 1, "one name"),
		Short: "list the policies, or show one as JSON",
		Long: `Lists the policies that come with pleat. With NAME it prints that policy as JSON. Change what
you need, save it, and pass the file to --policy.`,
		Example: `# all of them
pleat config policies
# make your own policy
pleat config policies default > mine.json
pleat compact session.jsonl --dry-run --policy ./mine.json`,
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
		p.Hang(p.Bold(term.Pad(policy.Name, name))+"  ", policy.Doc)
	}
}
