package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// lineReader reads what a person types: with editing and history on a terminal, line by
// line from anything else.
type lineReader struct {
	terminal bool
	in       *os.File
	out      io.Writer
	keys     *keyboard
	editor   *term.Terminal
	scanner  *bufio.Scanner
}

// errInterrupted means that Ctrl-C was pressed instead of an answer.
var errInterrupted = errors.New("interrupted")

// keyboard joins the two ends of a terminal and records whether Ctrl-C was pressed, because
// the editor returns the same error for it as for the end of input.
type keyboard struct {
	io.Reader
	io.Writer
	interrupted bool
}

func (k *keyboard) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p)
	k.interrupted = bytes.IndexByte(p[:n], ctrlC) >= 0
	return n, err
}

const ctrlC = 3

func (p *program) lineReader() *lineReader {
	l := &lineReader{out: p.stdout}
	_, screen := terminalFile(p.stdout)
	if f, ok := p.stdin.(*os.File); ok && screen && term.IsTerminal(int(f.Fd())) {
		l.terminal, l.in = true, f
		l.keys = &keyboard{Reader: f, Writer: p.stdout}
		l.editor = term.NewTerminal(l.keys, "")
		return l
	}
	l.scanner = bufio.NewScanner(p.stdin)
	l.scanner.Buffer(nil, 16<<20)
	return l
}

// read reads one input: a line, several lines if each but the last ends with a backslash, or
// everything between two lines of """. At the end of input it returns io.EOF.
func (l *lineReader) read(prompt string) (string, error) {
	text, err := l.line(prompt)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(text) == `"""` {
		var b strings.Builder
		for {
			next, err := l.line("… ")
			if err != nil || strings.TrimSpace(next) == `"""` {
				return strings.TrimSuffix(b.String(), "\n"), err
			}
			b.WriteString(next + "\n")
		}
	}
	for strings.HasSuffix(text, `\`) {
		next, err := l.line("… ")
		if err != nil {
			return "", err
		}
		text = strings.TrimSuffix(text, `\`) + "\n" + next
	}
	return text, nil
}

func (l *lineReader) line(prompt string) (string, error) {
	if !l.terminal {
		if !l.scanner.Scan() {
			if err := l.scanner.Err(); err != nil {
				return "", fmt.Errorf("read standard input: %w", err)
			}
			return "", io.EOF
		}
		return l.scanner.Text(), nil
	}
	// Raw only while a line is edited, so that Ctrl-C works while the model is working.
	old, err := term.MakeRaw(int(l.in.Fd()))
	if err != nil {
		return "", fmt.Errorf("read from the terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(l.in.Fd()), old) }()
	if w, h, err := term.GetSize(int(l.in.Fd())); err == nil {
		_ = l.editor.SetSize(w, h)
	}
	l.editor.SetBracketedPasteMode(true)
	defer func() { l.editor.SetBracketedPasteMode(false) }()
	return l.edit(prompt)
}

// edit reads a line with the editor.
func (l *lineReader) edit(prompt string) (string, error) {
	l.editor.SetPrompt(prompt)
	var pasted strings.Builder
	for {
		text, err := l.editor.ReadLine()
		switch {
		case errors.Is(err, term.ErrPasteIndicator): // a line of a paste: the rest follows
			pasted.WriteString(text + "\n")
			l.editor.SetPrompt("… ")
			continue
		case errors.Is(err, io.EOF): // after that the editor returns nothing else, so make a new one
			fmt.Fprint(l.keys, "\r\n")
			before := l.editor.History
			l.editor = term.NewTerminal(l.keys, "")
			l.editor.History = before
			if l.keys.interrupted {
				err = errInterrupted
			}
		}
		return pasted.String() + text, err
	}
}
