package openai

import (
	"strconv"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/transcript"
)

// writer builds JSON front to back. It puts a comma wherever one is missing, which it
// tells by the byte before.
type writer struct{ b []byte }

func (w *writer) comma() {
	if n := len(w.b); n > 0 {
		switch w.b[n-1] {
		case '{', '[', ':', ',':
		default:
			w.b = append(w.b, ',')
		}
	}
}

// key begins a member.
func (w *writer) key(name string) *writer {
	w.str(name)
	w.b = append(w.b, ':')
	return w
}

// str adds a string.
func (w *writer) str(s string) *writer {
	w.comma()
	w.b = jsonspan.AppendQuote(w.b, s)
	return w
}

// text adds block content, as the literal that it came as if there is one.
func (w *writer) text(c transcript.Content) *writer { return w.raw(c.Literal()) }

// raw adds JSON, or opens a container.
func (w *writer) raw(json string) *writer {
	w.comma()
	w.b = append(w.b, json...)
	return w
}

// end closes containers.
func (w *writer) end(brackets string) *writer {
	w.b = append(w.b, brackets...)
	return w
}

func (w *writer) int(n int) *writer {
	w.comma()
	w.b = strconv.AppendInt(w.b, int64(n), 10)
	return w
}

func (w *writer) float(f float64) *writer {
	w.comma()
	w.b = strconv.AppendFloat(w.b, f, 'g', -1, 64)
	return w
}
