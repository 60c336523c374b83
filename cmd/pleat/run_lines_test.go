package main

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/term"
)

// What is typed at a terminal: Ctrl-C is not the end of input, and after either the next
// line can be read.
func TestEditLines(t *testing.T) {
	chunks := make(chan string, 10)
	for _, c := range []string{"one\r", "half\x03", "two\r", "\x1b[200~three\rfour\x1b[201~\r", "\x04", "five\r"} {
		chunks <- c
	}
	close(chunks)
	l := &lineReader{terminal: true, keys: &keyboard{Reader: chunkReader{chunks}, Writer: io.Discard}}
	l.editor = term.NewTerminal(l.keys, "")
	l.editor.SetBracketedPasteMode(true)
	var got []string
	for range 6 {
		text, err := l.edit("› ")
		switch {
		case errors.Is(err, errInterrupted):
			text = "interrupted"
		case err != nil:
			text = err.Error()
		}
		got = append(got, text)
	}
	want := []string{"one", "interrupted", "two", "three\nfour", "EOF", "five"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if l.editor.History.Len() < 3 || !strings.Contains(l.editor.History.At(0), "five") {
		t.Errorf("the history has %d lines", l.editor.History.Len())
	}
}

// chunkReader reads what is typed, key by key or at once.
type chunkReader struct{ from <-chan string }

func (c chunkReader) Read(p []byte) (int, error) {
	text, ok := <-c.from
	if !ok {
		return 0, io.EOF
	}
	return copy(p, text), nil
}
