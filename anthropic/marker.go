package anthropic

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/pleat-dev/pleat"
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

// fiveMinutes is a marker as a member of a block.
const fiveMinutes = `,"cache_control":{"type":"ephemeral"}`

// maxMarkers is how many a request may have.
const maxMarkers = 4

// markBack is how many messages before the wanted place a block is looked for that may
// carry a marker. What is cached is found some blocks back.
const markBack = 3

// addMarker marks the last block before the view's Marker that may be marked.
func (r *Request) addMarker(v pleat.View) []jsonspan.Edit {
	total := 0
	for _, list := range r.marks {
		total += len(list)
	}
	own := slices.Concat(r.marks[sectionMessages], r.marks[sectionTop])
	if len(own) == 0 || total >= maxMarkers {
		return nil
	}
	with := fiveMinutes
	if own[0].ttl != "" {
		with = `,"cache_control":{"type":"ephemeral","ttl":` + strconv.Quote(own[0].ttl) + `}`
	}
	at := min(v.Marker, len(v.Messages))
	for i := at - 1; i >= max(at-markBack, 0); i-- {
		m := v.Messages[i]
		if m.Source < 0 || m.Source >= len(r.body.Elements) {
			continue
		}
		if slices.ContainsFunc(r.marks[sectionMessages], func(mk mark) bool { return mk.message == m.Source }) {
			return nil
		}
		if end := r.markPlace(m); end >= 0 {
			return []jsonspan.Edit{{Span: jsonspan.Span{Start: end, End: end}, With: []byte(with)}}
		}
	}
	return nil
}

// markPlace is where in the body a marker can be put into the last block of a message
// that takes one; negative: none does.
func (r *Request) markPlace(m pleat.ViewMessage) int {
	for b, place := range slices.Backward(r.body.Elements[m.Source].Places) {
		if !place.Whole.IsZero() && !drops(m.Edits, b) && markable(r.Messages[m.Source].Blocks().At(b)) {
			return place.Whole.End - 1
		}
	}
	return -1
}

// markElement marks the last elements of a list that are also those of its beginning: a
// message that was put together with the next one is not.
func markElement(list, first [][]byte) {
	at := len(first)
	for i := at - 1; i >= max(at-markBack, 0) && i < len(list); i-- {
		if !bytes.Equal(list[i], first[i]) {
			continue
		}
		r, err := Decode(slices.Concat([]byte(`{"messages":[`), list[i], []byte("]}")))
		if err != nil || len(r.Messages) != 1 {
			return
		}
		if end := r.markPlace(pleat.ViewMessage{}); end >= 0 {
			end -= len(`{"messages":[`)
			list[i] = slices.Concat(list[i][:end], []byte(fiveMinutes), list[i][end:])
			return
		}
	}
}

func drops(edits []pleat.BlockEdit, block int) bool {
	return slices.ContainsFunc(edits, func(e pleat.BlockEdit) bool { return e.Block == block && e.Drop })
}

// markable reports whether a block may carry a marker.
func markable(b pleat.Block) bool {
	switch b := b.(type) {
	case pleat.Text:
		return !b.Text.IsEmpty()
	case pleat.ToolCall, pleat.ToolResult:
		return true
	}
	return false
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
