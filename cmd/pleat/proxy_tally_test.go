package main

import (
	"fmt"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// The tallies of sessions that were not used for long go; the sum keeps everything.
func TestTallyIsBounded(t *testing.T) {
	tl := newTally()
	for i := range 3 * maxTallies {
		for _, name := range []string{"busy", fmt.Sprint(i)} {
			tl.add(proxy.Report{Session: store.SessionKey{Session: name}, BytesIn: 1})
		}
	}
	if n := len(tl.sessions); n != maxTallies {
		t.Errorf("%d tallies, want %d", n, maxTallies)
	}
	if n := tl.sessions[store.SessionKey{Session: "busy"}].Requests; n != 3*maxTallies {
		t.Errorf("the session that was always in use has %d requests", n)
	}
	if n := tl.all.Requests; n != 6*maxTallies {
		t.Errorf("%d requests in all", n)
	}
}

// A session that comes back folded costs no more unfolded than with everything in the
// cache: what was there before is not known.
func TestTallyOfUnknownSession(t *testing.T) {
	tl := newTally()
	usage := model.Usage{Input: 10, Output: 10}
	tl.add(proxy.Report{Session: store.SessionKey{Session: "s"}, Model: "claude-sonnet-4-5", Folded: true, Snapshot: fold.Snapshot{Whole: 1000}, Usage: usage})
	m, known := model.DefaultModels().Lookup("claude-sonnet-4-5")
	want, _ := m.Cost(model.Usage{CacheRead: 1000, Output: 10})
	if got := tl.all.Without; !known || got != want {
		t.Errorf("without folds it costs %v, want %v", got, want)
	}
}
