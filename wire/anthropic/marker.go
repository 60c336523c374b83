package anthropic

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
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

var sectionNames = [...]string{"tools", "system", "messages"}

type mark struct {
	message, block, part int // -1: not inside one
	ttl                  string
}

// Marker is a cache marker: the place up to which the provider caches the prompt.
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
			out = append(out, Marker{Path: m.path(s), TTL: cmp.Or(m.ttl, "5m")})
		}
	}
	return out
}

// path is where the mark is, as the provider writes it.
func (m mark) path(s section) string {
	inside := []int{m.block, m.part}
	switch s {
	case sectionTop:
		return ""
	case sectionMessages:
		inside = []int{m.message, m.block, m.part}
	}
	path := fmt.Sprintf("%s.%d", sectionNames[s], inside[0])
	for _, n := range inside[1:] {
		if n < 0 {
			break
		}
		path += fmt.Sprintf(".content.%d", n)
	}
	return path
}

// fiveMinutes is a marker as a member of a block.
const fiveMinutes = `,"cache_control":{"type":"ephemeral"}`

const maxMarkers = 4

// markBack is how many messages before the wanted place are tried for a block that may carry
// a marker. The provider finds a cached prefix even if it ends some blocks earlier.
const markBack = 3

// marker returns which message of a view gets the view's Marker, the last one before it that
// can have one, and the marker. The marker is empty if the request has no room or no use for
// one more.
func (r *Request) marker(v transcript.View) (at int, with string) {
	own := slices.Concat(r.marks[sectionMessages], r.marks[sectionTop])
	if len(own) == 0 || len(r.Markers()) >= maxMarkers {
		return 0, ""
	}
	with = fiveMinutes
	if own[0].ttl != "" {
		with = string(jsonspan.AppendQuote([]byte(`,"cache_control":{"type":"ephemeral","ttl":`), own[0].ttl)) + "}"
	}
	end := min(v.Marker, len(v.Messages))
	for at = end - 1; at >= max(end-markBack, 0); at-- {
		m := v.Messages[at]
		switch {
		case m.Source < 0:
			if m.Made.Format() != "" || m.Made.Text() != "" {
				return at, with
			}
		case m.Source >= len(r.body.Elements):
			return 0, ""
		case slices.ContainsFunc(r.marks[sectionMessages], func(mk mark) bool { return mk.message == m.Source }):
			return 0, ""
		case r.markPlace(m) >= 0:
			return at, with
		}
	}
	return 0, ""
}

// markPlace is where in the body a marker can be put into the last block of a message
// that takes one; negative: none does.
func (r *Request) markPlace(m transcript.ViewMessage) int {
	for b, place := range slices.Backward(r.body.Elements[m.Source].Places) {
		if !place.Whole.IsZero() && !drops(m.Edits, b) && markable(r.Messages[m.Source].Blocks().At(b)) {
			return r.body.Elements[m.Source].Span.Start + place.Whole.End - 1
		}
	}
	return -1
}

// marking puts a marker into the last block of a message that takes one, if any does.
func marking(raw []byte, with string) []byte {
	if r, ok := message(raw); ok {
		if end := r.markPlace(transcript.ViewMessage{}); end >= 0 {
			return slices.Concat(raw[:end], []byte(with), raw[end:])
		}
	}
	return raw
}

func drops(edits []transcript.BlockEdit, block int) bool {
	return slices.ContainsFunc(edits, func(e transcript.BlockEdit) bool { return e.Block == block && e.Drop })
}

// markable reports whether a block may carry a marker.
func markable(b transcript.Block) bool {
	switch b := b.(type) {
	case transcript.Text:
		return !b.Text.IsEmpty()
	case transcript.ToolCall, transcript.ToolResult:
		return true
	}
	return false
}

// marker notes the cache marker of a block, or of a tool, for the place where the walk is.
func (d *decoder) marker(o wire.Object) { d.note(o.Get("cache_control")) }

// note notes a marker. A null is none.
func (d *decoder) note(v wire.Value) {
	if m := d.Object(v); m.Kind == jsonspan.Object {
		at := mark{len(d.Messages), d.block, d.part, d.Text(m.Get("ttl"))}
		d.req.marks[d.section] = append(d.req.marks[d.section], at)
	}
}
