package journal

import (
	"context"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Birth folds results of messages that are being appended.
type Birth struct {
	// May reports whether a message may have to be folded, judging by the size of a block with the results
	// before it.
	May func(ctx context.Context, m transcript.Message, bytes func(block int) int) bool
	// Fold returns its folds, if any. All messages before it have been taken in.
	Fold func(ctx context.Context, m transcript.Message) ([]*fold.Fold, error)
	// Folded is told of a fold that is in force; nil: nobody is.
	Folded func(ctx context.Context, f *fold.Fold)
}

// Append adds messages: after the entries in first, in one write with the first of them, and before those
// in last, in one write with the last of them. It returns how many messages were added, also beside an error.
func (j *Journal) Append(
	ctx context.Context, birth Birth, first []store.Entry, msgs []transcript.Message, last ...store.Entry,
) (added int, err error) {
	w := &writing{j: j, birth: birth, entries: first}
	for rest := msgs; len(rest) > 0; {
		some := j.prepareSome(rest)
		rest = rest[len(some):]
		for _, n := range some {
			err := n.err
			if err == nil {
				err = w.join(ctx, n.message)
			} else if again := w.flush(ctx); again != nil {
				err = again
			}
			if err != nil {
				return w.added, err
			}
		}
	}
	w.entries = append(w.entries, last...)
	return w.added, w.flush(ctx)
}

const (
	batchBytes = 8 << 20 // is written at a time, about
	// roundGrace is how long results may take to be written whose calls are, although the context has
	// ended: without them later requests would not be legal.
	roundGrace = 10 * time.Second
)

// writing are messages that are written together.
type writing struct {
	j     *Journal
	birth Birth
	added int // messages written before

	entries []store.Entry
	coming  []message
	folded  []*fold.Fold
	bytes   int
	results int // bytes of the results right before the next message, at least
}

// join adds a message to the next write. Spilling is decided on a message that is not recorded
// yet but knows all before it, so a message that may have to spill begins a write. Message
// and fold reach the store together: a message whose spill was lost would go out whole.
func (w *writing) join(ctx context.Context, n message) error {
	results := w.results
	if len(w.coming) == 0 {
		results = w.j.resultsBefore()
	}
	size := func(block int) int { return n.shapes[block].Bytes + results }
	spills := w.birth.May(ctx, n.m, size)
	if spills || w.bytes > batchBytes {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	w.entries, w.coming = append(w.entries, n.entry), append(w.coming, n)
	w.bytes += len(n.entry.Body) + len(n.entry.Text)
	if w.results = 0; n.m.Blocks().Has(transcript.KindToolResult) {
		w.results = results + len(n.entry.Body)
	}
	if !spills {
		return nil
	}
	born, err := w.birth.Fold(ctx, n.m)
	if err != nil || len(born) == 0 {
		return err
	}
	e, err := entry(store.EntryFold, folds{born})
	w.entries, w.folded = append(w.entries, e), born
	return err
}

// flush writes what has joined.
func (w *writing) flush(ctx context.Context) error {
	if len(w.entries) == 0 {
		return nil
	}
	if w.added > 0 && w.j.inRound() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), roundGrace)
		defer cancel()
	}
	w.j.coming = w.coming
	defer func() { w.j.coming = nil }()
	if err := w.j.Write(ctx, w.entries...); err != nil {
		return err
	}
	for _, f := range w.folded {
		if w.birth.Folded != nil {
			w.birth.Folded(ctx, f)
		}
	}
	*w = writing{j: w.j, birth: w.birth, added: w.added + len(w.coming)}
	return nil
}

// inRound reports whether the conversation ends on calls of which not all are answered.
func (j *Journal) inRound() bool {
	rounds := j.o.State.Rounds()
	return len(rounds) > 0 && rounds[len(rounds)-1].End == j.o.State.Len() && rounds[len(rounds)-1].Open()
}

// resultsBefore returns how many bytes the results at the end of the transcript have.
func (j *Journal) resultsBefore() (n int) {
	facts := j.o.State.Facts()
	for i := len(facts) - 1; i >= 0 && facts.Has(i, transcript.KindToolResult); i-- {
		for k := range facts[i].Blocks {
			n += int(facts[i].Blocks[k].Bytes)
		}
	}
	return n
}
