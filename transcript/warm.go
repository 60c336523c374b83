package transcript

import (
	"slices"
)

// same reports whether two messages of views are shown the same.
func (m ViewMessage) Same(o ViewMessage) bool {
	if m.Source < 0 || o.Source < 0 {
		return m.Source < 0 && o.Source < 0 && m.Made.Text() == o.Made.Text()
	}
	return m.Source == o.Source && slices.Equal(m.Edits, o.Edits)
}
