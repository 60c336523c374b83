package fold

import (
	"slices"

	"github.com/pleat-dev/pleat/transcript"
)

// WarmPrefix says where a request should have a cache marker when a view has changed, on
// wires whose cache keeps a prompt only up to markers and finds it again only from a
// marker on, some blocks back. A client marks the end of its request. After an epoch the
// end finds nothing, because much before it is new; what the epoch left as it was is
// still cached, and one more marker finds it.
//
// It remembers the view that was sent last and after how many messages of it something
// is cached. The zero value has seen no request; forgetting one costs money and nothing
// else. It is not safe for concurrent use.
type WarmPrefix struct {
	view   []transcript.ViewMessage
	cached []int // messages of the view before each place that is cached; ascending
	marker int
}

// lookback is how many blocks before a marker a cached prefix is found.
const lookback = 20

// again is how much more than it covers a far prefix must save now, to be marked itself.
// Otherwise the newest unchanged message is, which finds nothing now and is found next
// time: folds move on, and the next one begins near there.
const again = 2

// Next takes a view that is sent now, with a marker at its end, and returns after how
// many of its messages another one should be, and how many are then read from the cache.
// Zero is no marker. The marker stays until the view changes again, so that the same view
// makes the same request. Size is the number of blocks of a message of the view, and its
// weight in any unit.
func (w *WarmPrefix) Next(v transcript.View, size func(i int) (blocks, weight int)) (marker, found int) {
	same := 0
	for same < len(v.Messages) && same < len(w.view) && v.Messages[same].Same(w.view[same]) {
		same++
	}
	changed := same < len(w.view)
	w.cached = slices.DeleteFunc(w.cached, func(n int) bool { return n > same })
	between := func(from, to int) (blocks, weight int) {
		for i := from; i < to; i++ {
			b, n := size(i)
			blocks, weight = blocks+b, weight+n
		}
		return blocks, weight
	}
	if len(w.cached) > 0 {
		found = w.cached[len(w.cached)-1]
	}
	if far, _ := between(same, len(v.Messages)); changed || same > 0 && far > lookback {
		w.marker = same
		if blocks, gap := between(found, same); blocks > lookback {
			if _, saves := between(0, found); saves >= again*gap {
				w.marker = found
			} else {
				found = 0
			}
		}
	}
	w.view = slices.Clone(v.Messages)
	for _, n := range []int{w.marker, len(v.Messages)} {
		if at, has := slices.BinarySearch(w.cached, n); !has && n > 0 {
			w.cached = slices.Insert(w.cached, at, n)
		}
	}
	return w.marker, found
}
