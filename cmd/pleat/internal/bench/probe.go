package bench

import (
	"slices"
	"strings"
)

// Family is a kind of probe.
type Family string

// The families, in the order of the tables. docs/bench.md says what each is mined from
// and when it counts as answered.
const (
	FutureUse   Family = "future use"
	Artifacts   Family = "artifacts"
	Outcomes    Family = "outcomes"
	Literals    Family = "literals"
	HumanWords  Family = "human words"
	Constraints Family = "constraints"
	Reversals   Family = "reversals"
	PlanState   Family = "plan state"
)

// Families are all families whose targets are looked up one by one. Legality and
// invention are counted by view.
var Families = []Family{FutureUse, Artifacts, Outcomes, Literals, HumanWords, Constraints, Reversals, PlanState}

// verdict is what a text says of a target.
type verdict uint8

const (
	absent verdict = iota
	wrong          // the contrary is stated
	stated         // it is there, with what it stood with
)

// probe is one target: something that a reader of the view should be able to tell.
type probe struct {
	family Family
	what   string // for people
	query  string // what a search would be asked; empty: nothing could ask for it
	look   func(s *seen) verdict
}

// lineProbe is a target that stands in lines of the session: it is stated where most of
// the words of such a line stand within one window of the text.
func lineProbe(family Family, target, query string, lines []string) probe {
	var sets []map[string]bool
	for _, l := range lines[max(len(lines)-maxLines, 0):] { // the newest say what holds
		sets = append(sets, wordSet(l))
	}
	words := wordSet(target)
	return probe{family: family, what: target, query: query, look: func(s *seen) verdict {
		for _, at := range s.candidates(words) {
			if !hasExact(s.lines[at], target) {
				continue
			}
			have := s.around(int(at))
			if slices.ContainsFunc(sets, func(set map[string]bool) bool { return covered(have, set) > 0.5 }) {
				return stated
			}
		}
		return absent
	}}
}

// maxLines bounds how many lines a target is compared with.
const maxLines = 40

// hasExact reports whether a line holds a string that is not part of a longer name.
func hasExact(line, target string) bool {
	for at := 0; ; {
		i := strings.Index(line[at:], target)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(target)
		if (start == 0 || !nameByte(line[start-1]) || !nameByte(target[0])) &&
			(end == len(line) || !nameByte(line[end]) || !nameByte(target[len(target)-1])) {
			return true
		}
		at = start + 1
	}
}

func nameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// mine finds all targets of a cut.
func mine(s *Session, sp span) []probe {
	var out []probe
	for _, f := range []func(*Session, span) []probe{
		futureUse, artifacts, outcomes, literals, humanWords, constraints, planState,
	} {
		out = append(out, f(s, sp)...)
	}
	return out
}
