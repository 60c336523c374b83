// Package sse reads and writes server-sent events, the text/event-stream
// format in which model providers stream their answers.
//
// The format is lines. A line "field: value" adds to the current event, an
// empty line ends it, a line that begins with a colon is a comment. Lines end
// with LF, CRLF or CR. The chunks that arrive from a network respect none of
// this, so the reader is a [Splitter] that takes whatever came and calls back
// once for each complete event, with all its bytes, so that it can be passed on
// unchanged. [Data] and [Type] read what an event says.
//
// They follow the WHATWG specification ("interpreting an event stream"), except
// that the fields id and retry are ignored, and that an event may be bounded in
// size. As the specification says, an event that the stream's end cuts off is no
// event; [Splitter.Rest] returns it to callers that want it.
package sse

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrTooLarge reports an event above the limit.
var ErrTooLarge = errors.New("server-sent event too large")

// Splitter cuts a stream into events. The zero value is ready to use. A Splitter
// is not safe for concurrent use.
type Splitter struct {
	Limit int // of an event in bytes; 0: none
	buf   []byte
	scan  int // of buf, looked at already
	begun bool
}

// Feed takes the next bytes and calls event for each event that they complete, with all
// its bytes, the empty line that ends it included, and with its data. The slices are valid
// until event returns. An event above the limit is an error; nobody can tell then where the
// next one would begin.
func (s *Splitter) Feed(b []byte, event func(raw, data []byte)) error {
	apart := len(s.buf) == 0 // most events come whole
	if !apart {
		s.buf = append(s.buf, b...)
		b = s.buf
	}
	start := 0
	for {
		n := eventEnd(b[start:], max(s.scan-start, 0))
		if n < 0 {
			break
		}
		if err := s.check(n); err != nil {
			return err
		}
		raw := b[start : start+n]
		event(raw, s.data(raw))
		start += n
		s.scan = start
	}
	s.scan = max(len(b)-3, start) - start
	if apart || start > 0 { // else a long line would be moved with every piece of it
		s.buf = append(s.buf[:0], b[start:]...)
	}
	return s.check(len(s.buf))
}

// check refuses an event of n bytes or more that is above the limit.
func (s *Splitter) check(n int) error {
	if s.Limit > 0 && n > s.Limit {
		return fmt.Errorf("%w: it is larger than %d bytes", ErrTooLarge, s.Limit)
	}
	return nil
}

// Rest returns what the end of the stream cut off, and its data. Some servers close without
// the last empty line; the caller decides whether to believe the event.
func (s *Splitter) Rest() (raw, data []byte) {
	rest := s.buf
	s.buf, s.scan = nil, 0
	return rest, s.data(rest)
}

// data is Data. A byte order mark may come before the first event.
func (s *Splitter) data(raw []byte) []byte {
	if !s.begun {
		s.begun, raw = true, bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))
	}
	return Data(raw)
}

// eventEnd returns the length of the first event, -1 if its end has not come yet.
func eventEnd(b []byte, from int) int {
	for i := from; i+1 < len(b); i++ {
		switch {
		case b[i] == '\n' && b[i+1] == '\n', b[i] == '\r' && b[i+1] == '\r':
			return i + 2
		case b[i] == '\n' && b[i+1] == '\r' && i+2 < len(b):
			if b[i+2] == '\n' {
				return i + 3
			}
			return i + 2
		}
	}
	return -1
}

// Data joins the data lines of an event with LF.
func Data(raw []byte) []byte {
	var data []byte
	lines := 0
	for value := range values(raw, "data") {
		switch lines++; lines {
		case 1:
			data = value // as in most events
		case 2:
			data = bytes.Clone(data)
			fallthrough
		default:
			data = append(append(data, '\n'), value...)
		}
	}
	return data
}

// Type returns the type of an event, empty if it names none.
func Type(raw []byte) (typ string) {
	for value := range values(raw, "event") {
		typ = string(value)
	}
	return typ
}

// values yields the values of a field of an event.
func values(raw []byte, field string) func(yield func(value []byte) bool) {
	return func(yield func(value []byte) bool) {
		for more := true; more; {
			var line []byte
			line, raw, more = cutLine(raw)
			name, value, _ := bytes.Cut(line, []byte(":"))
			if string(name) == field && !yield(bytes.TrimPrefix(value, []byte(" "))) {
				return
			}
		}
	}
}

// AppendEvent appends an event to dst in wire form. An empty typ is left out;
// one with a line break is cut there, because it could forge fields. The format
// cannot carry CR or CRLF in data: they arrive as LF.
func AppendEvent(dst []byte, typ string, data []byte) []byte {
	if line, _, _ := cutLine([]byte(typ)); len(line) > 0 {
		dst = fmt.Appendf(dst, "event: %s\n", line)
	}
	for more := true; more; {
		var line []byte
		line, data, more = cutLine(data)
		dst = append(append(append(dst, "data: "...), line...), '\n')
	}
	return append(dst, '\n')
}

// cutLine cuts text at its first line break, of any of the three kinds.
func cutLine(text []byte) (line, rest []byte, found bool) {
	line, rest, found = bytes.Cut(text, []byte("\n"))
	i := bytes.IndexByte(line, '\r')
	switch {
	case i < 0:
		return line, rest, found
	case found && i == len(line)-1: // CRLF
		return line[:i], rest, true
	}
	return text[:i], text[i+1:], true
}
