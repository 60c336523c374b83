package search

import (
	"iter"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/text"
)

// A window is the unit that is ranked: about a dozen lines, large enough to hold a thought
// and small enough to be read whole.
const (
	windowLines   = 12
	windowBytes   = 4096
	windowOverlap = 256 // bytes that two pieces of one long line share
	maxQueryWords = 64
)

// Window is a part of a text that is ranked on its own.
type Window struct {
	From, To   int // lines From ≤ i < To, counted from 0
	Start, End int // bytes Start ≤ i < End
	Text       string
}

// Windows cuts a text into overlapping windows of about 12 lines and at most 4 KB. Two
// neighbours share about a third of their lines, so that a thought is whole in at
// least one of them. A line longer than a window comes in several overlapping pieces,
// which differ in their bytes. Every byte is in some window.
func Windows(txt string) iter.Seq[Window] {
	return func(yield func(Window) bool) {
		line, start := 0, 0
		for start < len(txt) {
			if end := text.LineEnd(txt, start); end-start > windowBytes {
				if !longLine(txt, line, start, end, yield) {
					return
				}
				line, start = line+1, end
				continue
			}
			ends := make([]int, 0, windowLines) // stays on the stack
			for end := start; len(ends) < windowLines && end < len(txt); {
				next := text.LineEnd(txt, end)
				if next-start > windowBytes {
					break
				}
				ends = append(ends, next)
				end = next
			}
			n, end := len(ends), ends[len(ends)-1]
			if !yield(Window{From: line, To: line + n, Start: start, End: end, Text: txt[start:end]}) {
				return
			}
			if end == len(txt) {
				return
			}
			step := n - n/3
			if text.LineEnd(txt, end)-end > windowBytes {
				step = n // a long line follows and shares nothing
			}
			line, start = line+step, ends[step-1]
		}
	}
}

// longLine yields one line in pieces.
func longLine(text string, line, start, end int, yield func(Window) bool) bool {
	for {
		cut := end
		if end-start > windowBytes {
			cut = wordBreak(text, start+windowBytes-windowOverlap, start+windowBytes)
		}
		if !yield(Window{From: line, To: line + 1, Start: start, End: cut, Text: text[start:cut]}) {
			return false
		}
		if cut == end {
			return true
		}
		start = wordBreak(text, cut-windowOverlap, cut-windowOverlap/2)
	}
}

// wordBreak finds the last place in text[low:high] after which a word begins, or else
// the last place at which a character does.
func wordBreak(text string, low, high int) int {
	if i := strings.LastIndexAny(text[low:high], " \t,;\"'(){}[]<>"); i >= 0 {
		return low + i + 1
	}
	for i := high; i > low; i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return high
}

// BM25 is what one word of a query adds to the score of a place (a window): more when
// the place has the word often and is short, and when few places have it.
//
// count is how often the place has the word, length how many words the place has,
// average the mean length of the places, holding how many of all places have the word.
func BM25(count, length int, average float64, holding, all int) float64 {
	const k1, b = 1.2, 0.75
	rarity := math.Log(1 + (float64(all-holding)+0.5)/(float64(holding)+0.5))
	n := float64(count)
	return rarity * n * (k1 + 1) / (n + k1*(1-b+b*float64(length)/max(average, 1)))
}

// QueryWords returns the words of a query that stores look for: the first 64 different
// ones.
func QueryWords(query string) []string {
	var words []string
	for word := range Words(query) {
		if len(words) == maxQueryWords {
			break
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}
