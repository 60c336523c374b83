package digest

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/userwords"
)

// spoken is something that a person said, made for checking what a digest says that they
// said.
type spoken struct {
	message   int    // counted from 1
	text      string // normal form
	short     bool   // an answer that means little by itself
	sentences []spokenSentence
}

type spokenSentence struct {
	words   map[string]bool // stems
	negated bool
}

func newSpoken(s userwords.Said) spoken {
	out := spoken{message: s.Message + 1, text: flatText(s.Text), short: s.Short && !isNo(s.Text)}
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
	refusalWords = text.WordSet("rejected rejects refused refuses declined declines denied denies interrupted interrupts cancelled canceled")
	openBefore   = text.WordSet("not never no awaiting await awaits waiting wait until unless pending before ask asks asked asking whether if needs need needed without must should may might could can would unclear hasn't haven't didn't doesn't don't get getting seek request")
	openAfter    = text.WordSet("pending needed required outstanding missing first before needs unclear")
)

// putInMouth finds words or wishes that a sentence attributes to the user and that no
// message of theirs bears out.
func (g *gateSource) putInMouth(s string) (Finding, bool) {
	words := plainWords(s)
	consent, says := false, false
	for i, w := range words {
		switch {
		case !ofUser(words, i):
		case consentWords[w]:
			consent = consent || !isOpen(words, i)
		case saidWords[w]:
			says = true
		}
	}
	if !consent && (!says || strings.HasSuffix(strings.TrimRight(s, " *\n"), ":")) {
		return Finding{}, false // a line that only introduces others says nothing
	}
	var content []string
	for _, w := range words {
		if len(w) > 3 && !consentWords[w] && !saidWords[w] && !emptyWords[w] && w != "user" && w != "user's" {
			content = append(content, stemOf(w))
		}
	}
	quoted := !consent && slices.ContainsFunc(quotations(s), func(q quotation) bool { return len(strings.Fields(q.of(s))) > 2 && g.saidQuote(q.of(s)) })
	if quoted || g.cites(s, content, consent) || g.bears(content, consent) {
		return Finding{}, false
	}
	return Finding{FoundNotSaid, text.Clip(strings.TrimSpace(s), 140)}, true
}

// isOpen reports whether consent is awaited or asked for, but not given.
func isOpen(words []string, i int) bool {
	return slices.ContainsFunc(words[max(0, i-4):i], func(w string) bool { return openBefore[w] }) ||
		slices.ContainsFunc(words[i+1:min(len(words), i+4)], func(w string) bool { return openAfter[w] })
}

// ofUser reports whether a word is what the user does or has: after "user" with only small
// words between them, or before "by the user".
func ofUser(words []string, i int) bool {
	for k := i - 1; k >= 0 && k >= i-5; k-- {
		if w := words[k]; w == "user" || w == "user's" || w == "users'" {
			return true
		} else if !betweenWords[w] && !text.IsDigits(w) {
			break
		}
	}
	for k := i + 2; k < min(len(words), i+4); k++ {
		if words[k] == "user" && (byWords[words[k-1]] || k > i+2 && byWords[words[k-2]]) {
			return true
		}
	}
	return false
}

var (
	betweenWords = text.WordSet("has had have then also explicitly later now first only just again did does never not clearly repeatedly finally originally initially earlier previously already once still who is was and in message msg directly fully strongly")
	byWords      = text.WordSet("by from of")
)

// cites reports whether a sentence names the message of the user that it tells of. Telling
// it in other words is allowed; for consent the message must not forbid what is told. What a
// program tells of the user bears out a refusal and nothing else.
func (g *gateSource) cites(s string, content []string, consent bool) bool {
	refusal := onlyRefusal(plainWords(s))
	for _, at := range refsIn(s) {
		for _, n := range digitRun.FindAllString(s[at[0]:at[1]], -1) {
			if k, err := strconv.Atoi(n); err == nil && refusal && g.refused[k] || slices.ContainsFunc(g.said, func(sp spoken) bool {
				return strconv.Itoa(sp.message) == n && (!consent || sp.grants(content))
			}) {
				return true
			}
		}
	}
	return false
}

// tellsRefusal reports whether a text says that the user refused or interrupted something.
func tellsRefusal(words []string) bool {
	for i, w := range words {
		negated := slices.ContainsFunc(words[max(0, i-3):i], func(w string) bool { return negations[w] })
		if refusalWords[w] && ofUser(words, i) && !negated {
			return true
		}
		if w == "user" && slices.ContainsFunc([]string{"doesn't want to", "does not want to"}, func(p string) bool {
			return strings.HasPrefix(strings.Join(words[i+1:min(len(words), i+5)], " ")+" ", p+" ")
		}) {
			return true // to proceed
		}
	}
	return false
}

// onlyRefusal reports whether a sentence says that the user refused something and neither
// that they said or want anything else nor that they consented.
func onlyRefusal(words []string) bool {
	return tellsRefusal(words) && !slices.ContainsFunc(words, func(w string) bool {
		return consentWords[w] || saidWords[w] && !refusalWords[w]
	})
}

// grants reports whether what a person said can be consent to something, given by its words.
func (sp *spoken) grants(content []string) bool {
	return sp.short || slices.ContainsFunc(sp.sentences, func(s spokenSentence) bool {
		return !s.negated && (len(content) == 0 || s.hits(content) > 0)
	})
}

// hits counts the words that a sentence has.
func (s *spokenSentence) hits(words []string) int {
	n := 0
	for _, w := range words {
		if s.words[w] {
			n++
		}
	}
	return n
}

var emptyWords = text.WordSet("that this with from have been were they them their then than what which when where will would should could must into about after before also only just more most some such each very over under still there here other these those does done being both using used make made work works like because while during through between message messages explicitly clearly directly earlier later again first session agent assistant task")

// bears reports whether what people said supports a sentence of the digest, given by its
// words: at least half of these must be among theirs. For consent, that half must be in one
// sentence that forbids nothing: theirs, or the question that they answered.
func (g *gateSource) bears(content []string, consent bool) bool {
	if len(content) == 0 {
		return !consent || slices.ContainsFunc(g.said, func(sp spoken) bool { return sp.text != "" && sp.message > 1 })
	}
	all := make(map[string]bool)
	for _, sp := range g.said {
		for _, sent := range sp.sentences {
			if sent.hits(content)*2 >= len(content) && (!consent || !sent.negated) {
				return true
			}
			for _, w := range content {
				all[w] = all[w] || sent.words[w]
			}
		}
	}
	said := spokenSentence{words: all}
	return !consent && said.hits(content)*2 >= len(content)
}

// quotes checks the quotations of a sentence. What the user is said to have said must be the
// user's; other quotations must be somebody's. What nobody said, or the user in nearly these
// words, loses its quotes.
func (g *gateSource) quotes(s string) (string, []Finding) {
	var found []Finding
	var b strings.Builder
	done := 0
	for _, q := range quotations(s) {
		inner := q.of(s)
		if len(strings.Fields(inner)) < 3 || g.saidQuote(inner) {
			continue
		}
		by, direct := quotesUser(s[:q.start])
		source := g.inSource(inner)
		switch {
		case by && (direct || !source) && !g.nearlySaid(inner):
			return "", append(found, Finding{FoundNotSaid, text.Clip(inner, 140)})
		case !source:
			found = append(found, Finding{FoundQuote, text.Clip(inner, 100)})
			b.WriteString(s[done:q.start] + inner)
			done = q.end
		}
	}
	return b.String() + s[done:], found
}

// quotesUser reports whether what comes before a quotation says that the user says it, and
// whether it says so directly before it.
func quotesUser(before string) (by, direct bool) {
	words := plainWords(before)
	colon := strings.HasSuffix(strings.TrimRight(before, " *"), ":")
	for i, w := range words {
		if saidWords[w] && ofUser(words, i) || colon && strings.HasPrefix(w, "user") {
			by, direct = true, colon || i == len(words)-1 || i == len(words)-2 && words[i+1] == "that"
		}
	}
	return by, direct
}

// quotation is a part of a text in quotes.
type quotation struct {
	start, end int
	mark       int // bytes of a quote
}

func (q quotation) of(s string) string { return s[q.start+q.mark : q.end-q.mark] }

// quotations finds the quotations of a text, outside of code. A quote opens one behind a
// space or a bracket and closes it before what is no word, so that the words between two
// quotations are not taken for one.
func quotations(s string) []quotation {
	var list []quotation
	for i := 0; i < len(s); i++ {
		open, end := "", ""
		switch {
		case s[i] == '`':
			if n := strings.IndexByte(s[i+1:], '`'); n > 0 {
				i += n + 1
			}
			continue
		case strings.HasPrefix(s[i:], "“"):
			open, end = "“", "”"
		case s[i] == '"' && i+1 < len(s) && !text.IsSpaceByte(s[i+1]) && (i == 0 || strings.IndexByte(" \t([{<=:/*_'~|>-", s[i-1]) >= 0):
			open, end = `"`, `"`
		default:
			continue
		}
		for k := i + len(open); ; {
			n := strings.Index(s[k:], end)
			if n < 0 {
				break
			}
			k += n + len(end)
			if k == len(s) || text.ByteClass[s[k]]&text.ByteWord == 0 {
				list = append(list, quotation{i, k, len(open)})
				i = k - 1
				break
			}
		}
	}
	return list
}

// nearlySaid reports whether a person said something with nearly all of these words.
func (g *gateSource) nearlySaid(q string) bool {
	words := plainWords(q)
	return slices.ContainsFunc(g.said, func(sp spoken) bool {
		hits := 0
		for _, w := range words {
			if slices.ContainsFunc(sp.sentences, func(s spokenSentence) bool { return s.words[stemOf(w)] }) {
				hits++
			}
		}
		return hits*5 >= len(words)*4
	})
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
