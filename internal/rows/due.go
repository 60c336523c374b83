package rows

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/store"
)

// Due knows which entries a scan must meet. Without kinds they are numbered without
// gaps. With kinds, each entry names the one of its kind before it, and the session
// the newest of each kind: so a missing one is noticed there too.
type Due struct {
	From uint64 // the next page begins here

	all  bool              // every kind is wanted
	head uint64            // the newest entry, with all
	tail map[string]uint64 // else the newest of each wanted kind that is due
	seen map[string]uint64 // and the newest one met; 0 before the first
	low  uint64            // where the scan began
}

// NewDue begins a scan of a session at entry from: head is the session's newest entry,
// newest that of each of its kinds.
func NewDue(head uint64, newest map[store.EntryKind]uint64, from uint64, kinds []store.EntryKind) *Due {
	d := &Due{From: max(from, 1), low: max(from, 1), all: len(kinds) == 0, head: head}
	if !d.all {
		d.tail, d.seen = make(map[string]uint64), make(map[string]uint64)
		for kind, last := range newest {
			if last >= d.From && slices.Contains(kinds, kind) {
				d.tail[string(kind)] = last
			}
		}
	}
	return d
}

// Check says what is wrong with e being the next entry; prev is the number of the entry of
// its kind before it.
func (d *Due) Check(e *store.Entry, prev uint64) string {
	if d.all {
		if e.Seq != d.From {
			return fmt.Sprintf("entry %d is missing", d.From)
		}
		d.From++
		return ""
	}
	kind := string(e.Kind)
	before, met := d.seen[kind]
	if met && prev != before || !met && prev >= d.low || e.Seq < d.From {
		return fmt.Sprintf("a %s entry before entry %d is missing", kind, e.Seq)
	}
	d.seen[kind] = e.Seq
	d.From = e.Seq + 1
	return ""
}

// Missing says what should have come and did not.
func (d *Due) Missing() string {
	if d.all {
		if d.From <= d.head {
			return fmt.Sprintf("entry %d is missing", d.From)
		}
		return ""
	}
	for kind, newest := range d.tail {
		if d.seen[kind] < newest {
			return fmt.Sprintf("%s entry %d is missing", kind, newest)
		}
	}
	return ""
}

// Distinct returns the labels without repeats and without the empty one, which no entry
// is found by.
func Distinct(labels []string) []string {
	labels = slices.Compact(slices.Sorted(slices.Values(labels)))
	return slices.DeleteFunc(labels, func(label string) bool { return label == "" })
}
