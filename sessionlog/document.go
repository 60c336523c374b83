package sessionlog

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/jsonspan"
)

func trimBOM(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// readDocument reads the whole file as one document. If it is cut off or damaged, what
// is whole before the damage is returned and the damage noted.
func (l *Log) readDocument() (value, error) {
	text := make([]byte, l.src.size)
	if err := l.src.readAt(text, 0); err != nil && l.src.size > 0 {
		return value{}, err
	}
	text = trimBOM(text)
	v, err := parse(text)
	if err == nil {
		return v, nil
	}
	at := len(text)
	if syntax, ok := errors.AsType[*jsonspan.SyntaxError](err); ok {
		at = syntax.Offset
	}
	l.broken = []Damage{{1 + bytes.Count(text[:at], []byte("\n")), fmt.Errorf("the document ends here: %w", err)}}
	v, _ = parse(salvage(text[:at])) // what cannot be saved has no format
	return v, nil
}

// salvage closes a JSON text that was cut off, behind the last whole element of the lists
// that hold messages: the list in an object, or in an object of the outermost list. It
// returns nil if there is none.
func salvage(text []byte) []byte {
	var stack, closing []byte
	safe, deepest := 0, 2
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			i = stringEnd(text, i)
		case '{', '[':
			if len(stack) == 0 && c == '[' {
				deepest = 3
			}
			stack = append(stack, c+2) // the closing byte of either
		case '}', ']':
			if len(stack) == 0 {
				return nil
			}
			stack = stack[:len(stack)-1]
			if n := len(stack); n > 0 && n <= deepest && stack[n-1] == ']' {
				safe = i + 1
				closing = append(closing[:0], stack...)
			}
		}
	}
	if safe == 0 {
		return nil
	}
	out := append(make([]byte, 0, safe+len(closing)), text[:safe]...)
	for i := len(closing) - 1; i >= 0; i-- {
		out = append(out, closing[i])
	}
	return out
}

// stringEnd returns the offset of the quote that ends the string that begins at i, or the
// last offset of the text.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text) - 1
}

// openLines prepares a file of lines. Of formats with a document a line it reads the
// chosen session's only.
func (l *Log) openLines() error {
	switch l.format {
	case ClaudeCode, Codex, CopilotCLI, Pi:
		return nil
	}
	l.count = 0
	l.opening = true
	defer func() { l.opening = false }()
	return l.lines(func(ln line, v value) error {
		if classifyLine(v) != l.format {
			return damaged(errShape)
		}
		if l.count == l.opts.Session {
			l.doc, l.docAt = value{b: bytes.Clone(v.b), off: v.off}, ln.num
		}
		l.count++
		return nil
	})
}

// choose takes the chosen session out of a document that holds several.
func (l *Log) choose() error {
	if l.doc.isArray() && (l.format == TauBench || l.format == OpenHands && !isOpenHands(l.doc.at(0))) {
		list := l.doc
		l.doc, l.count = value{}, 0
		for e := range list.elems() {
			if l.count == l.opts.Session {
				l.doc, l.docAt = e, 1+bytes.Count(list.b[:e.off-list.off], []byte("\n"))
			}
			l.count++
		}
	}
	if l.opts.Session < 0 || l.opts.Session >= l.count {
		return fmt.Errorf("session %d of %d: %w", l.opts.Session, l.count, ErrNoSession)
	}
	return nil
}

// each visits the elements of a list in the document with the line each begins on.
func (l *Log) each(list value, visit func(e value, lineNum int) bool) {
	num, at := l.docAt, l.doc.off
	for e := range list.elems() {
		num += bytes.Count(l.doc.b[at-l.doc.off:e.off-l.doc.off], []byte("\n"))
		at = e.off
		if !visit(e, num) {
			return
		}
	}
}
