package fold

import (
	"slices"

	"github.com/pleat-dev/pleat/transcript"
)

// WarmPrefix says where a request should have a cache marker when a view has changed. It is
// for wires whose cache keeps a prompt only up to markers, and looks only some blocks back
// from a marker to find it. A client marks the end of its request. After an epoch that
// marker finds nothing, because much before it is new. What the epoch left as it was is
// still cached, and one more marker finds it.
//
// A WarmPrefix remembers the view that was sent last and after how many of its messages
// something is cached. The zero value has seen no request. Losing one costs money and
// nothing else. It is not safe for concurrent use.
type WarmPrefix struct {
	view   []transcript.ViewMessage
	cached []int // messages of the view before each place that is cached; ascending
	marker int
}

// lookback is how many blocks before a marker a cached prefix is found.
const lookback = 20

// worthMarking is how many times the gap behind it a cached prefix must weigh to get the
// marker. Otherwise the newest unchanged message gets it. That finds nothing now but is
// found next time: folds move on, and the next one begins near there.
const worthMarking = 2

// Next takes the view that is sent now, with a marker at its end. It returns after how many
// of its messages another marker should be, and how many are then read from the cache. Zero
// means no marker. The marker stays until the view changes again, so that the same view
// makes the same request. Size returns the number of blocks of a message of the view, and
// its weight in any unit. The view's list of messages must not be changed afterwards.
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
			if _, saves := between(0, found); saves >= worthMarking*gap {
				w.marker = found
			} else {
				found = 0
			}
		}
	}
	w.view = v.Messages
	for _, n := range []int{w.marker, len(v.Messages)} {
		if at, has := slices.BinarySearch(w.cached, n); !has && n > 0 {
			w.cached = slices.Insert(w.cached, at, n)
		}
	}
	return w.marker, found
}
