package conv

import (
	"context"
	"crypto/sha256"
	"hash"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/transcript"
)

// The handle of a stretch depends on the hash of the text that unfolding it shows, and a
// stretch may be larger than memory. So the measure of its beginning is kept: levers try
// stretches with the same start and different ends, the next epoch folds a longer one, and
// messages that are no longer in memory need not be read back to be hashed.

type textMeter struct {
	sum   hash.Hash
	bytes int
	lines int // line feeds
	open  bool
}

func (t *textMeter) WriteString(s string) (int, error) {
	if s != "" {
		t.sum.Write(transcript.StringBytes(s))
		t.bytes += len(s)
		t.lines += strings.Count(s, "\n")
		t.open = s[len(s)-1] != '\n'
	}
	return len(s), nil
}

// clone returns a meter that goes on from here independently.
func (t *textMeter) clone() textMeter {
	sum, err := t.sum.(hash.Cloner).Clone()
	if err != nil {
		panic(err) // not with the standard library's SHA-256
	}
	c := *t
	c.sum = sum
	return c
}

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
	end   int // messages start ≤ i < end are measured
	now   textMeter
	marks []meterMark // earlier ends, ascending
}

// meterMark is what a stretchMeter had measured at an earlier end.
type meterMark struct {
	end int
	at  textMeter
}

// markBytes is how much text is between marks: as much may have to be read once more.
const markBytes = 64 << 10

func newStretchMeter(start int) *stretchMeter {
	return &stretchMeter{start: start, end: start, now: textMeter{sum: sha256.New()}}
}

func (m *stretchMeter) take(msg transcript.Message) {
	last := 0
	if n := len(m.marks); n > 0 {
		last = m.marks[n-1].at.bytes
	}
	if m.now.bytes-last >= markBytes {
		m.marks = append(m.marks, meterMark{m.end, m.now.clone()})
	}
	transcript.RenderMessage(&m.now, m.end, msg, fence.Alone)
	m.end++
}

// before returns a new meter that goes on from the last mark at or before end, or from the
// start if there is none.
func (m *stretchMeter) before(end int) *stretchMeter {
	part := newStretchMeter(m.start)
	i, _ := slices.BinarySearchFunc(m.marks, end+1, func(k meterMark, end int) int { return k.end - end })
	if i > 0 {
		part.end, part.now = m.marks[i-1].end, m.marks[i-1].at.clone()
	}
	return part
}

// Measure returns the hash, bytes and lines of what RenderText returns.
func (c *Conversation) Measure(ctx context.Context, start, end int) (h transcript.Hash, bytes, lines int, err error) {
	m := c.meterFrom(start)
	if end < m.end {
		m = m.before(end)
	}
	for m.end < end {
		msg, err := c.Contents.at(ctx, m.end)
		if err != nil {
			return h, 0, 0, err
		}
		m.take(msg)
	}
	h, bytes, lines = m.now.measured()
	return h, bytes, lines, nil
}

// meterFrom returns a meter of stretches that begin at start, and keeps it if stretches
// begin there again and again.
func (c *Conversation) meterFrom(start int) *stretchMeter {
	if i := slices.IndexFunc(c.meters, func(m *stretchMeter) bool { return m.start == start }); i >= 0 {
		return c.meters[i]
	}
	m := newStretchMeter(start)
	if slices.Contains(c.stretches(), start) {
		c.meters = append(c.meters, m)
	}
	return m
}

// leaving is called before message i goes from memory, and measures it while it is there.
func (c *Conversation) leaving(i int) {
	if !c.metered {
		c.metered = true
		for _, start := range c.stretches() {
			if start > i { // none of its messages leaves yet, and it may move
				c.metered = false
			} else {
				c.meterFrom(start)
			}
		}
	}
	c.meters = slices.DeleteFunc(c.meters, func(m *stretchMeter) bool {
		for m.end <= i {
			msg, ok := c.Contents.holding(m.end)
			if !ok {
				return true // reading it back now would not pay
			}
			m.take(msg)
		}
		return false
	})
}

// stretches returns where stretches begin that are worth measuring ahead.
func (c *Conversation) stretches() []int {
	if c.Starts != nil {
		return c.Starts()
	}
	return []int{c.facts.Prompt(), c.facts.Opening()}
}

// RenderText returns messages start ≤ i < end as text, as unfolding a stretch shows them. The
// hash in a fold is that of this text.
func (c *Conversation) RenderText(ctx context.Context, start, end int) (string, error) {
	var b strings.Builder
	size := 0
	for i := start; i < end; i++ {
		size += 40
		for _, bf := range c.facts[i].Blocks {
			size += int(bf.Bytes) + 80
		}
	}
	b.Grow(size)
	for i := start; i < end; i++ {
		m, err := c.Contents.at(ctx, i)
		if err != nil {
			return "", err
		}
		transcript.RenderMessage(&b, i, m, fence.Alone)
	}
	return b.String(), nil
}
