package pleat

import (
	"errors"
	"strings"
)

// digestSource copies what a need is about. The lock is held.
func (s *Session) digestSource(want need) (*digestSource, error) {
	st := s.st
	src := &digestSource{
		need: digestNeed(want), hash: st.sourceHash(want.start, want.end), system: s.o.System, tools: s.o.Tools,
		pins: st.pins(), notes: append([]Note(nil), st.notes...),
		said: append([]Said(nil), st.words.Said()...),
	}
	for n := len(st.told) - 1; n >= 0; n-- {
		if t := st.told[n]; t.end <= want.end && t.start <= want.start {
			src.prev, src.first = t.text, t.end
			break
		}
	}
	for _, r := range st.words.Constraints() {
		if r.InForce() && r.Message < want.end {
			src.rules = append(src.rules, strings.TrimSpace(r.Under+" "+r.Sentence))
		}
	}
	safe := st.safe(folded{})
	for i := src.first; i < want.end; i++ {
		m := sourceMessage{Message: st.t.At(i), cut: safe[i]}
		for b := range st.facts[i].blocks {
			bf := &st.facts[i].blocks[b]
			stale := 0
			if bf.kind == KindToolResult && bf.call > 0 {
				stale = st.ledger.Entry(int(bf.call)).SupersededBy
			}
			m.handles, m.stale = append(m.handles, bf.name.String()), append(m.stale, stale)
		}
		src.msgs = append(src.msgs, m)
	}
	var err error
	v := View{}
	for _, vm := range st.view() {
		if vm.Source >= want.end {
			break
		}
		v.Messages = append(v.Messages, vm)
		if vm.Source >= 0 && vm.Source < want.start {
			src.viewHead = len(v.Messages)
		}
	}
	src.view, err = v.Resolve(st.t.At)
	for _, m := range src.view {
		src.viewTokens += st.count.CountMessage(m)
	}
	for i := want.start; i < want.end; i++ {
		for b := range st.facts[i].blocks {
			src.replaces += int(st.facts[i].blocks[b].tokens)
		}
	}
	return src, errors.Join(err, st.msgs.fault())
}

// askOf is how a policy wants its digests asked for.
func askOf(d DigestBy) digestAsk {
	return digestAsk{prompt: d.Prompt, source: d.Source, retries: d.Retries, zeroTemp: d.ZeroTemp, trust: d.Trust}
}
