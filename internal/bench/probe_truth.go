package bench

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/bench/synth"
	"github.com/pleat-dev/pleat/transcript"
)

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
