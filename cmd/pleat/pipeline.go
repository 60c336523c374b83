package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/model"
)

// Commands on session files and on the store share their steps: read the file or open the
// store, make a result from it, and print that for people or as JSON.

// result is what a command found out. Its JSON form is a contract: docs/cli.md.
type result interface {
	Print(p *page) // for people
}

// output prints a result: one JSON object, or lines for people.
func (p *program) output(asJSON bool, r result) error {
	if asJSON {
		return writeJSON(p.contents(), r)
	}
	out := &page{bufio.NewWriter(p.stdout), p.screen()}
	r.Print(out)
	if err := out.Flush(); err != nil { // of any line
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// fileCommand is a command that reads one session file.
type fileCommand struct {
	sourceFlags
	json bool
}

// declareFile declares the flags that commands on a session file share.
func declareFile(c *cobra.Command) *fileCommand {
	f := &fileCommand{}
	f.declare(c.Flags())
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	c.Args = oneFile
	return f
}

// run reads the file, and prints the result that find returns.
func (c *fileCommand) run(ctx context.Context, p *program, args []string, find func(f *sessionFile, tell *progress) (result, error)) error {
	f, err := readSession(ctx, p, args[0], c.sourceFlags)
	if err != nil {
		return err
	}
	defer f.Close()
	if c.model != "" && len(f.model.Prices) == 0 { // a row for a whole family, or for any model
		p.note("pleat: model %q is counted as %q, which the table has%s\n", c.model, cmp.Or(f.model.ID, model.UnknownModel), didYouMean("", c.model, modelNames()))
	}
	tell := p.progress()
	r, err := find(f, tell)
	tell.done()
	if err != nil {
		return err
	}
	return p.output(c.json, r)
}

// onStore makes the function that runs a command on a store, which must exist.
func (f *storeFlags) onStore(how access, do func(ctx context.Context, p *program, store anyStore, args []string) error) runFunc {
	return func(ctx context.Context, p *program, args []string) error {
		store, _, err := storeAt(ctx, p, f, how)
		if err != nil {
			return err
		}
		defer store.Close()
		return do(ctx, p, store, args)
	}
}

// page writes lines for people and remembers the first error.
type page struct {
	*bufio.Writer
	screen
}

func (p *page) line(format string, args ...any) {
	p.WriteString(string(sprint(format, args...)) + "\n")
}

// hang writes a text behind a prefix; the lines that it takes begin below one another, or
// below the prefix if that leaves too little room for a word.
func (p *page) hang(prefix styled, text string) {
	if at := columns(string(prefix)); !p.whole && at+columns(text) > p.width {
		if at > 4 && at+widest(strings.Fields(text), func(word string) string { return word }) > p.width {
			p.line("%s", styled(strings.TrimRight(string(prefix), " ")))
			prefix, at = "    ", 4
		}
		text = strings.ReplaceAll(wrapWords(text, p.width-at), "\n", "\n"+strings.Repeat(" ", at))
	}
	p.line("%s%s", prefix, text)
}

// title names the file that the page is about.
func (p *page) title(file string) { p.line("%s", p.bold(p.clipMiddle(fileName(file), p.width))) }

// head begins a part of the page.
func (p *page) head(title, note string) {
	p.line("")
	space := ""
	if note != "" {
		space = "  "
	}
	p.line("%s%s%s", p.bold(title), space, p.dim(p.clip(note, p.width-columns(title)-2)))
}

func fileName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return filepath.Base(name)
}

// writeJSON prints one object for programs. Its member "format" names its shape and version;
// docs/cli.md specifies them. A version may get new members, but none is renamed or removed.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

func indentBy(prefix, text string) string {
	return prefix + strings.ReplaceAll(strings.Trim(text, "\n"), "\n", "\n"+prefix)
}
