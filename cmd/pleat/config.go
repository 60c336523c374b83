package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/url"
	"strings"
)

// configCommand is a function because it lists the commands, itself among them.
func configCommand() command {
	return command{
		name:    "config",
		args:    "[COMMAND]",
		takes:   arguments{0, 1, "one command"},
		summary: "show the settings in force and where each came from",
		help: `Shows the values that the flags of COMMAND have without a command line, and where each comes
from: the environment (--max-turns is PLEAT_MAX_TURNS), pleat.toml in this folder or the
nearest one above it, pleat.toml in your configuration folder, or the default. Without
COMMAND it shows what is set for any command.

In pleat.toml a key is the name of a flag: at the top for every command that has the flag, in
a table for one command. A file found in a project folder may not set flags that run programs,
allow tools or send the session elsewhere (such as allow, model, store). Put those into your
own file, or name the file with PLEAT_CONFIG.`,
		examples: `# what "pleat run" would use here
pleat config run
# settings for one command
printf '[run]\nwindow = 60000\n' > pleat.toml`,
		flags: func(fs *flag.FlagSet) runFunc {
			asJSON := fs.Bool("json", false, "print one JSON object")
			return func(_ context.Context, p *program, args []string) error {
				list := commands()
				if len(args) == 1 {
					c, ok := find(args[0])
					if !ok {
						return usageError{fmt.Sprintf("unknown command %q", args[0])}
					}
					list = []command{c}
				}
				return p.showSettings(list, len(args) == 1, *asJSON)
			}
		},
	}
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

func (p *program) showSettings(list []command, defaults, asJSON bool) error {
	out := configJSON{Format: "pleat/config/1", Files: []fileJSON{}, Settings: []settingJSON{}}
	files, err := p.settingsFiles()
	if err != nil {
		return err
	}
	for _, f := range files {
		out.Files = append(out.Files, fileJSON{f.path, f.trusted})
	}
	for _, c := range list {
		if c.flags == nil || c.name == "config" {
			continue
		}
		set, _ := c.flagSet()
		settings, err := p.settle(c, set)
		if err != nil {
			return err
		}
		for _, s := range settings {
			if defaults || s.from != "default" || s.ignored != "" {
				out.Settings = append(out.Settings, settingJSON{c.name, s.name, hidePassword(s.value), s.from, s.ignored})
			}
		}
	}
	return p.output(asJSON, out)
}

// hidePassword shows a URL without its password.
func hidePassword(value string) string {
	if !strings.Contains(value, "://") {
		return value
	}
	u, err := url.Parse(value)
	if err != nil {
		return "(a URL that cannot be read)"
	}
	if q := u.Query(); q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

func (j configJSON) print(p *page) {
	if len(j.Files) == 0 {
		p.line("no pleat.toml here, above, or in your configuration folder")
	}
	for _, f := range j.Files {
		who := "yours"
		if !f.Trusted {
			who = "the project's: it may not set everything"
		}
		p.line("%s (%s)", f.Path, who)
	}
	if len(j.Settings) == 0 {
		p.line("nothing is set: every command has its defaults")
	}
	for _, s := range j.Settings {
		p.line("%-10s --%-20s %-24s %s", s.Command, s.Name, cmp.Or(s.Value, `""`), s.From)
		if s.Ignored != "" {
			p.line("%-10s   not from %s: a project's file may not set it", "", s.Ignored)
		}
	}
}
