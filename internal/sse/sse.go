// Package sse reads and writes server-sent events, the text/event-stream
// format in which model providers stream their answers.
//
// The format is lines. A line "field: value" adds to the current event, an
// empty line ends it, a line that begins with a colon is a comment. Lines end
// with LF, CRLF or CR. The chunks that arrive from a network respect none of
// this, so the reader is a [Parser] that takes whatever came and calls back
// once for each complete event. A proxy feeds it from its copy loop. A [Splitter]
// gives events with all their bytes, to pass them on unchanged.
//
// The parser follows the WHATWG specification ("interpreting an event
// stream"), except that it ignores the retry field and that it bounds the size
// of an event. As the specification says, an event that the stream's end cuts
// off is no event; [Parser.Pending] returns it to callers that want it.
package sse

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// An Event is one server-sent event.
type Event struct {
	Type string // of the event field; empty if there was none
	Data []byte // the data lines, joined with LF
	ID   string // the last id seen in the stream, in this event or before
}

// DefaultLimit is the limit of a [Parser] that sets none.
const DefaultLimit = 64 << 20

// ErrTooLarge reports a line or the data of an event above the limit.
var ErrTooLarge = errors.New("server-sent event too large")

// A Parser turns a stream of bytes into events. Feed it with Write, in chunks
// of any size. The fields must not change after the first Write. A Parser is
// not safe for concurrent use.
type Parser struct {
	// OnEvent is called from Write with each complete event. The event's Data
	// belongs to the parser and is valid only during the call.
	OnEvent func(Event)
	// Limit bounds the bytes of one line, and of the data of one event.
	// Zero means DefaultLimit.
	Limit int

	line    []byte // the start of a line whose end has not come yet
	data    []byte // the data lines so far, each with an LF behind it
	typ, id string
	lastTyp string // the type before, to use its memory again
	started bool   // the first line is over
	afterCR bool   // an LF that comes now belongs to the line before
	err     error
}

// Write parses b, calling OnEvent for each event that it completes. It returns
// an error only if the stream exceeds the limit, and then the same one on every
// call: nobody can tell where the next event would begin.
func (p *Parser) Write(b []byte) (int, error) {
	total := len(b)
	for {
		ev, n, ok := p.next(b)
		b = b[n:]
		if !ok {
			return total - len(b), p.err
		}
		if p.OnEvent != nil {
			p.OnEvent(ev)
		}
	}
}

// Pending returns the event that an empty line would complete now, false if
// there is none. Some servers close without the last empty line; the caller
// decides whether to believe the event. The parser's state does not change, and
// the caller owns the event.
func (p *Parser) Pending() (Event, bool) {
	q := *p
	q.line, q.data = bytes.Clone(p.line), bytes.Clone(p.data)
	if q.err == nil && len(q.line) > 0 {
		q.endLine(q.line)
	}
	if q.err != nil {
		return Event{}, false
	}
	return q.dispatch()
}

// next parses b up to the end of one event. It returns the event and how many
// bytes it used; ok is false if it ran out of bytes, or failed, before the end
// of an event.
func (p *Parser) next(b []byte) (ev Event, n int, ok bool) {
	for n < len(b) && p.err == nil {
		if p.afterCR {
			p.afterCR = false
			if b[n] == '\n' {
				n++
				continue
			}
		}
		start := n
		for n < len(b) && b[n] != '\n' && b[n] != '\r' {
			n++
		}
		if len(p.line)+n-start > p.limit() {
			p.tooLarge("line")
			break
		}
		if n == len(b) {
			p.line = append(p.line, b[start:]...)
			break
		}
		p.afterCR = b[n] == '\r'
		line := b[start:n]
		n++
		if len(p.line) > 0 {
			line = append(p.line, line...)
			p.line = line[:0]
		}
		if p.endLine(line) {
			if ev, ok = p.dispatch(); ok {
				return ev, n, true
			}
		}
	}
	return Event{}, n, false
}

// endLine processes one line and reports whether it was empty.
func (p *Parser) endLine(line []byte) bool {
	if !p.started {
		p.started = true
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	}
	if len(line) == 0 {
		return true
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) { // a comment is a line whose field name is empty
	case "data":
		if len(p.data)+len(value) > p.limit() {
			p.tooLarge("data")
			break
		}
		p.data = append(append(p.data, value...), '\n')
	case "event":
		if string(value) != p.lastTyp {
			p.lastTyp = string(value)
		}
		p.typ = p.lastTyp
	case "id":
		if !slices.Contains(value, 0) {
			p.id = string(value)
		}
	}
	return false
}

// dispatch ends the current event and returns it, if it had any data.
func (p *Parser) dispatch() (ev Event, ok bool) {
	if len(p.data) > 0 {
		ev, ok = Event{Type: p.typ, Data: p.data[:len(p.data)-1], ID: p.id}, true
	}
	p.typ, p.data = "", p.data[:0]
	return ev, ok
}

func (p *Parser) limit() int { return cmp.Or(max(p.Limit, 0), DefaultLimit) }

func (p *Parser) tooLarge(what string) {
	p.err = fmt.Errorf("%w: %s above %d bytes", ErrTooLarge, what, p.limit())
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
