package conv

import (
	"crypto/sha256"
	"hash"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
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
		t.sum.Write(transcript.StringBytes(s))
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
func (t *textMeter) measured() (h transcript.Hash, bytes, lines int) {
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
func (m *stretchMeter) take(msg transcript.Message) {
	last := 0
	if n := len(m.marks); n > 0 {
		last = m.marks[n-1].at.bytes
	}
	if m.now.bytes-last >= markBytes {
		m.marks = append(m.marks, meterMark{m.end, m.now.clone()})
	}
	transcript.RenderMessage(&m.now, m.end, msg)
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
func (c *Conversation) Measure(start, end int) (h transcript.Hash, bytes, lines int) {
	m := c.meterFrom(start)
	if end < m.end {
		m = m.before(end)
	}
	for m.end < end {
		m.take(c.Transcript.At(m.end))
	}
	if c.Contents.err != nil { // something else was measured than what was said
		c.meters = nil
	}
	return m.now.measured()
}

// meterFrom returns a meter of stretches that begin at start. Those of pages and snips are
// kept.
func (c *Conversation) meterFrom(start int) *stretchMeter {
	for _, m := range c.meters {
		if m.start == start {
			return m
		}
	}
	m := newStretchMeter(start)
	if slices.Contains(c.stretches(), start) {
		c.meters = append(c.meters, m)
	}
	return m
}

// leaving is told that message i is about to be let go of: it is measured while it is there.
func (c *Conversation) leaving(i int) {
	if !c.metered {
		c.metered = true
		for _, start := range c.stretches() {
			if start > i { // nothing of it leaves yet, and it may move
				c.metered = false
			} else {
				c.meterFrom(start)
			}
		}
	}
	c.meters = slices.DeleteFunc(c.meters, func(m *stretchMeter) bool {
		for m.end <= i {
			e := c.Contents.held[m.end]
			if e == nil {
				return true // reading it back now would not pay
			}
			m.take(e.Value.(*heldMessage).m)
		}
		return false
	})
}

// stretches are the places where stretches begin that are worth measuring ahead.
func (c *Conversation) stretches() []int {
	if c.Starts != nil {
		return c.Starts()
	}
	return []int{c.Prompt(), c.First}
}
