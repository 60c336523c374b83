package wire

import (
	"crypto/sha256"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/transcript"
)

// Hash is the hash of one element's normal form.
func Hash(element []byte) transcript.Hash { return sha256.Sum256(AppendNormal(nil, element)) }

// AppendNormal appends a message in a form that stays the same when its client sends it
// again: without space between tokens, without cache markers, and with content that is a
// string as one text block. Clients move their markers with every request, and some switch
// between the two forms of content as they do. The message must be valid JSON.
func AppendNormal(dst, message []byte) []byte {
	n := normalizer{data: message}
	n.c.Reset(message, jsonspan.Limits{})
	return n.object(dst, 0)
}

type normalizer struct {
	data []byte
	c    jsonspan.Cursor
}

// contentDepth is how deep content nests: a result's content inside a message's. Deeper
// members of the same name are the callers' own data.
const contentDepth = 2

func (n *normalizer) object(dst []byte, depth int) []byte {
	if n.c.Kind() != jsonspan.Object {
		return jsonspan.AppendCompact(dst, n.c.Skip().Of(n.data))
	}
	n.c.Object()
	dst = append(dst, '{')
	first := true
	for key, ok := n.c.NextKey(); ok; key, ok = n.c.NextKey() {
		if jsonspan.KeyIs(n.data, key, "cache_control") || jsonspan.KeyIs(n.data, key, "prompt_cache_breakpoint") {
			n.c.Skip()
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(dst, key.Of(n.data)...), ':')
		isList := n.c.Kind() == jsonspan.Array
		if depth < contentDepth && jsonspan.KeyIs(n.data, key, "content") ||
			depth == 0 && isList && jsonspan.KeyIs(n.data, key, "output") { // of a Responses item: parts with markers
			dst = n.content(dst, depth)
		} else {
			dst = jsonspan.AppendCompact(dst, n.c.Skip().Of(n.data))
		}
	}
	return append(dst, '}')
}

func (n *normalizer) content(dst []byte, depth int) []byte {
	switch n.c.Kind() {
	case jsonspan.String:
		dst = append(dst, `[{"type":"text","text":`...)
		dst = append(dst, n.c.Str().Of(n.data)...)
		return append(dst, `}]`...)
	case jsonspan.Array:
		n.c.Array()
		dst = append(dst, '[')
		for i := 0; n.c.NextElem(); i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = n.object(dst, depth+1)
		}
		return append(dst, ']')
	default:
		return jsonspan.AppendCompact(dst, n.c.Skip().Of(n.data))
	}
}
