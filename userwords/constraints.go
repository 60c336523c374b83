// Package userwords collects what people said in a conversation: their typed text apart
// from what programs put beside it, the standing rules in it, what they took back, and the
// agent's task list. [Words] is fed message by message and renders a page of it.
package userwords

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// Constraint is a standing rule: a sentence in which a person said how the work is to be
// done, or not to be done, from then on.
//
// Rules are found by code, in what people typed and nowhere else: what a system prompt,
// a reminder or a project's instruction file demands is the client's to send again, and
// what assistants and tools say binds nobody.
type Constraint struct {
	Message  int             `json:"message"`         // index in the transcript
	Sentence string          `json:"sentence"`        // the whole sentence or list item, verbatim
	Under    string          `json:"under,omitempty"` // the words before it that it needs to be understood, verbatim
	By       transcript.Role `json:"by"`              // who said it
	// WithdrawnBy is the later message that took the rule back, -1 while it is in force.
	WithdrawnBy   int    `json:"withdrawn_by"`
	WithdrawnText string `json:"withdrawn_text,omitempty"` // the sentence that took it back

	sense sense
	topic []string
}

// InForce reports whether nobody took the rule back.
func (c Constraint) InForce() bool { return c.WithdrawnBy < 0 }

// sense is what a sentence does, as far as rules go.
type sense uint8

const (
	noRule   sense = iota
	requires       // something must be so
	forbids        // something must not be
)

// Bounds of what can be a rule: longer "sentences" are pasted output.
const (
	maxRuleBytes  = 800
	maxRuleWords  = 110
	maxTopic      = 32
	maxEdge       = 32 << 10
	ownWordsBytes = 700 // in longer messages the inner paragraphs are often pasted
)

// remark is a sentence and what it lays down.
type remark struct {
	text.Sentence
	words  []clauseWord
	sense  sense
	strong bool
}

// remarks reads the sentences of a typed text. What is too long for a sentence is left
// out, and so is the middle of a text that is too long to have been typed.
func remarks(txt string) []remark {
	list := text.Sentences(edges(txt))
	out := make([]remark, len(list))
	for i, s := range list {
		out[i].Sentence = s
		if len(s.Text) > maxRuleBytes {
			continue
		}
		out[i].words = clauseWords(s.Text)
		if likeProse(s.Text, out[i].words) {
			out[i].sense, out[i].strong = ruleSense(s.Text, out[i].words)
		}
	}
	return out
}

// edges cuts the middle out of a very long text.
func edges(text string) string {
	if len(text) <= 2*maxEdge {
		return text
	}
	head := text[:strings.LastIndexByte(text[:maxEdge], '\n')+1]
	tail := text[len(text)-maxEdge:]
	return head + "\n\n" + tail[strings.IndexByte(tail, '\n')+1:]
}

// findRules returns the rules in a typed text, in order. In long messages, what is
// between the first and the last paragraph is often somebody else's report; there only
// outright commands count.
func findRules(text string, list []remark) []Constraint {
	var found []Constraint
	for i, r := range list {
		inner := r.Para > list[0].Para && r.Para < list[len(list)-1].Para
		pasted := len(text) > ownWordsBytes && inner || len(text) > 3*ownWordsBytes && r.Item
		if r.sense == noRule || pasted && !r.strong {
			continue
		}
		found = append(found, Constraint{
			Sentence:    r.Text,
			Under:       under(list, i),
			By:          transcript.RoleUser,
			WithdrawnBy: -1,
			sense:       r.sense,
			topic:       topicWords(r.words),
		})
	}
	return found
}

// under finds what a sentence needs to be understood: the line that introduces its list,
// or the sentence before one that begins with "this".
func under(list []remark, i int) string {
	words := list[i].words
	switch {
	case list[i].Lead >= 0 && len(list[list[i].Lead].Text) <= maxRuleBytes:
		return list[list[i].Lead].Text
	case i > 0 && len(words) > 0 && backward[words[0].text] && len(list[i-1].Text) <= maxRuleBytes:
		return list[i-1].Text
	}
	return ""
}

var backward = text.WordSet("this that these those it they such so")

// likeProse reports whether a sentence was written, not printed by a program.
func likeProse(txt string, words []clauseWord) bool {
	if len(words) > maxRuleWords || len(words) < 2 && isASCII(txt) {
		return false
	}
	letters := 0
	for i := range len(txt) {
		if c := txt[i]; text.IsLetterByte(c) || c == ' ' || c >= 0x80 {
			letters++
		}
	}
	return letters*10 >= len(txt)*7 && strings.Count(txt, "\n") < 6 && !hasPosition(txt)
}

// hasPosition reports whether a text names a place the way compilers and test runners do:
// file.go:12:
func hasPosition(txt string) bool {
	for i := 1; i+2 < len(txt); i++ {
		if txt[i] != ':' || !text.IsLetterByte(txt[i-1]) {
			continue
		}
		if j := text.DigitsEnd(txt, i+1); j > i+1 && j < len(txt) && txt[j] == ':' {
			return true
		}
	}
	return false
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// clauseWord is a word of a sentence in lower case.
type clauseWord struct {
	text  string
	start bool // a clause begins here, so a verb is an order
	quote bool // inside quotation marks or code: somebody else's words
}

// clauseWords splits a sentence and finds its clauses and quotations.
func clauseWords(s string) []clauseWord {
	var words []clauseWord
	start, at, quoteEnd := true, 0, 0
	for _, w := range text.Words(s) {
		for ; at < w.Start; at++ {
			c := s[at]
			if (c == '"' || c == '`') && at >= quoteEnd {
				if n := strings.IndexByte(s[at+1:], c); n > 0 {
					quoteEnd = at + 1 + n + 1
				}
			}
			start = start || strings.IndexByte(",;:()\n", c) >= 0 || strings.HasPrefix(s[at:], "- ")
		}
		words = append(words, clauseWord{w.Text, start, w.Start < quoteEnd})
		start = openers[w.Text] && (start || joins[w.Text]) // "and don't", "please don't"
		at = w.End
	}
	return words
}

// openers are words after which a clause still begins; joins begin one anywhere.
var (
	openers = text.WordSet("and but so also please then just or plus ok okay yes no actually btw again now instead sorry wait hmm oh ah nope yeah well otherwise")
	joins   = text.WordSet("and but so please then or also")
)

// Topic words: what a sentence is about. Rules and their reversals meet in them.
var stopWords = text.WordSet(`a about above actually after anything everything something again all also always am an and any anymore are as at avoid be because
	been before being both but by can can't cannot could did do does doesn't doing don't dont down each either else ever every
	feel few fine for free from further going good had has have having he her here him his how i i'd i'll i'm i've if in
	instead into is isn't it it's its just keep let let's like made make may maybe me mind might more most must mustn't my need
	needed never no nope nor not now of off ok okay on once only or other our out over own please rather really remember
	said same shall she should shouldn't so some still stop such sure than that that's the their them then there these they
	thing think this those to too under until up use used using very want was we we'd we're were what when where which while
	who whom why will with without won't would yes yet you you'd you're your allowed ahead second thought longer matter said`)

// topicWords are the content words of a sentence, stems of letters and digits, sorted by
// first occurrence, none twice. Paths and compound names also give their parts.
func topicWords(words []clauseWord) []string {
	var topic []string
	for _, w := range words {
		if stopWords[w.text] {
			continue
		}
		if len(topic) >= maxTopic {
			break
		}
		for t := range text.Stems(w.text) {
			if len(t) >= 2 && !stopWords[t] && !slices.Contains(topic, t) {
				topic = append(topic, t)
			}
		}
	}
	return topic
}

// shared counts the words that both topics have.
func shared(a, b []string) int {
	n := 0
	for _, x := range a {
		if slices.Contains(b, x) {
			n++
		}
	}
	return n
}
