package digest

import (
	"strings"
	"unicode"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/userwords"
)

// What people said, made for checking what a digest says that they said.

// spoken is something that a person said, sentence by sentence.
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
		for len(txt) > 0 {
			n := text.SentenceEnd(txt)
			out.sentences = append(out.sentences, newSpokenSentence(txt[:n], negated))
			txt = txt[n:]
		}
	}
	for line := range strings.Lines(s.Text) {
		add(strings.TrimSpace(line), false)
	}
	if s.Question != "" { // an answer says what it answers
		no := isNo(s.Text)
		for line := range strings.Lines(s.Question) {
			add(strings.TrimSpace(line), no)
		}
	}
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
		return Finding{}, false // a line that only leads to others says nothing itself
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

// isOpen reports whether consent is only spoken of: awaited, asked for, not given.
func isOpen(words []string, i int) bool {
	for k := max(0, i-4); k < i; k++ {
		if openBefore[words[k]] {
			return true
		}
	}
	for k := i + 1; k < min(len(words), i+4); k++ {
		if openAfter[words[k]] {
			return true
		}
	}
	return false
}

// saidByUser reports whether the user stands close before a word, or "by the user" after it.
func saidByUser(words []string, i int) bool {
	for k := max(0, i-4); k < i; k++ {
		if words[k] == "user" || words[k] == "user's" {
			return true
		}
	}
	for k := i + 1; k < min(len(words), i+4); k++ {
		if words[k] == "user" && (words[k-1] == "by" || k > 1 && words[k-2] == "by") {
			return true
		}
	}
	return false
}

var emptyWords = text.WordSet("that this with from have been were they them their then than what which when where will would should could must into about after before also only just more most some such each very over under still there here other these those does done being both using used make made work works like because while during through between message messages explicitly clearly directly earlier later again first session agent assistant task")

// bears reports whether what people said bears a sentence out, as far as words tell: half
// of its words are in what they said. For consent they must be in one sentence of theirs
// that is no prohibition, or in the question that they answered.
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
// must be somebody's. What nobody said is no longer marked as said.
func (g *gateSource) quotes(s string) (string, []Finding) {
	var found []Finding
	ofUser := false
	for _, w := range plainWords(s) {
		ofUser = ofUser || w == "user" || w == "user's" || w == "user:"
	}
	var b strings.Builder
	for rest := s; ; {
		open, q, after, ok := nextQuote(rest)
		if !ok {
			b.WriteString(rest)
			return b.String(), found
		}
		b.WriteString(rest[:open.at])
		quoted := rest[open.at:after]
		switch {
		case len(strings.Fields(q)) < 3:
		case ofUser && !g.saidQuote(q) && !g.inSource(q):
			found = append(found, Finding{FoundNotSaid, text.Clip(q, 140)})
		case ofUser && !g.saidQuote(q) && !strings.ContainsAny(rest[after:], `"”`):
			found = append(found, Finding{FoundNotSaid, text.Clip(q, 140)})
		case !ofUser && !g.inSource(q):
			found = append(found, Finding{FoundQuote, text.Clip(q, 100)})
			quoted = q
		}
		b.WriteString(quoted)
		rest = rest[after:]
	}
}

type quoteMark struct{ at, size int }

// nextQuote finds the next quotation: its mark, its words, and where it ends.
func nextQuote(s string) (open quoteMark, text string, after int, ok bool) {
	at := strings.IndexAny(s, `"“`)
	if at < 0 {
		return open, "", 0, false
	}
	end, size := `"`, 1
	if s[at] != '"' {
		end, size = "”", len("“")
	}
	n := strings.Index(s[at+size:], end)
	if n < 0 {
		return open, "", 0, false
	}
	return quoteMark{at, size}, s[at+size : at+size+n], at + size + n + len(end), true
}

// saidQuote reports whether a person said these words. An ellipsis stands for others.
func (g *gateSource) saidQuote(q string) bool {
	for _, sp := range g.said {
		if hasInOrder(sp.text, q) {
			return true
		}
	}
	return false
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
