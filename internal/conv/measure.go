package conv

import (
	"context"
	"crypto/sha256"
	"hash"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/transcript"
)

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

func (t *textMeter) total() (h transcript.Hash, bytes, lines int) {
	lines = t.lines
	if t.open {
		lines++
	}
	t.sum.Sum(h[:0])
	return h, t.bytes, lines
}

// measured is a stretch with the meter as it was at its end. The handle of a stretch depends on the hash of the text
// that unfolding it shows, and a stretch may be larger than memory. The next epoch folds a longer one from the same
// start, so the long ones that were measured last are kept, and measuring goes on from there.
type measured struct {
	start, end int // messages start ≤ i < end
	textMeter
}

const (
	measuredBytes = 64 << 10 // of text at least that a stretch has which is kept
	measuredMost  = 16       // that are kept
)

// Measure returns the hash, bytes and lines of what RenderText returns.
func (c *Conversation) Measure(ctx context.Context, start, end int) (h transcript.Hash, bytes, lines int, err error) {
	m := measured{start, start, textMeter{sum: sha256.New()}}
	for _, known := range c.measured {
		if known.start == start && m.end < known.end && known.end <= end {
			m = known
		}
	}
	m.textMeter = m.clone()
	for ; m.end < end; m.end++ {
		msg, err := c.Contents.at(ctx, m.end)
		if err != nil {
			return h, 0, 0, err
		}
		transcript.RenderMessage(&m.textMeter, m.end, msg, fence.Alone)
	}
	if m.bytes >= measuredBytes {
		c.measured = append(c.measured[max(0, len(c.measured)+1-measuredMost):], m)
	}
	h, bytes, lines = m.total()
	return h, bytes, lines, nil
}

// RenderText returns messages start ≤ i < end as text, as unfolding a stretch shows them. The
// hash in a fold is that of this text.
func (c *Conversation) RenderText(ctx context.Context, start, end int) (string, error) {
	var b strings.Builder
	for i := start; i < end; i++ {
		m, err := c.Contents.at(ctx, i)
		if err != nil {
			return "", err
		}
		transcript.RenderMessage(&b, i, m, fence.Alone)
	}
	return b.String(), nil
}
