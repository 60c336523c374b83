package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// runFunc runs a command whose flags have been read. args are the other arguments.
type runFunc func(ctx context.Context, p *program, args []string) error

// flagSet declares the command's flags on a new set and returns the function that runs it.
func (c command) flagSet() (*flag.FlagSet, runFunc) {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // program.run prints errors
	if c.flags == nil {
		return fs, c.run
	}
	return fs, c.flags(fs)
}

// invoke reads the flags and runs the command.
func (c command) invoke(ctx context.Context, p *program, args []string) error {
	fs, run := c.flagSet()
	if c.flags != nil {
		var err error
		if args, err = parseFlags(fs, args); err != nil {
			return usageError{c.name + ": " + err.Error()}
		}
	}
	if c.flags != nil && c.name != "config" { // config must be able to show wrong settings
		settings, err := p.settle(c, fs)
		if err != nil {
			return err
		}
		for _, s := range settings {
			if s.ignored != "" {
				fmt.Fprintf(p.stderr, "pleat: %s may not set %s: a project's file comes from others (see \"pleat help config\")\n", s.ignored, s.name)
			}
		}
	}
	if n := len(args); c.takes.words != "" && (n < c.takes.least || n > c.takes.most) {
		return usageError{c.name + " takes " + c.takes.words}
	}
	return run(ctx, p, args)
}

// parseFlags reads flags before, between and after the arguments, and returns the
// arguments. After "--" everything is an argument.
func parseFlags(fs *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) { // "-h" with a value, such as "-h=x"
				return nil, errors.New("-h takes no value")
			}
			return nil, errors.New(flagError(err.Error()))
		}
		left := fs.Args()
		if n := len(args) - len(left); n > 0 && args[n-1] == "--" || len(left) == 0 {
			return append(rest, left...), nil
		}
		rest, args = append(rest, left[0]), left[1:]
	}
}

// flagError rewrites an error of package flag, which writes flags with one dash.
func flagError(msg string) string {
	if name, ok := strings.CutPrefix(msg, "flag provided but not defined: -"); ok {
		return "unknown flag " + dashed(name)
	}
	if name, ok := strings.CutPrefix(msg, "flag needs an argument: -"); ok {
		return "flag " + dashed(name) + " needs a value"
	}
	return strings.Replace(msg, " for flag -", " for flag --", 1)
}

// eachFlag calls f for every flag, sorted by name. value is the placeholder of its value,
// "" for a switch; def is its default, "" where there is none worth mentioning.
func (c command) eachFlag(f func(name, value, usage, def string)) {
	fs, _ := c.flagSet()
	fs.VisitAll(func(fl *flag.Flag) {
		value, usage := flag.UnquoteUsage(fl)
		def := fl.DefValue
		if def == "false" || def == "0" {
			def = ""
		}
		f(fl.Name, value, usage, def)
	})
}

// flagColumn is the width of the column of flags in help.
const flagColumn = 18

// flagHelp is the part of a command's help that lists its flags.
func (c command) flagHelp() string {
	var b strings.Builder
	c.eachFlag(func(name, value, usage, def string) {
		head := dashed(name)
		if value != "" {
			head += " " + value
		}
		if def != "" {
			usage += " (default " + def + ")"
		}
		if len(head) > flagColumn {
			fmt.Fprintf(&b, "  %s\n", head)
			head = ""
		}
		for _, line := range wrap(usage, 70) {
			fmt.Fprintf(&b, "  %-*s %s\n", flagColumn, head, line)
			head = ""
		}
	})
	return b.String()
}

func indentBy(prefix, text string) string {
	return prefix + strings.ReplaceAll(strings.Trim(text, "\n"), "\n", "\n"+prefix)
}
