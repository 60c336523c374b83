// Package term is what commands have for talking to people: the console with its files and
// environment, the width and colours of its screen, and numbers, tables and progress in words.
package term

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Console is what commands see of the outside world. Tests give them another.
type Console struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
}

// Home is the user's home folder; "" if the environment names none.
func (p *Console) Home() string { return cmp.Or(p.Getenv("HOME"), p.Getenv("USERPROFILE")) }

// UsageError is a mistake on the command line. The exit code is 2, and a line points to help.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Printf and note write to standard output and standard error. On a terminal, lines break at
// words.
func (p *Console) Printf(format string, args ...any) { p.write(p.Stdout, Sprint(format, args...)) }

func (p *Console) Note(format string, args ...any) { p.write(p.Stderr, Sprint(format, args...)) }

func (p *Console) write(w io.Writer, text Styled) {
	if _, ok := w.(drawn); !ok {
		if _, terminal := terminalFile(w); terminal {
			text = p.screenOf(w).wrap(text)
		}
	}
	_, _ = io.WriteString(w, string(text))
}

// Contents is standard output for texts of others. On a terminal they are escaped;
// elsewhere they come out byte for byte.
func (p *Console) Contents() io.Writer {
	if _, terminal := terminalFile(p.Stdout); terminal {
		return &escaper{w: p.Stdout}
	}
	return p.Stdout
}

type escaper struct {
	w    io.Writer
	rest []byte // the beginning of a character
}

func (e *escaper) Write(b []byte) (int, error) {
	all := append(e.rest, b...)
	cut := len(all)
	for i := len(all) - 1; i >= max(len(all)-utf8.UTFMax, 0); i-- {
		if utf8.RuneStart(all[i]) {
			if !utf8.FullRune(all[i:]) {
				cut = i
			}
			break
		}
	}
	_, err := io.WriteString(e.w, Visible(string(all[:cut])))
	e.rest = slices.Clone(all[cut:])
	return len(b), err
}

// Result is what a command found out. Its JSON form is a contract: docs/cli.md.
type Result interface {
	Print(p *Page) // for people
}

// Output prints a result: one JSON object, or lines for people.
func (p *Console) Output(asJSON bool, r Result) error {
	if asJSON {
		return WriteJSON(p.Contents(), r)
	}
	out := &Page{bufio.NewWriter(p.Stdout), p.Screen()}
	r.Print(out)
	if err := out.Flush(); err != nil { // of any line
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// WriteJSON prints one object for programs. Its member "format" names its shape and version;
// docs/cli.md specifies them. A version may get new members, but none is renamed or removed.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(JSONWriter{w})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// JSONWriter writes JSON, with characters that turn the direction of text as escapes.
type JSONWriter struct{ To io.Writer }

func (w JSONWriter) Write(b []byte) (int, error) {
	_, err := turning.WriteString(w.To, string(b))
	return len(b), err
}

var turning = func() *strings.Replacer {
	var pairs []string
	for _, r := range unicode.Bidi_Control.R16 {
		for c := r.Lo; c <= r.Hi; c += r.Stride {
			pairs = append(pairs, string(rune(c)), fmt.Sprintf(`\u%04x`, c))
		}
	}
	return strings.NewReplacer(pairs...)
}()

// Interactive reports whether somebody types at a terminal and sees the output there.
func (p *Console) Interactive() bool {
	_, screen := terminalFile(p.Stdout)
	f, ok := p.Stdin.(*os.File)
	return ok && screen && term.IsTerminal(int(f.Fd()))
}

// Confirm asks the person at the terminal, unless the answer is known. Any answer but yes is
// an error.
func (p *Console) Confirm(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	stdin, ok := p.Stdin.(io.Writer) // a terminal is a file
	if ok {
		_, ok = terminalFile(stdin)
	}
	if !ok {
		return errors.New("nothing was changed: there is no terminal to ask on (use --yes to do it without asking)")
	}
	a, err := p.Ask(ctx, question+" [y/N]")
	if a = strings.ToLower(a); err == nil && a != "y" && a != "yes" {
		err = errors.New("cancelled; nothing changed")
	}
	return err
}

// Ask asks the person at the terminal, and returns the line that they type.
func (p *Console) Ask(ctx context.Context, question string) (string, error) {
	p.Note("%s ", question)
	answer := make(chan string, 1)
	go func() { // may run until the program ends: reading from a terminal cannot be stopped
		line, _ := bufio.NewReader(p.Stdin).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		p.Note("\n")
		return "", ctx.Err()
	case a := <-answer:
		return a, nil
	}
}
