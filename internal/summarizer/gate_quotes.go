package summarizer

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/userwords"
)

// spoken is something that a person said, made for checking quotations of it.
type spoken struct {
	text  string          // normal form
	stems map[string]bool // of its words
	as    string          // as it was said
}

func newSpoken(s userwords.Said) spoken {
	out := spoken{text: flatText(s.Text), stems: make(map[string]bool), as: s.Text}
	for _, w := range plainWords(s.Text) {
		out.stems[stemOf(w)] = true
	}
	return out
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

// flatText is a text in the form in which quotations are compared: lower case, no quotes
// inside of quotes, one space between words.
func flatText(s string) string {
	return strings.Join(strings.Fields(withoutQuotes.Replace(strings.ToLower(s))), " ")
}

var withoutQuotes = strings.NewReplacer("’", "", "‘", "", "“", "", "”", "", "'", "", `"`, "", "`", "", "*", "")

// quotes checks the quotations of a sentence. What the user is said to have said must be the
// user's; other quotations must be somebody's. What nobody said, or the user in nearly these
// words, loses its quotes, unless it has a "not" more or less than the user's.
func (g *gateSource) quotes(s string) (string, []digest.Finding) {
	var found []digest.Finding
	var b strings.Builder
	done := 0
	for _, q := range quotations(s) {
		inner := q.of(s)
		by, direct := quotesUser(s[:q.start])
		if len(strings.Fields(inner)) < 3 || q.other && !direct || g.saidQuote(inner) {
			continue
		}
		source := g.inSource(inner)
		switch {
		case by && (direct || !source) && (!g.nearlySaid(inner) || g.denies(inner)):
			return "", append(found, digest.Finding{Kind: digest.FoundNotSaid, What: text.Clip(inner, 140)})
		case direct || !source:
			found = append(found, digest.Finding{Kind: digest.FoundQuote, What: text.Clip(inner, 100)})
			b.WriteString(s[done:q.start] + inner)
			done = q.end
		}
	}
	return b.String() + s[done:], found
}

// quotesUser reports whether what comes before a quotation names the user, and whether it does
// so directly before it, as in "the user then said".
func quotesUser(before string) (by, direct bool) {
	words := plainWords(userName.ReplaceAllString(before, "name"))
	colon := strings.HasSuffix(strings.TrimRight(before, " *"), ":")
	for i, w := range words {
		by = by || w == "user" || w == "users" || strings.HasPrefix(w, "user'") // not userName
		direct = direct || w == "user" && i >= len(words)-3
	}
	return by, direct || by && colon
}

// userName are names that begin like the user: user-message.ts, user.go.
var userName = regexp.MustCompile(`(?i)\buser[-./][\pL\pN]+`)

type quotation struct {
	start, end int
	mark       int  // bytes of a quote
	other      bool // its quotes mean other things too
}

func (q quotation) of(s string) string { return s[q.start+q.mark : q.end-q.mark] }

// quotations finds the quotations of a text, outside of code. A quote opens one behind what is
// no word and closes it before what is no word, so that the words between two quotations are
// not taken for one. Two quotes are an empty string.
func quotations(s string) []quotation {
	var list []quotation
	for _, at := range quotedText.FindAllStringIndex(s, -1) {
		if open, size := utf8.DecodeRuneInString(s[at[0]:]); open != '`' {
			list = append(list, quotation{at[0], at[1], size, open != '"' && open != '“'})
		}
	}
	return list
}

var quotedText = regexp.MustCompile("(?s)`[^`]+`|“.*?”|\"\"|\\B\"\\S.*?\"\\B|«.*?»|‘.*?’\\B|\\B'\\S.*?'\\B")

// nearlySaid reports whether a person said something with nearly all of these words.
func (g *gateSource) nearlySaid(q string) bool {
	words := plainWords(q)
	return slices.ContainsFunc(g.said, func(sp spoken) bool {
		hits := 0
		for _, w := range words {
			if sp.stems[stemOf(w)] {
				hits++
			}
		}
		return hits*5 >= len(words)*4
	})
}

// denies reports whether a quotation has a negation where what a person said does not, or none
// where they have one. Each clause is compared with those that share the most words with it.
func (g *gateSource) denies(q string) bool {
	return slices.ContainsFunc(clauses(q), func(c clause) bool {
		most, agrees := 0, true
		for _, sp := range g.said {
			for _, said := range clauses(sp.as) {
				n := 0
				for w := range c.stems {
					if said.stems[w] {
						n++
					}
				}
				if n > most {
					most, agrees = n, false
				}
				agrees = agrees || n == most && said.negated == c.negated
			}
		}
		return !agrees
	})
}

type clause struct {
	stems   map[string]bool // of its words that negate nothing
	negated bool
}

func clauses(s string) (list []clause) {
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(".,;:!?\n", r) }) {
		c := clause{stems: make(map[string]bool)}
		for _, w := range plainWords(part) {
			if strings.HasSuffix(w, "n't") || slices.Contains([]string{"no", "not", "never", "cannot"}, w) {
				c.negated = true
			} else {
				c.stems[stemOf(w)] = true
			}
		}
		list = append(list, c)
	}
	return list
}

// saidQuote reports whether a person said these words. An ellipsis matches any others.
func (g *gateSource) saidQuote(q string) bool {
	return slices.ContainsFunc(g.said, func(sp spoken) bool { return sp.text != "" && hasInOrder(sp.text, q) })
}

func (g *gateSource) inSource(q string) bool {
	if g.names.flat == "" {
		g.names.flat = flatText(g.names.text.String())
	}
	return hasInOrder(g.names.flat, q)
}

func hasInOrder(text, q string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(q, "...", "…"), "…") {
		part = strings.Trim(flatText(part), " .,;:!?[]()")
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}
