// Pleat keeps LLM agents inside their context window. Run "pleat help" for its commands.
//
// A command is one function and one line. To add one, copy a short function such as
// policiesCommand, rename it, and add it to [root]. Help, completion, environment variables
// and pleat.toml follow from the flags that the command declares.
// Commands that read a session file or the store find what they share in pipeline.go, and
// everything that more than one command needs in the packages under internal.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/hook"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends what does not notice the first
	p := &term.Console{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
	code := execute(ctx, p, os.Args[1:])
	stop()
	os.Exit(code)
}

// runFunc runs a command whose flags have been read. args are the other arguments.
type runFunc func(ctx context.Context, p *term.Console, args []string) error

// execute runs one command line and returns the exit code: 0 if it was done, 1 if that
// failed, 2 if the command line was not understood. For wrap, it is the client's own exit
// code once the client has run.
func execute(ctx context.Context, p *term.Console, args []string) int {
	root := root(p)
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	if err == nil || c.Name() == hook.Name { // whose errors would stop the agent that runs it
		return 0
	}
	if e, ok := errors.AsType[exitError](err); ok {
		return e.code
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		p.Note("pleat: stopped\n")
		return 130
	}
	msg := err.Error()
	p.Note("pleat: %s\n", term.WithoutPassword(msg))
	if _, ok := errors.AsType[term.UsageError](err); ok || strings.HasPrefix(msg, "unknown command") {
		fmt.Fprintf(p.Stderr, "Run \"%s --help\" for usage.\n", strings.TrimSuffix(c.CommandPath(), " help"))
		return 2
	}
	return 1
}

const about = `pleat keeps an LLM agent inside its context window and never loses a byte of what it folds
away. It reads the sessions that agents keep on disk, folds them to a budget, searches them and
gives any part back exactly. It is also an agent, and a proxy between other agents and their
provider.`

// root is the program with all its commands, in the order in which help lists them.
func root(p *term.Console) *cobra.Command {
	cobra.EnableCommandSorting = false
	root := &cobra.Command{
		Use: "pleat", Short: "keep an LLM agent inside its context window", Long: about,
		Version: version(), SilenceErrors: true, SilenceUsage: true, DisableAutoGenTag: true,
		RunE: func(c *cobra.Command, _ []string) error {
			return c.Help()
		},
	}
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SetVersionTemplate("pleat {{.Version}}\n")
	fitHelp(p, root)
	root.SetFlagErrorFunc(flagError)
	group := func(id, title string, commands ...func(*term.Console) *cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, make := range commands {
			c := make(p)
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	group("start", "Start here:", demoCommand, statusCommand, setupCommand, doctorCommand)
	group("work", "Keep an agent inside its window:", wrapCommand, proxyCommand, runCommand, hookCommand)
	group("files", "Sessions:", sessionsCommand, usageCommand, showCommand, browseCommand, searchCommand,
		compactCommand, unfoldCommand, dashCommand)
	// Of no group: help names them, and explains them if asked for all.
	root.AddCommand(ledgerCommand(p), storeCommand(p), mcpCommand(p), benchCommand(p), configCommand(p), versionCommand(p))
	root.SetHelpCommand(helpCommand(root))
	root.SetHelpCommandGroupID("start")
	each(root, func(c *cobra.Command) { completes(p, c) })
	return root
}

// each calls f for every command below c that is listed.
func each(c *cobra.Command, f func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			f(sub)
			each(sub, f)
		}
	}
}

// names lists the commands below c.
func names(c *cobra.Command) (list []string) {
	each(c, func(c *cobra.Command) { list = append(list, c.Name()) })
	return list
}

// runs settles what the command line left open, and runs the command.
func runs(p *term.Console, run runFunc) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		settings, err := settle(p, c)
		if err != nil {
			return err
		}
		for _, s := range settings {
			if s.Ignored != "" {
				p.Note("pleat: ignored %s in %s: a project's file comes from others (see \"pleat help config\")\n",
					s.Name, s.Ignored)
			}
		}
		return run(c.Context(), p, args)
	}
}

func takes(least, most int, words string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			name := strings.TrimPrefix(c.CommandPath(), "pleat ")
			return term.UsageError(fmt.Sprintf("%s takes %s; got %s", name, words, term.Plural(n, "argument")))
		}
		return nil
	}
}

var (
	noArguments = takes(0, 0, "no arguments")
	oneFile     = takes(0, 1,
		"one session: a file, last, a name that \"pleat sessions\" lists, or - for standard input")
)

// flagError says which flag might have been meant.
func flagError(c *cobra.Command, err error) error {
	msg := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "pleat ")+": "+err.Error(), "pleat: ")
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		switch name := e.GetSpecifiedName(); {
		case name == "all" && c.Flags().Changed("help"):
			return pflag.ErrHelp // which sees the whole command line
		case name == "port" && slices.Contains(names, "listen"):
			msg += " (did you mean --listen 127.0.0.1:PORT?)" // no name is near
		default:
			msg += term.DidYouMean("--", name, names)
		}
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		value, about := pflag.UnquoteUsage(e.GetFlag())
		msg += fmt.Sprintf(" %s: %s", value, about)
		given := regexp.MustCompile("--" + e.GetFlag().Name + `[ =](\S+|'[^']*')`)
		if example := given.FindString(c.Example); example != "" {
			msg += ", such as " + example
		}
	}
	return term.UsageError(msg)
}
