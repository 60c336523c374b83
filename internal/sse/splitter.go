package sse

import (
	"bytes"
	"fmt"
)

// Splitter cuts a stream into events, each with all its bytes, the empty line that ends
// it included: what is not hidden is passed on unchanged.
type Splitter struct {
	Limit int // of an event in bytes; 0: none
	buf   []byte
	scan  int // of buf, looked at already
}

// Feed takes the next bytes and calls event for each event that they complete. The slices
// are valid until the next call. An event above the limit is an error.
func (s *Splitter) Feed(b []byte, event func(raw, data []byte)) error {
	s.buf = append(s.buf, b...)
	start := 0
	for {
		n := eventEnd(s.buf[start:], max(s.scan-start, 0))
		if n < 0 {
			break
		}
		raw := s.buf[start : start+n]
		event(raw, Data(raw))
		start += n
		s.scan = start
	}
	s.scan = max(len(s.buf)-3, start)
	if start > 0 { // else a long line would be moved with every piece of it
		s.buf = append(s.buf[:0], s.buf[start:]...)
		s.scan -= start
	}
	if s.Limit > 0 && len(s.buf) > s.Limit {
		return fmt.Errorf("%w: it is larger than %d bytes", ErrTooLarge, s.Limit)
	}
	return nil
}

// Rest returns what the end of the stream cut off.
func (s *Splitter) Rest() []byte {
	rest := s.buf
	s.buf, s.scan = nil, 0
	return rest
}

// eventEnd returns the length of the first event, -1 if its end has not come yet.
func eventEnd(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		switch b[i] {
		case '\n':
			if i+1 < len(b) && b[i+1] == '\n' {
				return i + 2
			}
			if i+2 < len(b) && b[i+1] == '\r' && b[i+2] == '\n' {
				return i + 3
			}
		case '\r':
			if i+1 < len(b) && b[i+1] == '\r' {
				return i + 2
			}
		}
	}
	return -1
}

// Data joins the data lines of an event.
func Data(raw []byte) []byte {
	var lines [][]byte
	for line := range bytes.FieldsFuncSeq(raw, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			lines = append(lines, bytes.TrimPrefix(value, []byte(" ")))
		}
	}
	if len(lines) == 1 {
		return lines[0] // as most events
	}
	return bytes.Join(lines, []byte("\n"))
}
