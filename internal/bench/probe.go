package bench

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/bench/synth"
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
	bare           // the exact string is there, not what it stood with
	wrong          // the contrary is stated
	stated         // it is there, with what it stood with
)

// probe is one target: something that a reader of the view should be able to tell.
type probe struct {
	family Family
	what   string // for people
	query  string // what a search would be asked; empty: nothing could ask for it
	look   func(s *seen) verdict
	// holds reports whether a line states the target together with what stands around
	// it; nil where targets are no lines.
	holds func(s *seen, line int32) bool
}

// lineProbe is a target that stands in lines of the session: it is stated where most of
// the words of such a line stand within one window of the text.
func lineProbe(family Family, target, query string, lines []string) probe {
	var sets []map[string]bool
	for _, l := range lines[max(len(lines)-maxLines, 0):] { // the newest say what holds
		sets = append(sets, wordSet(l))
	}
	words := wordSet(target)
	holds := func(s *seen, line int32) bool {
		if !hasExact(s.lines[line], target) {
			return false
		}
		have := s.around(int(line))
		return slices.ContainsFunc(sets, func(set map[string]bool) bool { return covered(have, set) > 0.5 })
	}
	look := func(s *seen) verdict {
		v := absent
		for _, at := range s.candidates(words) {
			switch {
			case holds(s, at):
				return stated
			case hasExact(s.lines[at], target):
				v = bare
			}
		}
		return v
	}
	return probe{family: family, what: target, query: query, look: look, holds: holds}
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
func made(o synth.Options) Session {
	s := synth.Make(o)
	return Session{
		Name:     fmt.Sprintf("synthetic/%s-%dk-%d", s.Options.Kind, s.Options.Tokens/1000, s.Options.Seed),
		Messages: s.Messages, Times: s.Times, truth: (*truth)(&s.Truth),
	}
}

// SynthSessions makes one synthetic session of each kind.
func SynthSessions(seed uint64, tokens int) []Session {
	var out []Session
	for i, kind := range synth.Kinds() {
		out = append(out, made(synth.Options{Seed: seed + uint64(i), Kind: kind, Tokens: tokens}))
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
		if use < 0 || l.By == transcript.RoleAssistant {
			continue
		}
		query := ""
		for _, b := range s.Messages[use].Blocks().All() {
			units := useUnits(b)
			for i, u := range units {
				if query == "" && hasExact(u, l.Text) {
					query = queryFor(units, i, l.Text)
				}
			}
		}
		out = append(out, lineProbe(FutureUse, l.Text, query, []string{l.Line}))
	}
	return out
}

// probes are the targets that a session's end has.
func (t *truth) probes(s *Session) []probe {
	var out []probe
	shell := shellText(s.Messages)
	gold := t.trail()
	for _, f := range t.Files {
		if f.State != synth.FileRead {
			p := path.Join(t.Root, f.Path)
			out = append(out, artifactProbe(p, gold[p], mentions(shell, p)))
		}
	}
	texts := make(map[string]string)
	results(s.Messages, func(cmd string, r transcript.ToolResult) { texts[cmd] = r.Text() })
	var order []outcome
	for _, c := range t.Commands {
		if core := coreOf(strings.Join(strings.Fields(c.Command), " ")); core != "" {
			order = append(order, outcome{command: core, failed: c.Failed, first: c.Line})
		}
	}
	for i, o := range order {
		if slices.ContainsFunc(order[:i], func(e outcome) bool { return headOf(e.command) == headOf(o.command) }) ||
			slices.ContainsFunc(order[i+1:], func(e outcome) bool { return headOf(e.command) == headOf(o.command) }) {
			continue
		}
		out = append(out, outcomeProbe(o, texts[o.command]))
	}
	for _, l := range t.Literals {
		if l.Kind != synth.LiteralName && l.Kind != synth.LiteralPath && l.By != transcript.RoleAssistant {
			out = append(out, lineProbe(Literals, l.Text, queryFor([]string{l.Line}, 0, l.Text), []string{l.Line}))
		}
	}
	for _, said := range t.Said {
		for _, u := range sentences(said.Text) {
			if len(wordSet(u)) >= 3 && len(u) <= 600 && len(said.Text) <= pasted {
				out = append(out, sentenceProbe(HumanWords, u, firstWords(u)))
			}
		}
	}
	for _, c := range t.Constraints {
		if c.InForce() {
			out = append(out, sentenceProbe(Constraints, c.Text, firstWords(c.Text)))
		} else if c.LiftedBy != "" {
			out = append(out, sentenceProbe(Reversals, c.LiftedBy, firstWords(c.LiftedBy)))
		}
	}
	for _, it := range t.Plan {
		out = append(out, planProbe(planItem{it.Text, status(string(it.Status))}))
	}
	return out
}

// trail is the truth about files in the form of the gold of real sessions.
func (t *truth) trail() trail {
	out := make(trail)
	for _, f := range t.Files {
		p := path.Join(t.Root, f.Path)
		switch f.State {
		case synth.FileCreated:
			out[p] = Created
		case synth.FileEdited:
			out[p] = Edited
		case synth.FileDeleted:
			out[p] = Deleted
		}
	}
	return out
}
