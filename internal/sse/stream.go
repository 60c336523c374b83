package sse

import (
	"io"
	"iter"
)

// Events returns the events of r, which it reads until the end or an error.
// An error comes last, with a zero Event; reaching the end is none. An event's
// Data is valid until the next iteration. Stopping early does not close r, and
// leaves it anywhere after the last event.
func Events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var p Parser
		buf := make([]byte, 32<<10)
		for empty := 0; ; {
			n, err := r.Read(buf)
			for b := buf[:n]; len(b) > 0; {
				ev, used, ok := p.next(b)
				b = b[used:]
				if ok && !yield(ev, nil) {
					return
				}
				if p.err != nil {
					yield(Event{}, p.err)
					return
				}
			}
			// A reader that gives neither bytes nor an error is allowed to do
			// so now and then, but must not hang the loop.
			if empty++; n > 0 {
				empty = 0
			} else if err == nil && empty == 100 {
				err = io.ErrNoProgress
			}
			if err != nil {
				if err != io.EOF {
					yield(Event{}, err)
				}
				return
			}
		}
	}
}

// AppendEvent appends an event to dst in wire form. An empty typ is left out;
// one that contains a line break is cut there, for it could forge fields. The
// format cannot carry CR or CRLF in data: they arrive as LF.
func AppendEvent(dst []byte, typ string, data []byte) []byte {
	if line, _, _ := cutLine([]byte(typ)); len(line) > 0 {
		dst = append(dst, "event: "...)
		dst = append(dst, line...)
		dst = append(dst, '\n')
	}
	return append(appendLines(dst, "data: ", data), '\n')
}

// AppendComment appends a comment to dst in wire form, which readers ignore.
// Servers send comments so that idle connections are not closed. It must not
// stand in the middle of an event.
func AppendComment(dst []byte, text string) []byte {
	return append(appendLines(dst, ": ", []byte(text)), '\n')
}

func appendLines(dst []byte, prefix string, text []byte) []byte {
	for more := true; more; {
		var line []byte
		line, text, more = cutLine(text)
		dst = append(dst, prefix...)
		dst = append(dst, line...)
		dst = append(dst, '\n')
	}
	return dst
}

// cutLine cuts text at its first line break, of any of the three kinds.
func cutLine(text []byte) (line, rest []byte, found bool) {
	for i, b := range text {
		switch {
		case b == '\r' && i+1 < len(text) && text[i+1] == '\n':
			return text[:i], text[i+2:], true
		case b == '\r' || b == '\n':
			return text[:i], text[i+1:], true
		}
	}
	return text, nil, false
}
