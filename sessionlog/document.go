package sessionlog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
)

func trimBOM(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// readDocument reads the whole file as one document. If it is cut off or damaged, it
// returns what is whole before the damage and notes the damage.
func (l *Log) readDocument() (value, error) {
	text := make([]byte, l.src.size)
	if err := l.src.readAt(text, 0); err != nil && l.src.size > 0 {
		return value{}, err
	}
	text = messageList(trimBOM(text))
	v, err := parse(text)
	if err == nil {
		return v, nil
	}
	at := len(text)
	var syntax *jsonspan.SyntaxError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	}
	l.broken = []Damage{{1 + bytes.Count(text[:at], []byte("\n")), fmt.Errorf("the document ends here: %w", err)}}
	v, _ = parse(salvage(text[:at])) // if nothing is left, no format will fit
	return v, nil
}

// messageList makes a list of a text whose lines are messages, as programs dump theirs; other texts stay.
func messageList(text []byte) []byte {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if v, err := parse(first); err != nil || !v.get("role").isString() || !v.get("content").exists() {
		return text
	}
	lines := bytes.ReplaceAll(bytes.TrimRight(text, "\r\n\t "), []byte("\n"), []byte(",\n"))
	return slices.Concat([]byte("["), lines, []byte("]"))
}

// salvage closes a JSON text that was cut off, after the last whole element of a list that
// can hold messages: a list in the outermost object, or in an object of the outermost list.
// It returns nil if there is none.
func salvage(text []byte) []byte {
	var stack, closing []byte
	safe, deepest := 0, 2
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			i = jsonspan.StringEnd(text, i)
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
	slices.Reverse(closing)
	return slices.Concat(text[:safe], closing)
}

// openLines prepares a file of lines. Where each line is a document it reads only the
// chosen session's.
func (l *Log) openLines() error {
	if l.format.document == nil {
		return nil
	}
	l.count, l.opening = 0, true
	defer func() { l.opening = false }()
	return l.lines(func(ln line, v value) error {
		if classifyLine(v) != l.format {
			return errShape
		}
		if l.count == l.opts.Session {
			l.doc, l.docAt = value{b: bytes.Clone(v.b), off: v.off}, ln.num
		}
		l.count++
		return nil
	})
}

// choose takes the chosen session out of a document that is a list of sessions.
func (l *Log) choose() error {
	if l.doc.isArray() && l.format.document(l.doc.at(0)) {
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

// each visits the elements of a list in the document with the line each begins on. An
// element that visit calls damaged is skipped.
func (l *Log) each(list value, visit func(e value, lineNum int) error) error {
	num, at := l.docAt, l.doc.off
	for e := range list.elems() {
		num += bytes.Count(l.doc.b[at-l.doc.off:e.off-l.doc.off], []byte("\n"))
		at = e.off
		if err := l.skip(visit(e, num), num); err != nil {
			return err
		}
	}
	return nil
}
