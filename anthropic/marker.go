package anthropic

import (
	"fmt"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
)

// section is a part of a request, in the order in which the provider's cache sees them.
type section uint8

const (
	sectionTools section = iota
	sectionSystem
	sectionMessages
	sectionTop // the marker of the request itself, which falls on its last block
	sections
)

var sectionNames = [...]string{"tools", "system", "messages", ""}

func (s section) String() string { return sectionNames[s] }

// mark is a cache marker as it was found.
type mark struct {
	message, block, part int // -1: not inside one
	typ, ttl             string
}

// Marker is a cache marker: the place up to which the provider keeps the prompt.
type Marker struct {
	Path string // the marked block, such as "messages.3.content.0"; empty for the request's own
	TTL  string // "5m" or "1h"; a marker that does not say has five minutes
}

// Markers lists the request's cache markers in the order in which the provider
// processes them: tools, system, messages. The automatic one at the top level of the
// request comes last, as it falls on the last block.
func (r *Request) Markers() []Marker {
	var out []Marker
	for s := range sections {
		for _, m := range r.marks[s] {
			out = append(out, Marker{Path: m.path(s), TTL: m.lifetime()})
		}
	}
	return out
}

func (m mark) lifetime() string {
	if m.ttl == "" {
		return "5m"
	}
	return m.ttl
}

func (m mark) path(s section) string {
	switch {
	case s == sectionTop:
		return ""
	case s != sectionMessages && m.part < 0:
		return fmt.Sprintf("%s.%d", s, m.block)
	case s != sectionMessages:
		return fmt.Sprintf("%s.%d.content.%d", s, m.block, m.part)
	case m.block < 0:
		return fmt.Sprintf("messages.%d", m.message)
	case m.part < 0:
		return fmt.Sprintf("messages.%d.content.%d", m.message, m.block)
	}
	return fmt.Sprintf("messages.%d.content.%d.content.%d", m.message, m.block, m.part)
}

// marker consumes the value of a cache_control member and notes it for the place where
// the walk is. A null is no marker.
func (d *decoder) marker() {
	if d.c.Kind() != jsonspan.Object {
		d.c.Skip()
		return
	}
	m := mark{message: d.message, block: d.block, part: d.part}
	d.c.Object()
	for key, ok := d.c.NextKey(); ok; key, ok = d.c.NextKey() {
		switch wire.Text(d.data, key) {
		case "type":
			m.typ = wire.Text(d.data, d.str())
		case "ttl":
			m.ttl = wire.Text(d.data, d.str())
		default:
			d.c.Skip()
		}
	}
	list := d.req.marks[d.section]
	if n := len(list); n > 0 && list[n-1].message == m.message && list[n-1].block == m.block && list[n-1].part == m.part {
		list = list[:n-1] // the member occurs twice in one block
	}
	d.req.marks[d.section] = append(list, m)
}
