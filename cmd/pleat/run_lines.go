package main

import (
	"bufio"
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
	editor   *term.Terminal
	scanner  *bufio.Scanner
}

// readWriter joins the two ends of a terminal.
type readWriter struct {
	io.Reader
	io.Writer
}

func (p *program) lineReader() *lineReader {
	l := &lineReader{out: p.stdout}
	_, screen := terminalFile(p.stdout)
	if f, ok := p.stdin.(*os.File); ok && screen && term.IsTerminal(int(f.Fd())) {
		l.terminal, l.in = true, f
		l.editor = term.NewTerminal(readWriter{f, p.stdout}, "")
		return l
	}
	l.scanner = bufio.NewScanner(p.stdin)
	l.scanner.Buffer(nil, 16<<20)
	return l
}

// read reads one input: a line, several when each but the last ends with a backslash, or
// everything between two lines of """. At the end of input it is io.EOF.
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
	// Raw only while a line is edited, so that Ctrl-C works while the model does.
	old, err := term.MakeRaw(int(l.in.Fd()))
	if err != nil {
		return "", fmt.Errorf("read from the terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(l.in.Fd()), old) }()
	if w, h, err := term.GetSize(int(l.in.Fd())); err == nil {
		_ = l.editor.SetSize(w, h)
	}
	l.editor.SetBracketedPasteMode(true)
	defer l.editor.SetBracketedPasteMode(false)
	l.editor.SetPrompt(prompt)
	var pasted strings.Builder
	for {
		text, err := l.editor.ReadLine()
		if errors.Is(err, term.ErrPasteIndicator) { // a line of a paste: the rest follows
			pasted.WriteString(text + "\n")
			l.editor.SetPrompt("… ")
			continue
		}
		return pasted.String() + text, err
	}
}
