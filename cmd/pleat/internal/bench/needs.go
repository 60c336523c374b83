package bench

import (
	"slices"

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

// visible reports whether the view shows a place of the need as it was.
func (t *tape) visible(n need, shown map[int]int) bool {
	return slices.ContainsFunc(n.places, func(p transcript.BlockRef) bool {
		at := shown[p.Message]
		return at > 0 && !slices.ContainsFunc(t.view[at-1].Edits,
			func(e transcript.BlockEdit) bool { return e.Block == p.Block })
	})
}

// madeNames are the names in what the method wrote itself.
func (t *tape) madeNames(v transcript.View) map[string]bool {
	set := make(map[string]bool)
	for _, vm := range v.Messages {
		for _, e := range vm.Edits {
			names(e.Text, func(tok string) { set[tok] = true })
		}
		if vm.Source < 0 {
			for _, b := range vm.Made.Blocks().All() {
				names(transcript.BlockText(b), func(tok string) { set[tok] = true })
			}
		}
	}
	return set
}
