package bench

import (
	"math/bits"
	"sync"

	"github.com/pleat-dev/pleat/search"
	"github.com/pleat-dev/pleat/transcript"
)

// need is something that an answer uses, with every place that showed it before.
type need struct {
	message int // that uses it
	name    string
	places  []transcript.BlockRef // ascending
}

// needsOf finds, for every answer of a session, the names in it that a tool or a person
// had shown before.
func needsOf(s *Session) []need {
	shown := make(map[string][]transcript.BlockRef)
	told := make(map[string]bool) // by a tool or a person
	var out []need
	for i, m := range s.Messages {
		used, answers := make(map[string]bool), m.Role() == transcript.RoleAssistant
		for b, blk := range m.Blocks().All() {
			ref := transcript.BlockRef{Message: i, Block: b}
			for _, l := range blockLines(blk) {
				names(l, func(tok string) {
					if answers && blk.Kind() != transcript.KindThinking && told[tok] && !used[tok] {
						used[tok] = true
						if at := shown[tok]; at[len(at)-1].Message < i {
							out = append(out, need{i, tok, at[:len(at):len(at)]})
						}
					}
					if at := shown[tok]; len(at) == 0 || at[len(at)-1] != ref {
						shown[tok] = append(at, ref)
					}
					if !answers {
						told[tok] = true
					}
				})
			}
		}
	}
	return out
}

// misses reports whether the answer that begins with message next needs something that
// the view does not show.
func (t *tape) misses(next int) bool {
	for len(t.needs) > 0 && t.needs[0].message < next {
		t.needs = t.needs[1:]
	}
	shown := make(map[int]int, len(t.view)) // messages and where they stand in the view, from 1
	for i, vm := range t.view {
		if vm.Source >= 0 {
			shown[vm.Source] = i + 1
		}
	}
	for _, n := range t.needs {
		if n.message > next {
			break
		}
		if !t.made[n.name] && !t.visible(n, shown) {
			return true
		}
	}
	return false
}

func (t *tape) visible(n need, shown map[int]int) bool {
	for i := len(n.places) - 1; i >= 0; i-- {
		p := n.places[i]
		at := shown[p.Message]
		if at == 0 {
			continue
		}
		edited := false
		for _, e := range t.view[at-1].Edits {
			edited = edited || e.Block == p.Block
		}
		if !edited {
			return true
		}
	}
	return false
}

// madeNames are the names in what the method wrote itself.
func (t *tape) madeNames(v transcript.View) map[string]bool {
	set := make(map[string]bool)
	for _, vm := range v.Messages {
		for _, e := range vm.Edits {
			names(e.Text, func(tok string) { set[tok] = true })
		}
		if vm.Source < 0 {
			names(messageText(vm.Made), func(tok string) { set[tok] = true })
		}
	}
	return set
}

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
