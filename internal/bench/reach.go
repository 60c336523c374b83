package bench

import (
	"math/bits"
	"sync"

	"github.com/pleat-dev/pleat/search"
	"github.com/pleat-dev/pleat/transcript"
)

// pagePlaces is how many places of three lines, each with a line that says what it is, a
// page of 2,500 tokens has room for.
const pagePlaces = 25

// reach tells what one search could give at best, whoever ranks what it finds. It knows
// nothing of an arm: only the session before the cut, and where a target stands in it.
//
// A search by words can put a place on its first page if the place has a word of the
// query, and if not too many others have all the words that it has and more: whatever
// the words are worth, those come first.
type reach struct {
	all *seen
	at  map[string][]int32 // lines that have a word, or are of a result whose call has it
}

// reachOf makes the reach of a session, when it is first asked for.
func reachOf(msgs []transcript.Message) func() *reach {
	return sync.OnceValue(func() *reach {
		r := &reach{
			all: &seen{at: make(map[string][]int32), sets: make(map[int]map[string]bool)},
			at:  make(map[string][]int32),
		}
		calls := make(map[string]string) // arguments
		for _, m := range msgs {
			for _, b := range m.Blocks().All() {
				about := ""
				switch b := b.(type) {
				case transcript.ToolCall:
					calls[b.ID] = b.Input.String()
				case transcript.ToolResult:
					about = calls[b.CallID]
				}
				r.add(blockLines(b), about)
			}
		}
		return r
	})
}

func (r *reach) add(lines []string, about string) {
	first := len(r.all.lines)
	r.all.add(lines, false)
	note := func(word string, line int) {
		if list := r.at[word]; len(list) == 0 || int(list[len(list)-1]) < line {
			r.at[word] = append(list, int32(line))
		}
	}
	for i, l := range lines {
		for w := range search.Words(l) {
			note(w, first+i)
		}
		for w := range search.Words(about) {
			note(w, first+i)
		}
	}
}

// has reports whether one search with the probe's query could give its target.
func (r *reach) has(p probe) bool {
	if p.query == "" || p.holds == nil {
		return false
	}
	sets := r.sets(search.QueryWords(p.query))
	tried := make(map[uint64]bool)
	for _, line := range r.all.candidates(wordSet(p.what)) {
		own := sets[line]
		if own == 0 || tried[own] || !p.holds(r.all, line) {
			continue
		}
		tried[own] = true
		if better(sets, own) < pagePlaces {
			return true
		}
	}
	return false
}

// sets are, for each line, the words of a query that stand within one window around it.
func (r *reach) sets(query []string) []uint64 {
	lines, out := make([]uint64, len(r.all.lines)), make([]uint64, len(r.all.lines))
	for k, w := range query {
		for _, line := range r.at[w] {
			lines[line] |= 1 << k
		}
	}
	for i := range out {
		for _, set := range lines[max(i-window, 0):min(i+window+1, len(lines))] {
			out[i] |= set
		}
	}
	return out
}

// better counts the places, without overlap, that have all the words of a set and more,
// as far as it matters.
func better(sets []uint64, own uint64) int {
	n := 0
	for i := 0; i < len(sets) && n < pagePlaces; i++ {
		if sets[i]&own == own && bits.OnesCount64(sets[i]) > bits.OnesCount64(own) {
			n++
			i += 2 * window
		}
	}
	return n
}
