package userwords

import (
	"sync"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/transcript"
)

var before sync.Map // of each Words, what is known of earlier messages

// Add reads message i and takes it in.
func (w *Words) Add(i int, m transcript.Message) {
	state, _ := before.LoadOrStore(w, new(annotate.State))
	w.Hear(i, m, annotate.Message(m, state.(*annotate.State)))
}
