package conv

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

// Where two places would have the same address the later one gets a longer one, and each
// address is read back as what it was.
func TestHandlesMeet(t *testing.T) {
	hash, p := transcript.HashOf("some words"), transcript.Place{Start: 4, End: 5, Block: 1}
	var index Handles
	var names []string
	for h := range handlesFor(hash, p) {
		if got := index.Name(hash, p); got != h {
			t.Fatalf("place gets %v, want %v", got, h)
		}
		if got := transcript.ParseHandle(h.String()); got != h {
			t.Errorf("%v is read as %v", h, got)
		}
		names = append(names, h.String())
		if len(names) == 5 {
			break
		}
		if index.blocks == nil {
			index.Add(transcript.HashOf("other words"), transcript.Place{Start: 0, End: 1, Block: 0})
		}
		index.blocks[h] = blockAt{9, uint32(len(names))} // somebody else has it
	}
	for i, n := range []int{8, 10, 12, 12, 12} {
		if len(names[i]) != n {
			t.Errorf("address %d is %q, want %d characters", i, names[i], n)
		}
	}
	if !strings.HasPrefix(names[1], names[0]) || !strings.HasPrefix(names[2], names[1]) || names[3] == names[2] ||
		names[4] == names[3] {
		t.Errorf("addresses %q: want longer ones, then others", names)
	}
	name := index.Add(hash, p)
	if at, ok := index.At(name); !ok || at != p {
		t.Errorf("%v leads to %v", name, at)
	}
	stretch := transcript.Place{Start: 2, End: 8, Block: -1}
	if at, ok := index.At(index.Add(hash, stretch)); !ok || at != stretch {
		t.Errorf("a stretch's address leads to %v", at)
	}
	for _, text := range []string{"", "short", "UPPER000", "with space", "longerthantwelve", "iiiiiiii"} {
		if h := transcript.ParseHandle(text); h != 0 {
			t.Errorf("%q is read as a handle: %v", text, h)
		}
	}
}
