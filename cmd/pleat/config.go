package main

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func configCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "config [COMMAND]",
		Args:  takes(0, 1, "one command"),
		Short: "show the settings in force and where each came from",
		Long: `Shows the values that the flags of COMMAND have without a command line, and where each comes
from: the environment (--max-turns is PLEAT_MAX_TURNS), pleat.toml in this folder or the
nearest one above it, pleat.toml in your configuration folder, or the default. Without
COMMAND it shows what is set for any command.

In pleat.toml a key is the name of a flag: at the top for every command that has the flag, in
a table for one command. A file found in a project folder comes from others. It may only set
how much is folded (budget, window, policy) and what lists show; other keys are ignored, and
a warning names them. Put those into your own file, or name the file with PLEAT_CONFIG.`,
		Example: `# what "pleat run" would use here
pleat config run
# settings for one command
printf '[run]\nwindow = 60000\n' > pleat.toml`,
	}
	asJSON := c.Flags().Bool("json", false, "print one JSON object")
	c.RunE = func(c *cobra.Command, args []string) error { // it must be able to show wrong settings
		out := configJSON{Format: "pleat/config/1", Files: []fileJSON{}, Settings: []settingJSON{}}
		files, err := settingsFiles(p, c.Root())
		if err != nil {
			return err
		}
		for _, f := range files {
			out.Files = append(out.Files, fileJSON{f.path, f.trusted})
		}
		var names []string
		each(c.Root(), func(x *cobra.Command) {
			if names = append(names, x.Name()); x == c || len(args) > 0 && x.Name() != args[0] {
				return
			}
			settings, e := settle(p, x)
			err = cmp.Or(err, e)
			for _, s := range settings {
				if len(args) > 0 || s.from != "default" || s.ignored != "" {
					out.Settings = append(out.Settings, settingJSON{x.Name(), s.name, term.WithoutPassword(s.value), s.from, s.ignored})
				}
			}
		})
		if len(args) > 0 && !slices.Contains(names, args[0]) {
			return term.UsageError("there is no command " + args[0] + term.DidYouMean("", args[0], names))
		}
		if err != nil {
			return err
		}
		return p.Output(*asJSON, out)
	}
	return c
}

type configJSON struct {
	Format   string        `json:"format"`
	Files    []fileJSON    `json:"files"`
	Settings []settingJSON `json:"settings"`
}

type fileJSON struct {
	Path    string `json:"path"`
	Trusted bool   `json:"trusted"`
}

type settingJSON struct {
	Command string `json:"command"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	From    string `json:"from"`
	Ignored string `json:"ignored,omitempty"` // a project's file that tried to set it but may not
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
