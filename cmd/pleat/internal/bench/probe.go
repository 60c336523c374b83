package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/bench/synth"
	"github.com/pleat-dev/pleat/internal/clue"
	"github.com/pleat-dev/pleat/transcript"
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
		futureUse, artifacts, outcomes, literals, humanWords, planState,
	} {
		out = append(out, f(s, sp)...)
	}
	return out
}

// truth is what is true of a made-up session.
type truth synth.Truth

// made is a made-up session as the bench takes it, with its truth.
func made(index, tokens int) Session {
	s := synth.Scale(index, tokens)
	name := "synthetic/" + s.Kind
	if tokens > 0 {
		name += fmt.Sprintf("-%dk", tokens/1000)
	}
	return Session{Name: name, Messages: s.Messages, Times: s.Times, truth: (*truth)(&s.Truth)}
}

// SynthSessions returns one made-up session of each kind, as long as that. 0: of 100,000 tokens, as
// they were made.
func SynthSessions(tokens int) []Session {
	out := make([]Session, len(synth.Sessions()))
	for i := range out {
		out[i] = made(i, tokens)
	}
	return out
}

// spans are the cuts that a session is measured at. The truth of a synthetic session
// holds at its end, so that everything but future use is asked there.
func (s *Session) spans() []span {
	out := []span{s.futureSpan()}
	if s.truth != nil {
		out = append(out, span{cut: len(s.Messages), end: len(s.Messages)})
	}
	return out
}

// probes are the targets of a cut.
func (s *Session) probes(sp span) []probe {
	switch {
	case s.truth == nil:
		return mine(s, sp)
	case sp.cut < len(s.Messages):
		return s.truth.needs(s, sp.cut)
	}
	return s.truth.probes(s)
}

// needs are the literals that the assistant uses after the cut and had only before it.
func (t *truth) needs(s *Session, cut int) []probe {
	var out []probe
	for _, l := range t.Literals {
		use := l.Needs(cut)
		if use < 0 {
			continue
		}
		query := ""
		for _, b := range s.Messages[use].Blocks().All() {
			units := useUnits(b)
			for i, u := range units {
				if query == "" && hasExact(u, l.Text) {
					query = clue.Query(units, i, l.Text)
				}
			}
		}
		out = append(out, lineProbe(FutureUse, l.Text, query, []string{l.Line}))
	}
	return out
}

// probes are the targets that a session's end has.
func (t *truth) probes(s *Session) []probe {
	out := artifacts(s, span{cut: len(s.Messages)})
	texts := make(map[string]string)
	results(s.Messages, func(cmd string, r transcript.ToolResult) { texts[cmd] = r.Text() })
	var newest []outcome
	for i, c := range t.Runs {
		core := coreOf(strings.Join(strings.Fields(c.Command), " "))
		again := func(r synth.Run) bool { return r.Command == c.Command }
		if core != "" && !slices.ContainsFunc(t.Runs[i+1:], again) {
			newest = append(newest, outcome{command: core, failed: c.Failed, first: c.Line, result: texts[core]})
		}
	}
	out = append(out, outcomeProbes(newest)...)
	for _, l := range t.Literals {
		if !l.Name {
			out = append(out, lineProbe(Literals, l.Text, clue.Query([]string{l.Line}, 0, l.Text), []string{l.Line}))
		}
	}
	for _, said := range t.Said {
		if len(said.Text) <= pasted {
			out = append(out, typedProbes(said.Text)...)
		}
	}
	for _, c := range t.Rules {
		if c.Lifted == 0 {
			out = append(out, sentenceProbe(Constraints, c.Text, firstWords(c.Text)))
		} else {
			out = append(out, sentenceProbe(Reversals, c.LiftedBy, firstWords(c.LiftedBy)))
		}
	}
	if len(t.Plans) > 0 {
		for _, it := range t.Plans[len(t.Plans)-1].Items {
			out = append(out, planProbe(planItem{it.Text, status(it.Status)}))
		}
	}
	return out
}

// trail is the truth about files in the form of the gold of real sessions.
func (t *truth) trail() trail {
	out := make(trail)
	for _, f := range t.Files {
		out[f.Path] = ChangeOp(f.State)
	}
	return out
}
