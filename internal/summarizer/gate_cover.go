package summarizer

import (
	"fmt"
	"unicode"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// cover is what the turns are about, by which a digest of them is told from a refusal, a
// promise and a text about something else.
type cover struct {
	names map[uint64]bool // anchors
	words map[string]bool // beginnings of longer words, for conversations without names
}

func newCover(src *Source) *cover {
	c := &cover{make(map[uint64]bool), make(map[string]bool)}
	c.add(src.Prev)
	for i := range src.Msgs {
		for _, b := range src.Msgs[i].Blocks().All() {
			c.add(transcript.BlockText(b))
			if call, ok := b.(transcript.ToolCall); ok {
				c.add(call.Name)
			}
		}
	}
	return c
}

func (c *cover) add(txt string) {
	for _, a := range text.AppendAnchors(nil, txt) {
		c.names[a.Hash] = true
	}
	for _, w := range longWords(txt) {
		c.words[w] = true
	}
}

// longWords are the beginnings of words that carry a meaning. In scripts that put no space
// between words any two characters stand for one.
func longWords(txt string) []string {
	var out []string
	for _, w := range plainWords(txt) {
		r := []rune(w)
		switch {
		case unicode.In(r[0], unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			for i := range len(r) - 1 {
				out = append(out, string(r[i:i+2]))
			}
		case len(r) >= 5:
			out = append(out, stemOf(w))
		}
	}
	return out
}

// lacks says what a text lacks that says nothing of the turns; empty: it does. Refusals have no name of
// the turns, and short but true digests few: a summary that is used as it came must have one, a digest, which
// is asked for again, two. Where the turns have hardly any, words count.
func (c *cover) lacks(txt string, least int) string {
	d := cover{make(map[uint64]bool), make(map[string]bool)}
	d.add(txt)
	if n := min(least, len(c.names)/5); n > 0 {
		return missing("names", n, c.names, d.names)
	}
	return missing("words", min(2, len(c.words)/5), c.words, d.words)
}

func missing[K comparable](what string, least int, all, told map[K]bool) string {
	n := 0
	for k := range told {
		if all[k] {
			n++
		}
	}
	if n >= least {
		return ""
	}
	return fmt.Sprintf("it tells nothing of the turns: %d of their %s %s", n, text.Thousands(len(all)), what)
}
