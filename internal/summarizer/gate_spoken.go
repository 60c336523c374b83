package summarizer

import (
	"slices"
	"strings"
	"unicode"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/userwords"
)

// spoken is something that a person said, made for checking quotations of it.
type spoken struct {
	text      string // normal form
	sentences []sentence
}

type sentence struct {
	as    string          // as it was said, on one line
	end   int             // where it ends in the normal form of all
	stems map[string]bool // of its words
}

func newSpoken(s userwords.Said) spoken {
	var out spoken
	var all strings.Builder
	for _, as := range sentences(s.Text) {
		flat := flatText(as)
		if flat == "" {
			continue
		}
		if all.Len() > 0 {
			all.WriteByte(' ')
		}
		all.WriteString(flat)
		part := sentence{as: as, end: all.Len(), stems: make(map[string]bool)}
		for _, w := range plainWords(as) {
			part.stems[stemOf(w)] = true
		}
		out.sentences = append(out.sentences, part)
	}
	out.text = all.String()
	return out
}

// sentences parts a text. A line goes on in the next one, unless that is empty or an item of a list.
func sentences(s string) (list []string) {
	var open []string // words
	end := func() {
		for rest := strings.Join(open, " "); rest != ""; {
			n := text.SentenceEnd(rest)
			list = append(list, rest[:n])
			rest = strings.TrimSpace(rest[n:])
		}
		open = nil
	}
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line == "" || text.ListMark(line) > 0 {
			end()
		}
		open = append(open, strings.Fields(line)...)
	}
	end()
	return list
}

// whole returns the sentences that have the parts of a quotation, in their order; nearly: or nearly all words
// of a part. It is empty where one has none.
func (sp spoken) whole(parts []string, nearly bool) string {
	var out strings.Builder
	next := 0 // the sentence behind those that were written
	for _, part := range parts {
		if bareQuote(part) == "" {
			continue
		}
		first, last := sp.find(part, max(next-1, 0), nearly)
		if first < 0 {
			return ""
		}
		if next > 0 && first > next {
			out.WriteString(" …")
		}
		for i := max(first, next); i <= last; i++ {
			out.WriteString(" " + sp.sentences[i].as)
		}
		next = max(next, last+1)
	}
	return strings.TrimSpace(out.String())
}

// find returns the first and the last of the sentences, from one of them on, that have a part of a
// quotation; -1 if none have.
func (sp spoken) find(part string, from int, nearly bool) (first, last int) {
	start := 0
	if from > 0 {
		start = sp.sentences[from-1].end
	}
	flat := bareQuote(part)
	if at := strings.Index(sp.text[start:], flat); at >= 0 {
		within := func(at int) int {
			return slices.IndexFunc(sp.sentences, func(s sentence) bool { return at < s.end })
		}
		return within(start + at), within(start + at + len(flat) - 1)
	}
	words, best, most := plainWords(part), -1, 0
	for i := from; nearly && i < len(sp.sentences); i++ {
		hits := 0
		for _, w := range words {
			if sp.sentences[i].stems[stemOf(w)] {
				hits++
			}
		}
		if hits > most && hits*5 >= len(words)*4 {
			best, most = i, hits
		}
	}
	return best, best
}

// plainWords are the words of a text in lower case; an apostrophe is part of one.
func plainWords(text string) []string {
	text = strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '_'
	})
}

// stemOf is enough of a word to know its forms by.
func stemOf(w string) string {
	if r := []rune(w); len(r) > 5 {
		return string(r[:5])
	}
	return strings.TrimSuffix(w, "s")
}
