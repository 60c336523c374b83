package exchange

import (
	"fmt"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/behind"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// The index keeps the newest prefixes of a conversation, and none of one that was let go.
func TestIndexIsBounded(t *testing.T) {
	p := newPool(1, new(sync.WaitGroup))
	of := func(name string, n int) indexKey { return indexKey{prefix: transcript.HashOf(fmt.Sprint(name, n))} }
	add := func(name string) *slot {
		c := &conversation{key: store.SessionKey{Session: name}, sess: openSession(t), behind: new(behind.Store)}
		p.keep(c, lineage.Scope{})
		s := p.slots[c.key]
		for n := range 3 * indexed {
			p.remember(s, of(name, n))
			p.remember(s, of(name, n)) // an epoch marks its request again
		}
		return s
	}
	s := add("one")
	if len(p.index) != indexed || len(s.indexed) != indexed {
		t.Errorf("%d prefixes of a conversation, %d in the index; want %d", len(s.indexed), len(p.index), indexed)
	}
	if _, ok := p.index[of("one", 3*indexed-1)]; !ok {
		t.Error("the newest is not in the index")
	}
	add("two")
	if len(p.index) != indexed {
		t.Errorf("%d prefixes in the index, want %d", len(p.index), indexed)
	}
	// opened twice at once
	p.keep(&conversation{key: store.SessionKey{Session: "two"}, sess: openSession(t), behind: new(behind.Store)},
		lineage.Scope{})
	p.keep(&conversation{key: store.SessionKey{Session: "three"}, sess: openSession(t), behind: new(behind.Store)},
		lineage.Scope{})
	if len(p.index) != 0 {
		t.Errorf("%d prefixes in the index of conversations that were let go", len(p.index))
	}
	if p.close(); p.weight.Load() != 0 {
		t.Errorf("%d bytes of sessions that have all left", p.weight.Load())
	}
}

func openSession(t *testing.T) *pleat.Session {
	t.Helper()
	s, err := pleat.OpenSession(t.Context(), store.NewMemory(), store.SessionKey{Session: "s"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Of hidden rounds only the messages that the newest view shows stay in memory.
func TestHiddenMessagesAreBounded(t *testing.T) {
	c := &conversation{sess: openSession(t), behind: new(behind.Store), hidden: make(map[int]transcript.Message)}
	for i := range 6 {
		if err := c.sess.Append(t.Context(), transcript.User(fmt.Sprint("message ", i))); err != nil {
			t.Fatal(err)
		}
	}
	client := []int{0, -1, -1, -1, -1, 1}
	for _, shown := range [][]int{{0, 1, 2, 5}, {0, 3, 4, 5}, {0, 5}} {
		var v transcript.View
		want := 0
		for _, i := range shown {
			v.Messages = append(v.Messages, transcript.ViewMessage{Source: i})
			if client[i] < 0 {
				want++
			}
		}
		req := request{Request: &protocol.Request{Protocol: protocol.Messages}}
		if _, err := c.view(t.Context(), v, req, client); err != nil {
			t.Fatal(err)
		}
		if len(c.hidden) != want {
			t.Errorf("%d hidden messages in memory, want %d", len(c.hidden), want)
		}
	}
}
