package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// lineReader reads what a person types: on a terminal with an editor, line by line from
// anything else.
type lineReader struct {
	terminal bool
	ui       *ui
	out      io.Writer
	scanner  *bufio.Scanner
	coming   chan answer // a line that is being read
}

// errInterrupted means that Ctrl-C was pressed instead of an answer.
var errInterrupted = errors.New("interrupted")

func newLineReader(p *term.Console) *lineReader {
	l := &lineReader{terminal: p.Interactive(), out: p.Stdout, scanner: bufio.NewScanner(p.Stdin)}
	l.scanner.Buffer(nil, 16<<20)
	return l
}

// read reads one input: a line, several lines if each but the last ends with a backslash, or
// everything between two lines of """. At the end of input it returns io.EOF.
func (l *lineReader) read(ctx context.Context, prompt string) (string, error) {
	text, err := l.line(ctx, prompt, false)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(text) == `"""` {
		var b strings.Builder
		for {
			next, err := l.line(ctx, "… ", false)
			if err != nil || strings.TrimSpace(next) == `"""` {
				return strings.TrimSuffix(b.String(), "\n"), err
			}
			b.WriteString(next + "\n")
		}
	}
	for strings.HasSuffix(text, `\`) {
		next, err := l.line(ctx, "… ", false)
		if err != nil {
			return "", err
		}
		text = strings.TrimSuffix(text, `\`) + "\n" + next
	}
	return text, nil
}

// line reads one line. On a terminal with an editor, a fresh one has nothing in it that was
// typed before.
func (l *lineReader) line(ctx context.Context, prompt string, fresh bool) (string, error) {
	if l.ui != nil {
		return l.ui.read(ctx, prompt, fresh)
	}
	if l.terminal { // a dumb terminal
		fmt.Fprint(l.out, prompt)
	}
	if l.coming == nil {
		l.coming = make(chan answer, 1)
		go func(to chan<- answer) { to <- l.scan() }(l.coming)
	}
	select {
	case a := <-l.coming:
		l.coming = nil
		return a.text, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (l *lineReader) scan() answer {
	if l.scanner.Scan() {
		return answer{text: l.scanner.Text()}
	}
	if err := l.scanner.Err(); err != nil {
		return answer{err: fmt.Errorf("read standard input: %w", err)}
	}
	return answer{err: io.EOF}
}
