package rows

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
)

// What is stored depends on these bytes: they never change.
func TestSum(t *testing.T) {
	const want = "0cc105574a1c63f757fe78ed90a8ed5a51df7bdef90b07fc39fd476e169d1abd"
	if got := hex.EncodeToString(KeyOf("key", "t", "s")); got != want {
		t.Errorf("key %s, want %s", got, want)
	}
	kinds := map[store.EntryKind]uint64{"bb": 9, "a": 7}
	got := encodeKinds(kinds)
	if want := "016100000000000000070262620000000000000009"; hex.EncodeToString(got) != want {
		t.Errorf("kinds %x, want %s", got, want)
	}
	back, err := decodeKinds(got)
	if d := difftest.Values(kinds, back); d != "" || err != nil {
		t.Errorf("%v, kinds (-want +got):\n%s", err, d)
	}
	for n := range got {
		if _, err := decodeKinds(got[:n]); err == nil && n != 0 && n != 10 {
			t.Errorf("the first %d bytes of %d are taken for a list of kinds", n, len(got))
		}
	}
}

// A scan notices every entry that it does not meet.
func TestDue(t *testing.T) {
	// Kinds a b a b a, and for each the one of its kind before it.
	entries := []store.Entry{
		{Seq: 1, Kind: "a"}, {Seq: 2, Kind: "b"}, {Seq: 3, Kind: "a"}, {Seq: 4, Kind: "b"}, {Seq: 5, Kind: "a"},
	}
	prev := []uint64{0, 0, 1, 2, 3}
	newest := map[store.EntryKind]uint64{"a": 5, "b": 4}
	for _, kinds := range [][]store.EntryKind{nil, {"a"}, {"b"}, {"a", "b"}, {"c"}} {
		for from := range uint64(7) {
			for lost := range uint64(6) { // 0: none
				due, wanted, whole := newDue(5, newest, from, kinds), false, true
				for i, e := range entries {
					ours := e.Seq >= from &&
						(len(kinds) == 0 || slices.Equal(kinds, []store.EntryKind{"a", "b"}) || kinds[0] == e.Kind)
					if e.Seq == lost {
						wanted = ours
					} else if ours && whole {
						whole = due.Check(&e, prev[i]) == ""
					}
				}
				if whole {
					whole = due.Missing() == ""
				}
				if whole == wanted {
					t.Errorf("kinds %v from %d without entry %d: whole %v", kinds, from, lost, whole)
				}
			}
		}
	}
}

func TestDistinct(t *testing.T) {
	difftest.Equal(t, []string{"a", "b"}, distinct([]string{"b", "", "a", "b"}), "labels")
}
