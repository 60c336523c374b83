package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clients"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/models"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// completes sets how shells complete the arguments and the flags of a command, by the
// placeholders in its help.
func completes(p *term.Console, c *cobra.Command) {
	if c.Example = strings.Trim(c.Example, "\n"); c.Example != "" {
		c.Example = term.IndentBy("  ", c.Example)
	}
	if c.ValidArgsFunction == nil && c.ValidArgs == nil {
		c.ValidArgsFunction = choices(p, c, c.Use)
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		placeholder, _ := pflag.UnquoteUsage(f)
		_ = c.RegisterFlagCompletionFunc(f.Name, choices(p, c, placeholder)) // fails only if there is one already
	})
}

func choices(p *term.Console, c *cobra.Command, placeholder string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var list []string
		switch has := func(s string) bool { return strings.Contains(placeholder, s) }; {
		case has("CLIENT") && len(args) > 0: // the client's own arguments
			return nil, cobra.ShellCompDirectiveDefault
		case has("FILE"), has("SRC"), has("OUT"):
			return nil, cobra.ShellCompDirectiveDefault
		case has("FOLDER"):
			return nil, cobra.ShellCompDirectiveFilterDirs
		case has("SESSION"):
			list = sessionNames(p, c)
		case has("POLICY"):
			list = sessionfile.PolicyNames()
		case has("MODEL"):
			list = models.Names()
		case has("CLIENT"):
			for _, c := range clients.All {
				if c.Why == "" && !c.Settings {
					list = append(list, c.Name)
				}
			}
		case has("COMMAND"):
			list = names(c.Root())
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// sessionNames lists the sessions of the store, as far as it can be read.
func sessionNames(p *term.Console, c *cobra.Command) (names []string) {
	if _, err := settle(p, c); err != nil {
		return nil
	}
	f := &stores.Flags{}
	f.Path, _ = c.Flags().GetString("store")
	f.Tenant, _ = c.Flags().GetString("tenant")
	st, _, err := stores.OpenAs(c.Context(), p, f, stores.ReadOnly)
	if err != nil {
		return nil
	}
	defer st.Close()
	list, _ := library.Conversations(c.Context(), st, f.Tenant)
	return library.Names(list)
}

func versionCommand(p *term.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Args:  noArguments,
		Short: "print the version",
		Long: "Prints the version of pleat, the commit it was built from and its day if they are known, and\nthe " +
			"version of Go.",
		RunE: runs(p, func(context.Context, *term.Console, []string) error {
			p.Printf("pleat %s\n", version())
			return nil
		}),
	}
}

// release and built are set by the linker in released programs: the version, and the commit and
// the day it was made. Go writes both into the version of programs that it builds from a clone by itself.
var release, built string

// version is the version, commit and day, Go version and platform of the program.
func version() string {
	v := cmp.Or(release, "development")
	if info, ok := debug.ReadBuildInfo(); ok && release == "" && info.Main.Version != "(devel)" {
		v = cmp.Or(info.Main.Version, v)
	}
	if commit, when, ok := strings.Cut(built, ","); ok {
		v += " (" + commit + ", " + when[:min(len(when), len("2026-01-02"))] + ")"
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
