package live

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// lineReader reads what a person types, line by line.
type lineReader struct {
	terminal bool
	ui       *ui // the terminal, while something runs on it
	out      io.Writer
	scanner  *bufio.Scanner
	begin    sync.Once
	typed    chan string // closed at the end of input,
	ended    error       // whose reason this is
	ahead    []string    // lines typed before anybody asked
}

func newLineReader(p *term.Console) *lineReader {
	l := &lineReader{
		terminal: p.Interactive(), out: p.Stdout, scanner: bufio.NewScanner(p.Stdin), typed: make(chan string, 64),
	}
	l.scanner.Buffer(nil, 16<<20)
	return l
}

// read reads one input: a line, or everything between two lines of """. At the end of input
// it returns io.EOF.
func (l *lineReader) read(ctx context.Context, prompt string) (string, error) {
	text, err := l.line(ctx, prompt)
	if err != nil || strings.TrimSpace(text) != `"""` {
		return text, err
	}
	var b strings.Builder
	for {
		next, err := l.line(ctx, "… ")
		if err != nil || strings.TrimSpace(next) == `"""` {
			return strings.TrimSuffix(b.String(), "\n"), err
		}
		b.WriteString(next + "\n")
	}
}

// answer reads the answer to a question. What was typed before the question is none.
func (l *lineReader) answer(ctx context.Context, prompt string) (string, error) {
	l.takeAhead()
	return l.ask(ctx, prompt)
}

// line reads one line.
func (l *lineReader) line(ctx context.Context, prompt string) (string, error) {
	if l.takeAhead(); len(l.ahead) == 0 {
		return l.ask(ctx, prompt)
	}
	text := l.ahead[0]
	l.ahead = l.ahead[1:]
	if l.terminal {
		fmt.Fprintf(l.out, "%s%s\n", prompt, term.Visible(text))
	}
	return text, nil
}

func (l *lineReader) takeAhead() {
	for len(l.typed) > 0 {
		l.ahead = append(l.ahead, <-l.typed)
	}
}

// ask shows the prompt on a terminal and waits for a line.
func (l *lineReader) ask(ctx context.Context, prompt string) (string, error) {
	l.begin.Do(func() { go l.scan() }) // may run until the program ends: reading cannot be stopped
	switch {
	case l.ui != nil:
		defer l.ui.hold(prompt)()
	case l.terminal: // a dumb terminal
		fmt.Fprint(l.out, prompt)
	}
	select {
	case text, ok := <-l.typed:
		if !ok {
			return "", l.ended
		}
		return text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (l *lineReader) scan() {
	for l.scanner.Scan() {
		if l.ui != nil {
			l.ui.entered()
		}
		l.typed <- l.scanner.Text()
	}
	if l.ended = io.EOF; l.scanner.Err() != nil {
		l.ended = fmt.Errorf("read standard input: %w", l.scanner.Err())
	}
	close(l.typed)
}
