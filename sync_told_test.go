package pleat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
)

// TestSyncTold goes on with a history whose first answer changes at every turn, and then one that grows:
// Sync says of each what it did, observers are told of the first fork in a row, and of no error.
func TestSyncTold(t *testing.T) {
	var told []string
	s := open(t, store.NewMemory(), &pleat.Options{Observe: func(_ context.Context, key pleat.Key, e pleat.Event) {
		if e.Kind == pleat.EventFork || e.Kind == pleat.EventError || e.Kind == pleat.EventWarning {
			told = append(told, fmt.Sprint(e.Kind, " ", key.Session != e.From.Session, " ", e.Shared, " ", e.Reason, e.Err))
		}
	}})
	history := func(n, way int) []pleat.Message {
		all := talk(n)
		all[1] = say(fmt.Sprint("First, as way ", way))
		return all
	}
	sync := func(h []pleat.Message) pleat.Synced {
		t.Helper()
		did, err := s.Sync(t.Context(), h)
		if must(t, err); s.Len() != len(h) || did.Appended != (did.Reason == "") || did.Appended != (did.From == s.Key()) {
			t.Errorf("%s has %d messages of %d: %+v", s.Key(), s.Len(), len(h), did)
		}
		return did
	}
	if did := sync(history(2, 0)); !did.Appended || did.Shared != 0 {
		t.Errorf("the first history: %+v", did)
	}
	for way := range 10 {
		if did := sync(history(3+way, 1+way)); !did.Forked || did.Shared != 1 {
			t.Errorf("way %d: %+v", way, did)
		}
	}
	for _, way := range []int{3, 7, 3, 5} { // back to ways that there are
		sync(history(20, way))
	}
	const first = "fork true 1 message 1 of the history is not message 1 of the session<nil>"
	if len(told) != 1 || told[0] != first {
		t.Errorf("told %q, want %q once", told, first)
	}
	sync(history(21, 5))
	if did := sync([]pleat.Message{pleat.User("Something else.")}); !did.New || did.Shared != 0 || len(told) != 2 {
		t.Errorf("another conversation: %+v, told %q", did, told)
	}
	if last := told[len(told)-1]; !strings.Contains(last, "the history has nothing of the session") {
		t.Errorf("told %q", last)
	}
}
