package summarizer

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/text"
)

// spoken is something that a person said, made for checking quotations of it.
type spoken struct {
	words string       // in the form of plainText
	ends  map[int]bool // where in it sentences, lines and quotations begin and end
}

func newSpoken(said string) spoken {
	sp := spoken{words: " ", ends: map[int]bool{0: true}}
	for line := range strings.Lines(said) {
		for line = strings.TrimSpace(line); line != ""; {
			n := text.SentenceEnd(line)
			for part := range strings.SplitSeq(line[:n], `"`) { // the labels of an answer
				sp.words += strings.TrimPrefix(plainText(part), " ")
				sp.ends[len(sp.words)-1] = true
			}
			line = strings.TrimSpace(line[n:])
		}
	}
	return sp
}

// plainText is the words of a text in lower case, between single spaces: what quotations are compared by.
func plainText(s string) string {
	if words := plainWords(s); len(words) > 0 {
		return " " + strings.Join(words, " ") + " "
	}
	return ""
}

// plainWords are the words of a text in lower case, without apostrophes.
func plainWords(s string) []string {
	return strings.FieldsFunc(apostrophes.Replace(strings.ToLower(s)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '_'
	})
}

var apostrophes = strings.NewReplacer("’", "", "'", "")

// find returns where the parts of a quotation, in their order, begin and end in words, -1 if they do not stand
// there.
func find(words string, parts []string) (start, end int) {
	for i, part := range parts {
		at := strings.Index(words[end:], part)
		if at < 0 {
			return -1, -1
		}
		if i == 0 {
			start = at
		}
		end += at + max(len(part)-1, 0)
	}
	return start, end
}

// partsOf parts a quotation where an ellipsis or a remark in brackets stands for something else. A command of the
// client's is not the user's text.
func partsOf(q string) []string {
	parts := leftOut.Split(q, -1)
	for i := range parts {
		parts[i] = plainText(parts[i])
	}
	return parts
}

var leftOut = regexp.MustCompile(`…|\.\.\.|\[[^\]]*\]|^/[\w:-]+`)

// quotes checks the quotations of a sentence. One of the user that nobody has is struck; where others have it, or
// the user typed nearly that, it is told so; where the user typed it, it shows where it was cut. Any other with a
// word that the conversation does not have loses its quotes.
func (g *gateSource) quotes(s string, below bool) (out string, found []digest.Finding) {
	if g.typed(s) != "" { // also the quotations inside of theirs
		return s, nil
	}
	var b strings.Builder
	done := 0
	for _, q := range quotations(s) {
		inner := s[q.start+q.mark : q.end-q.mark]
		named, cited := g.ofUser(s[:q.start], s[q.end:])
		named = named || below && q.start == 0
		words := plainWords(leftOut.ReplaceAllString(inner, " "))
		if len(words) < 3 || q.weak && !named && !cited {
			continue
		}
		typedNearly := func(sp spoken) bool { return nearly(words, sp.words) }
		f := digest.Finding{Kind: digest.FoundQuote, What: text.Clip(inner, 100)}
		becomes, typed := inner, g.typed(inner)
		said := typed != "" || g.source.said(inner)
		switch {
		case said && !named && (typed == "" || !cited), typed == inner:
			continue
		case typed != "":
			becomes = s[q.start:q.start+q.mark] + typed + s[q.end-q.mark:q.end]
		case named && said, (named || cited) && slices.ContainsFunc(g.said, typedNearly):
			becomes = "[not the user's exact words: " + inner + "]"
		case named || cited:
			f.Kind, becomes = digest.FoundNotSaid, struckMark
		case !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(g.source.words, " "+w+" ") }):
			continue
		}
		found = append(found, f)
		b.WriteString(s[done:q.start] + becomes)
		done = q.end
	}
	return b.String() + s[done:], found
}

// typed returns a quotation of what people typed with an ellipsis where it leaves out the beginning or the end of
// a sentence; empty: nobody typed that.
func (g *gateSource) typed(q string) (shown string) {
	parts := partsOf(q)
	for _, sp := range g.said {
		start, end := find(sp.words, parts)
		if start < 0 {
			continue
		}
		cut := q
		if !sp.ends[start] && parts[0] != "" {
			cut = "… " + cut
		}
		if !sp.ends[end] && parts[len(parts)-1] != "" {
			cut += " …"
		}
		if shown == "" || len(cut) < len(shown) {
			shown = cut
		}
	}
	return shown
}

// nearly reports whether a text, in the form of plainText, has half of the pairs of words of a quotation.
func nearly(words []string, in string) bool {
	pairs := 0
	for i := range len(words) - 1 {
		if strings.Contains(in, " "+words[i]+" "+words[i+1]+" ") {
			pairs++
		}
	}
	return pairs*2 >= len(words)-1
}

// said reports whether anybody said what a quotation has, also in a text whose lines are escaped, as in code.
func (n *sourceText) said(q string) bool {
	if n.words == "" {
		n.words = plainText(unescaped.Replace(n.text.String()))
	}
	start, _ := find(n.words, partsOf(unescaped.Replace(q)))
	return start >= 0
}

// ofUser reports how a quotation is the user's: their name stands right before it or behind it; or it is cited: a
// message of theirs behind it, or else a few words before it, or their name does. Another's message behind it says
// that it is not.
func (g *gateSource) ofUser(before, behind string) (named, cited bool) {
	if end := strings.IndexAny(behind, ";)"); end >= 0 {
		behind = behind[:end]
	}
	after, words := plainWords(behind), plainWords(before[strings.LastIndexByte(before, ';')+1:])
	after = after[:min(len(after), 3)]
	last := func(n int) []string { return words[max(len(words)-n, 0):] }
	for _, w := range after {
		if n, ok := citation(w); ok {
			return false, g.people[n]
		}
	}
	cites := func(w string) bool { n, ok := citation(w); return isUser(w) || ok && g.people[n] }
	return slices.ContainsFunc(append(last(2), after...), isUser), slices.ContainsFunc(last(5), cites)
}

func isUser(w string) bool { return w == "user" || w == "users" }

// citation returns the number of the message that a word cites: m12.
func citation(w string) (int, bool) {
	digits, ok := strings.CutPrefix(w, "m")
	n, err := strconv.Atoi(digits)
	return n - 1, ok && err == nil
}

type quotation struct {
	start, end int
	mark       int  // bytes of a quote
	weak       bool // its quotes mean other things too
}

// quotations finds the quotations of a text, outside of code. A quote opens one behind what is
// no word and closes it before what is no word, so that the words between two quotations are
// not taken for one. Two quotes are an empty string.
func quotations(s string) []quotation {
	var list []quotation
	for _, at := range quotedText.FindAllStringIndex(s, -1) {
		open, size := utf8.DecodeRuneInString(s[at[0]:])
		if open == '`' || open == '\'' && goesOn.MatchString(s[at[1]:]) { // the tests' output
			continue
		}
		list = append(list, quotation{at[0], at[1], size, !strings.ContainsRune(`"“„「`, open)})
	}
	return list
}

var goesOn = regexp.MustCompile(`^ \pL`)

var quotedText = regexp.MustCompile("(?s)`[^`]+`|„.*?[“”]|「.*?」|“.*?”|«.*?»|" +
	`""|\B"\S.*?"\B|‘.*?’\B|\B'\S.*?'\B`)
