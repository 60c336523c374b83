package summarizer

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/text"
)

// flatText is a text in the form in which quotations are compared: lower case, no quotes
// inside of quotes, one space between words.
func flatText(s string) string {
	return strings.Join(strings.Fields(withoutQuotes.Replace(strings.ToLower(s))), " ")
}

var withoutQuotes = strings.NewReplacer("’", "", "‘", "", "“", "", "”", "", "'", "", `"`, "", "`", "", "*", "")

// quotes checks the quotations of a sentence. What the user is said to have said must be the user's, and
// becomes their whole sentences: a few of their words can say the opposite. Where these are too long, or the
// user is only named somewhere before, it shows where it was cut. Other quotations must be somebody's, or lose
// their quotes; so do those that are not the user's and begin a sentence below the user's name, or stand
// behind an arrow from it or before it.
func (g *gateSource) quotes(s string, below bool) (string, []digest.Finding) {
	var found []digest.Finding
	var b strings.Builder
	done := 0
	for _, q := range quotations(s) {
		inner := q.of(s)
		by, direct := quotesUser(s[:q.start])
		if len(strings.Fields(inner)) < 3 || q.other && !direct {
			continue
		}
		arrow := by && strings.HasSuffix(strings.TrimRight(s[:q.start], " "), "→")
		claimed := !direct && (arrow || below && q.start == 0 || userFollows(inner, s[q.end:]))
		by = by || claimed
		whole, said := "", false
		if by {
			whole, said = g.wholeQuote(inner)
		}
		long := len(whole) > len(inner)+mostRestored
		becomes := inner // without quotes
		switch {
		case claimed && !said: // loses its quotes
		case !direct && !said && g.inSource(inner):
			continue
		case by && !said && (whole == "" || long):
			return "", append(found, digest.Finding{Kind: digest.FoundNotSaid, What: text.Clip(inner, 140)})
		case by:
			if said && (!direct || long) {
				whole = cutQuote(inner, whole)
			}
			if bareQuote(whole) == bareQuote(inner) {
				continue
			}
			becomes = s[q.start:q.start+q.mark] + strings.ReplaceAll(whole, `"`, "'") + s[q.end-q.mark:q.end]
		}
		found = append(found, digest.Finding{Kind: digest.FoundQuote, What: text.Clip(inner, 100)})
		b.WriteString(s[done:q.start] + becomes)
		done = q.end
	}
	return b.String() + s[done:], found
}

// cutQuote puts an ellipsis where a quotation leaves out the beginning or the end of what was said.
func cutQuote(q, whole string) string {
	parts, all := quoteParts(q), bareQuote(whole)
	q = strings.Trim(q, " .…")
	if !strings.HasPrefix(all, bareQuote(parts[0])) {
		q = "… " + q
	}
	if !strings.HasSuffix(all, bareQuote(parts[len(parts)-1])) {
		q += " …"
	}
	return q
}

// quoteParts parts a quotation where an ellipsis stands for something else.
func quoteParts(q string) []string {
	return strings.Split(strings.Trim(strings.ReplaceAll(q, "...", "…"), " …"), "…")
}

// quotesUser reports whether what comes before a quotation names the user, and whether it does
// so directly before it, as in "the user then said".
func quotesUser(before string) (by, direct bool) {
	colon := strings.HasSuffix(strings.TrimRight(before, " *"), ":")
	for _, s := range [...]string{before, aside.ReplaceAllString(before, " ")} {
		words := plainWords(userName.ReplaceAllString(s, "name"))
		for i, w := range words {
			by = by || w == "user" || w == "users" || strings.HasPrefix(w, "user'") // not userName
			direct = direct || w == "user" && i >= len(words)-3
		}
	}
	return by, direct || by && colon
}

// aside is what stands between two commas: the user, after that, said.
var aside = regexp.MustCompile(`,[^,"“„«]*,`)

// namesUser reports whether a line names the user.
func namesUser(line string) bool {
	by, _ := quotesUser(line)
	return by
}

// userFollows reports whether the user's name follows a quotation as that of whose it is: behind a comma, a
// bracket or a dash.
func userFollows(inner, behind string) bool {
	behind = strings.TrimLeft(behind, " ")
	if !strings.HasSuffix(inner, ",") && strings.TrimLeft(behind, ",([–—-") == behind {
		return false
	}
	words := plainWords(userName.ReplaceAllString(behind, "name"))
	return slices.Contains(words[:min(len(words), 3)], "user")
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
			list = append(list, quotation{at[0], at[1], size, !strings.ContainsRune(`"“„「`, open)})
		}
	}
	return list
}

var quotedText = regexp.MustCompile("(?s)`[^`]+`|„.*?[“”]|「.*?」|“.*?”|«.*?»|" +
	`""|\B"\S.*?"\B|‘.*?’\B|\B'\S.*?'\B`)

// mostRestored is how many bytes a quotation may grow by.
const mostRestored = 300

// wholeQuote returns the sentences of a person that have the words of a quotation, or nearly all words of
// each sentence of it, and whether it has the very words.
func (g *gateSource) wholeQuote(q string) (whole string, said bool) {
	exact := quoteParts(q)
	for _, sp := range g.said {
		if whole := sp.whole(exact, false); whole != "" {
			return whole, true
		}
	}
	var parts []string
	for _, p := range exact {
		parts = append(parts, sentences(p)...)
	}
	for _, sp := range g.said {
		if whole := sp.whole(parts, true); whole != "" {
			return whole, false
		}
	}
	return "", false
}

func (g *gateSource) inSource(q string) bool {
	if g.names.flat == "" {
		g.names.flat = flatText(g.names.text.String())
	}
	return hasInOrder(g.names.flat, q)
}

// bareQuote is a quotation in normal form, without what stands around it.
func bareQuote(q string) string { return strings.Trim(flatText(q), " .,;:!?[]()") }

func hasInOrder(text, q string) bool {
	for _, part := range quoteParts(q) {
		part = bareQuote(part)
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}
