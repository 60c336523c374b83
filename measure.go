package pleat

import (
	"crypto/sha256"
	"hash"
	"slices"
	"strings"
)

// A stretch is addressed by the hash of the text that unfolding it shows, and a stretch may
// be larger than memory. What is known of its beginning is kept: levers try stretches with
// the same start and different ends, the next epoch folds a longer one, and what a session
// has let go of need not be read back to be hashed.

// textMeter takes a text's measure.
type textMeter struct {
	sum   hash.Hash
	bytes int
	lines int // line feeds
	open  bool
}

// WriteString implements [io.StringWriter].
func (t *textMeter) WriteString(s string) (int, error) {
	if s != "" {
		t.sum.Write(stringBytes(s))
		t.bytes += len(s)
		t.lines += strings.Count(s, "\n")
		t.open = s[len(s)-1] != '\n'
	}
	return len(s), nil
}

// clone is a meter that goes on from here by itself.
func (t *textMeter) clone() textMeter {
	c := *t
	sum, err := t.sum.(hash.Cloner).Clone()
	if err != nil {
		panic(err) // SHA-256 of the standard library has no such error
	}
	c.sum = sum
	return c
}

// measured is the result so far.
func (t *textMeter) measured() (h Hash, bytes, lines int) {
	lines = t.lines
	if t.open {
		lines++
	}
	t.sum.Sum(h[:0])
	return h, t.bytes, lines
}

// stretchMeter measures stretches that begin at one message.
type stretchMeter struct {
	start int
	end   int // messages start ≤ i < end are taken in
	now   textMeter
	marks []meterMark // on the way, ascending
}

// meterMark is what a stretchMeter had measured at an earlier end.
type meterMark struct {
	end int
	at  textMeter
}

// markBytes is what lies between marks: as much may have to be read once more.
const markBytes = 1 << 20

func newStretchMeter(start int) *stretchMeter {
	return &stretchMeter{start: start, end: start, now: textMeter{sum: sha256.New()}}
}

// take adds the next message.
func (m *stretchMeter) take(msg Message) {
	last := 0
	if n := len(m.marks); n > 0 {
		last = m.marks[n-1].at.bytes
	}
	if m.now.bytes-last >= markBytes {
		m.marks = append(m.marks, meterMark{m.end, m.now.clone()})
	}
	renderMessage(&m.now, m.end, msg)
	m.end++
}

// before is a meter that has taken as much as possible of what lies before end.
func (m *stretchMeter) before(end int) *stretchMeter {
	part := newStretchMeter(m.start)
	i, _ := slices.BinarySearchFunc(m.marks, end+1, func(k meterMark, end int) int { return k.end - end })
	if i > 0 {
		part.end, part.now = m.marks[i-1].end, m.marks[i-1].at.clone()
	}
	return part
}

// measure returns hash, bytes and lines of what renderText returns.
func (s *conversation) measure(start, end int) (h Hash, bytes, lines int) {
	m := s.meterFrom(start)
	if end < m.end {
		m = m.before(end)
	}
	for m.end < end {
		m.take(s.t.At(m.end))
	}
	if s.msgs.err != nil { // something else was measured than what was said
		s.meters = nil
	}
	return m.now.measured()
}

// meterFrom returns a meter of stretches that begin at start. Those of pages and snips are
// kept.
func (s *conversation) meterFrom(start int) *stretchMeter {
	for _, m := range s.meters {
		if m.start == start {
			return m
		}
	}
	m := newStretchMeter(start)
	if slices.Contains(s.stretches(), start) {
		s.meters = append(s.meters, m)
	}
	return m
}

// leaving is told that message i is about to be let go of: it is measured while it is there.
func (s *conversation) leaving(i int) {
	if !s.metered {
		s.metered = true
		for _, start := range s.stretches() {
			if start > i { // nothing of it leaves yet, and it may move
				s.metered = false
			} else {
				s.meterFrom(start)
			}
		}
	}
	s.meters = slices.DeleteFunc(s.meters, func(m *stretchMeter) bool {
		for m.end <= i {
			e := s.msgs.held[m.end]
			if e == nil {
				return true // reading it back now would not pay
			}
			m.take(e.Value.(*heldMessage).m)
		}
		return false
	})
}

// stretches are the places where stretches begin that are worth measuring ahead.
func (s *conversation) stretches() []int {
	if s.starts != nil {
		return s.starts()
	}
	return []int{s.prompt(), s.first}
}

// stretchStarts are the places where the stretches begin that levers fold again and again:
// behind the system prompt, behind the head and, where the policy snips, behind the messages
// that it keeps.
func (s *folding) stretchStarts() []int {
	starts := []int{s.prompt()}
	if s.first != starts[0] {
		starts = append(starts, s.first)
	}
	if s.policy == nil || s.policy.Snip.Above <= 0 {
		return starts
	}
	at := s.first
	if s.policy.Digest.NoHead {
		at = starts[0]
	}
	at = max(s.policy.Snip.Head, at)
	for r := range s.t.allRounds() {
		if r.Start >= at {
			break
		}
		at = max(at, r.End) // a round at the head stays whole at the head
	}
	if !slices.Contains(starts, at) {
		starts = append(starts, at)
	}
	return starts
}
