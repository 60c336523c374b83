package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// seldom are the flags that a command's help lists only with --all; some are seldom used with one command alone.
var seldom = strings.Fields(`
	tenant store-key-file otel digest-output digest-rules or-code sidechains strict memory recall-dir cache
	dash-token-file drain-token-file host index proxy:json proxy:quiet compact:force compact:quiet compact:session
	after-epoch after-tool before-epoch before-tool max-time max-tokens no-recall no-redact root system run:session`)

// allFlag shows the flags and explains the commands that help leaves out.
const allFlag = "--all"

// fitHelp lays help out for the terminal.
func fitHelp(p *term.Console, root *cobra.Command) {
	width, flags, help := 100, 100, root.HelpFunc()
	if s := p.Screen(); s.Width < width { // also in a pipe, which may end on a terminal
		width, flags = s.Width, 0 // refill breaks their lines
	}
	wrapped := fmt.Sprintf(".FlagUsagesWrapped %d", flags)
	lists, rest, _ := strings.Cut(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", wrapped), "Additional Commands:")
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		note := "\n\"pleat help " + allFlag + "\" explains every command.\n"
		named := strings.Replace(rest, "\n  {{rpad .Name .NamePadding }} {{.Short}}", " {{.Name}}", 1)
		if slices.Contains(args, allFlag) {
			named, note = rest, ""
		} else if c != root {
			note = hideSeldom(c)
		}
		root.SetUsageTemplate(lists + "Also:" + named)
		var text strings.Builder
		c.SetOut(&text)
		help(c, args)
		c.SetOut(p.Stdout)
		_, _ = io.WriteString(p.Stdout, term.Refill(text.String()+note, width))
	})
}

// hideSeldom leaves flags out of a command's help, and says so.
func hideSeldom(c *cobra.Command) (note string) {
	more := 0
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && (slices.Contains(seldom, f.Name) || slices.Contains(seldom, c.Name()+":"+f.Name)) {
			f.Hidden = true
			more++
		}
	})
	if more == 0 {
		return ""
	}
	return fmt.Sprintf("\n%s not listed here: \"%s --help %s\" lists all.\n",
		term.Verb(more, "flag", "is", "are"), c.CommandPath(), allFlag)
}

// helpCommand is cobra's, with an error for what is no command.
func helpCommand(root *cobra.Command) *cobra.Command {
	help := &cobra.Command{
		Use: "help [COMMAND]", Short: "explain a command, with its flags and examples",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (list []string, _ cobra.ShellCompDirective) {
			of, _, _ := root.Find(args)
			for _, c := range of.Commands() {
				list = append(list, c.Name()+"\t"+c.Short)
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		},
	}
	all := help.Flags().Bool("all", false, "list every flag, or explain every command")
	help.RunE = func(_ *cobra.Command, args []string) error {
		c, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return term.UsageError(fmt.Sprintf("there is no command %q%s", strings.Join(args, " "),
				term.DidYouMean("", args[len(args)-1], names(c))))
		}
		c.InitDefaultHelpFlag()
		if args = nil; *all {
			args = []string{allFlag}
		}
		c.HelpFunc()(c, args)
		return nil
	}
	return help
}
