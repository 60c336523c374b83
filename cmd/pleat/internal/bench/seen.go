package bench

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/transcript"
)

// seen is a text as a reader finds it: lines, and where each word stands.
type seen struct {
	msgs  []transcript.Message // of a view; nil for what a recall gave
	pages []bool               // which of them the method wrote
	lines []string
	words []map[string]bool  // of each line
	made  []bool             // line was written by the method, not by the session
	own   []string           // the method's own lines, long ones whole
	at    map[string][]int32 // lines that hold a word, ascending
	sets  map[int]map[string]bool
	trail trail // what it states of files; nil: not looked for yet
}

// window is how many lines before and after a line count as standing beside it.
const window = 6

// seeView reads a view. Source tells which of its messages came from the session as they
// were.
func seeView(v transcript.View, msgs []transcript.Message) *seen {
	s := &seen{msgs: msgs, at: make(map[string][]int32), sets: make(map[int]map[string]bool)}
	for i, m := range msgs {
		vm := v.Messages[i]
		s.pages = append(s.pages, vm.Source < 0)
		edited := make(map[int]bool)
		for _, e := range vm.Edits {
			edited[e.Block] = true
		}
		for b, blk := range m.Blocks().All() {
			// Edits name blocks of the source; a dropped one moves those behind it, which
			// only ever makes a line count as the session's own.
			own := vm.Source < 0 || edited[b]
			if s.add(blockLines(blk), own); own {
				s.own = append(s.own, ownLines(blk)...)
			}
		}
	}
	return s
}

// seeText reads what a recall gave.
func seeText(text string) *seen {
	s := &seen{at: make(map[string][]int32), sets: make(map[int]map[string]bool)}
	s.add(splitLines(text), true)
	s.own = strings.Split(text, "\n")
	return s
}

func (s *seen) add(lines []string, made bool) {
	for _, l := range lines {
		n := int32(len(s.lines))
		set := wordSet(l)
		s.lines, s.words, s.made = append(s.lines, l), append(s.words, set), append(s.made, made)
		for w := range set {
			s.at[w] = append(s.at[w], n)
		}
	}
}

// around is the set of words that stand within one window around a line.
func (s *seen) around(line int) map[string]bool {
	if set, ok := s.sets[line]; ok {
		return set
	}
	set := make(map[string]bool)
	for _, words := range s.words[max(line-window, 0):min(line+window+1, len(s.lines))] {
		maps.Copy(set, words)
	}
	s.sets[line] = set
	return set
}

// candidates are the lines that hold the rarest of the words; at most 200.
func (s *seen) candidates(words map[string]bool) []int32 {
	var best []int32
	first := true
	for _, w := range slices.Sorted(maps.Keys(words)) {
		if at := s.at[w]; len(at) > 0 && (first || len(at) < len(best)) {
			best, first = at, false
		}
	}
	return best[:min(len(best), 200)]
}

// covers reports whether at least that share of the words stands within one window.
func (s *seen) covers(words map[string]bool, share float64) bool {
	return slices.ContainsFunc(s.candidates(words), func(line int32) bool {
		return covered(s.around(int(line)), words) >= share
	})
}

func covered(have, words map[string]bool) float64 {
	n := 0
	for w := range words {
		if have[w] {
			n++
		}
	}
	return float64(n) / float64(len(words))
}

// wordSet is the set of a text's words, in lower case, single letters left out.
func wordSet(text string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsFuncSeq(text, notWord) {
		if len(w) > 1 {
			set[strings.ToLower(w)] = true
		}
	}
	return set
}

func notWord(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }

// longLine is where a line is taken apart: a thousand words in one line are no line.
const longLine = 400

// splitLines cuts a text into lines that are not empty, long ones into pieces.
func splitLines(text string) []string {
	var out []string
	for l := range strings.SplitSeq(text, "\n") {
		l = strings.TrimSpace(l)
		for len(l) > longLine {
			at := strings.LastIndexByte(l[:longLine], ' ')
			if at < longLine/2 {
				at = longLine
				for at > 0 && !utf8.RuneStart(l[at]) {
					at--
				}
			}
			out, l = append(out, l[:at]), strings.TrimSpace(l[at:])
		}
		if l != "" {
			out = append(out, l)
		}
	}
	return out
}

// blockTexts are the texts that a reader finds in a block: of a call its tool and its arguments, decoded.
func blockTexts(b transcript.Block) []string {
	if c, ok := b.(transcript.ToolCall); ok {
		return append([]string{c.Name}, callStrings(c.Input.String())...)
	}
	return []string{transcript.BlockText(b)}
}

// blockLines are the lines of a block.
func blockLines(b transcript.Block) (lines []string) {
	for _, t := range blockTexts(b) {
		lines = append(lines, splitLines(t)...)
	}
	return lines
}

// ownLines are the lines of a block, long ones whole.
func ownLines(b transcript.Block) (lines []string) {
	for _, t := range blockTexts(b) {
		lines = append(lines, strings.Split(t, "\n")...)
	}
	return lines
}
