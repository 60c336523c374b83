package digest

import (
	"slices"
	"strings"
	"unicode"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/userwords"
)

// spoken is something that a person said, made for checking what a digest says that they
// said.
type spoken struct {
	text      string // normal form
	sentences []spokenSentence
}

type spokenSentence struct {
	words   map[string]bool // stems
	negated bool
}

func newSpoken(s userwords.Said) spoken {
	out := spoken{text: flatText(s.Text)}
	add := func(txt string, negated bool) {
		for line := range strings.Lines(txt) {
			for line = strings.TrimSpace(line); line != ""; {
				n := text.SentenceEnd(line)
				out.sentences = append(out.sentences, newSpokenSentence(line[:n], negated))
				line = line[n:]
			}
		}
	}
	add(s.Text, false)
	add(s.Question, isNo(s.Text)) // an answer says what the question asks
	return out
}

func newSpokenSentence(text string, negated bool) spokenSentence {
	s := spokenSentence{words: make(map[string]bool), negated: negated}
	for _, w := range plainWords(text) {
		s.negated = s.negated || negations[w]
		s.words[stemOf(w)] = true
	}
	return s
}

func isNo(text string) bool {
	w := plainWords(text)
	return len(w) > 0 && (w[0] == "no" || w[0] == "nope" || negations[w[0]] || w[0] == "stop")
}

var negations = text.WordSet("not no never don't dont do'nt cannot can't won't without nothing nobody none neither nor avoid refuse refused stop forbid forbidden isn't aren't doesn't didn't mustn't shouldn't must-not")

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
	s = strings.NewReplacer("’", "", "‘", "", "“", "", "”", "", "'", "", `"`, "", "`", "", "*", "").Replace(strings.ToLower(s))
	return strings.Join(strings.Fields(s), " ")
}

// The words by which a sentence says that the user wants or allows something.
var (
	consentWords = text.WordSet("approved approves approve approval agreed agrees agree agreement confirmed confirms confirm confirmation consented consents consent authorized authorised authorizes authorization permission permitted permits allowed allows accepted accepts okayed ok'd greenlit greenlighted granted grants go-ahead signed blessed endorsed")
	saidWords    = text.WordSet("said says asked asks wants wanted want requested requests request prefers preferred preference decided decides chose chooses told tells insisted insists instructed instructs wrote writes stated states mentioned specified specifies demanded demands requires required rejected rejects refused refuses declined declines forbids forbade wishes explained clarified reported reports pointed picked selected suggested suggests proposed likes dislikes expects noted")
	openBefore   = text.WordSet("not never no awaiting await awaits waiting wait until unless pending before ask asks asked asking whether if needs need needed without must should may might could can would unclear hasn't haven't didn't doesn't don't get getting seek request")
	openAfter    = text.WordSet("pending needed required outstanding missing first before needs unclear")
)

// putInMouth finds words or wishes that a sentence attributes to the user and that no
// message of theirs bears out.
func (g *gateSource) putInMouth(s string) (Finding, bool) {
	words := plainWords(s)
	about, consent, says := false, false, false
	for i, w := range words {
		switch {
		case w == "user" || w == "user's" || w == "users'":
			about = true
		case consentWords[w]:
			consent = consent || !isOpen(words, i)
		case saidWords[w] && saidByUser(words, i):
			says = true
		}
	}
	if !about || !consent && (!says || strings.HasSuffix(strings.TrimRight(s, " *\n"), ":")) {
		return Finding{}, false // a line that only introduces others says nothing
	}
	var content []string
	for _, w := range words {
		if len(w) > 3 && !consentWords[w] && !saidWords[w] && !emptyWords[w] && w != "user" && w != "user's" {
			content = append(content, stemOf(w))
		}
	}
	if g.bears(content, consent) {
		return Finding{}, false
	}
	return Finding{FoundNotSaid, text.Clip(strings.TrimSpace(s), 140)}, true
}

// isOpen reports whether consent is awaited or asked for, but not given.
func isOpen(words []string, i int) bool {
	return slices.ContainsFunc(words[max(0, i-4):i], func(w string) bool { return openBefore[w] }) ||
		slices.ContainsFunc(words[i+1:min(len(words), i+4)], func(w string) bool { return openAfter[w] })
}

// saidByUser reports whether "user" is close before a word, or "by the user" after it.
func saidByUser(words []string, i int) bool {
	if before := words[max(0, i-4):i]; slices.Contains(before, "user") || slices.Contains(before, "user's") {
		return true
	}
	for k := i + 1; k < min(len(words), i+4); k++ {
		if words[k] == "user" && (words[k-1] == "by" || k > 1 && words[k-2] == "by") {
			return true
		}
	}
	return false
}

var emptyWords = text.WordSet("that this with from have been were they them their then than what which when where will would should could must into about after before also only just more most some such each very over under still there here other these those does done being both using used make made work works like because while during through between message messages explicitly clearly directly earlier later again first session agent assistant task")

// bears reports whether what people said supports a sentence of the digest, given by its
// words: at least half of these must be among theirs. For consent, that half must be in one
// sentence that forbids nothing: theirs, or the question that they answered.
func (g *gateSource) bears(content []string, consent bool) bool {
	if len(content) == 0 {
		return !consent || len(g.said) > 1
	}
	all := make(map[string]bool)
	for _, sp := range g.said {
		for _, sent := range sp.sentences {
			hits := 0
			for _, w := range content {
				if sent.words[w] {
					all[w] = true
					hits++
				}
			}
			if hits*2 >= len(content) && (!consent || !sent.negated) {
				return true
			}
		}
	}
	if consent {
		return false
	}
	hits := 0
	for _, w := range content {
		if all[w] {
			hits++
		}
	}
	return hits*2 >= len(content)
}

// quotes checks the quotations of a sentence: those of the user must be the user's, others
// must be somebody's. What nobody said loses its quotes.
func (g *gateSource) quotes(s string) (string, []Finding) {
	var found []Finding
	words := plainWords(s)
	ofUser := slices.Contains(words, "user") || slices.Contains(words, "user's")
	var b strings.Builder
	for rest := s; ; {
		at, q, after, ok := nextQuote(rest)
		if !ok {
			b.WriteString(rest)
			return b.String(), found
		}
		b.WriteString(rest[:at])
		quoted := rest[at:after]
		switch {
		case len(strings.Fields(q)) < 3:
		case ofUser && !g.saidQuote(q) && (!g.inSource(q) || !strings.ContainsAny(rest[after:], `"”`)):
			found = append(found, Finding{FoundNotSaid, text.Clip(q, 140)})
		case !ofUser && !g.inSource(q):
			found = append(found, Finding{FoundQuote, text.Clip(q, 100)})
			quoted = q
		}
		b.WriteString(quoted)
		rest = rest[after:]
	}
}

// nextQuote finds the next quotation: where it begins and ends, and its words.
func nextQuote(s string) (at int, words string, after int, ok bool) {
	at = strings.IndexAny(s, `"“`)
	if at < 0 {
		return 0, "", 0, false
	}
	open, end := `"`, `"`
	if s[at] != '"' {
		open, end = "“", "”"
	}
	words, _, ok = strings.Cut(s[at+len(open):], end)
	return at, words, at + len(open) + len(words) + len(end), ok
}

// saidQuote reports whether a person said these words. An ellipsis matches any others.
func (g *gateSource) saidQuote(q string) bool {
	return slices.ContainsFunc(g.said, func(sp spoken) bool { return hasInOrder(sp.text, q) })
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
