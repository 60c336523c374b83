package userwords

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// Reversals. The later word wins: a rule that a later sentence takes back is marked with
// it, and a request that was undone is marked too. Nothing is dropped.
//
// Losing a rule that holds does more harm than showing two that disagree, so a rule is
// withdrawn only where the later sentence
//
//   - permits ("you can touch legacy/ now", "it's fine to …") what the rule forbids,
//   - lifts it ("forget what I said about …", "we no longer …", "never mind the …"),
//   - says the opposite of the very same thing ("always use mocks" after "don't use mocks"),
//   - replaces it by name ("spaces instead of tabs") or by value ("actually, port 9090"
//     after "use port 8080"),
//
// and speaks of the same matter: of a name in the rule or of at least half of what the rule
// is about, and of no other action. In all other cases both stay in force, oldest first.

// reversal is what a sentence may take back, worked out once.
type reversal struct {
	permits, lifts, corrects bool
	sense                    sense
	topic                    []string
	dropped                  []string // topic of what comes after "instead of"
}

func readReversal(s remark) reversal {
	words := s.words
	r := reversal{sense: s.sense, topic: topicWords(words)}
	question := strings.HasSuffix(s.Text, "?")
	for i, w := range words {
		prev, next := wordAt(words, i-1), wordAt(words, i+1)
		switch w.text {
		case "can", "may":
			r.permits = r.permits || prev == "you" && words[i-1].start && !question && next != "not"
		case "free":
			r.permits = r.permits || prev == "feel"
		case "ok", "okay", "fine", "allowed", "alright":
			r.permits = r.permits || next == "to" && prev != "not"
		case "longer":
			r.lifts = r.lifts || prev == "no"
		case "anymore":
			r.lifts = true
		case "forget", "ignore", "disregard", "drop", "lift", "scratch", "nevermind":
			r.lifts = r.lifts || w.start && (w.text == "nevermind" || has(words[i+1:], "said", "about", "rule", "rules", "instruction", "instructions", "constraint", "restriction", "earlier"))
		case "mind":
			r.lifts = r.lifts || prev == "never" || prev == "my" && has(words[:i], "changed")
		case "actually", "correction", "sorry", "wait", "no":
			r.corrects = r.corrects || i == 0
		case "instead", "than":
			if w.text == "instead" && next != "of" {
				r.corrects = true
			} else if w.text == "instead" || prev == "rather" {
				r.dropped = topicWords(clauseRest(words, i+1))
			}
		}
	}
	return r
}

// clauseRest is what comes after i up to the end of the clause.
func clauseRest(words []clauseWord, i int) []clauseWord {
	if i >= len(words) {
		return nil
	}
	end := i + 1
	for end < len(words) && !words[end].start {
		end++
	}
	return words[i:end]
}

// withdraws reports whether the sentence takes rule c back.
func (r reversal) withdraws(c *Constraint) bool {
	common := shared(c.topic, r.topic)
	switch {
	case common == 0:
		return false
	case r.lifts, r.permits && c.sense == forbids && r.sense != forbids:
		return sameMatter(c.topic, r.topic)
	case r.dropped != nil && c.sense == requires && shared(c.topic, r.dropped) == len(r.dropped):
		return common >= 2 || len(c.topic) <= 4
	case r.corrects && r.sense != forbids && c.sense == requires:
		return valuesDiffer(c.topic, r.topic)
	case r.sense != noRule && c.sense != r.sense:
		return common >= 2 && (common == len(c.topic) || common == len(r.topic)) ||
			common == 1 && len(c.topic) == 1 && len(r.topic) == 1
	}
	return false
}

// sameMatter reports whether a later sentence speaks of what a rule is about: of a name in
// it, or of at least half of the things in it, and of no other action. "You can touch the
// docs" says nothing about "don't touch legacy/", nor does "you can read legacy/".
func sameMatter(rule, later []string) bool {
	deeds, things := splitDeeds(rule)
	laterDeeds, laterThings := splitDeeds(later)
	if len(deeds) > 0 && len(laterDeeds) > 0 && shared(deeds, laterDeeds) == 0 {
		return false
	}
	if len(things) == 0 {
		return len(laterThings) == 0 && shared(deeds, laterDeeds) == len(deeds)
	}
	return shared(things, laterThings)*2 >= len(things) || sharesName(things, laterThings)
}

// splitDeeds takes the verbs of everyday work out of a topic; those that mean any change
// become one.
func splitDeeds(topic []string) (deeds, things []string) {
	for _, t := range topic {
		switch {
		case changing[t]:
			deeds = append(deeds, "change")
		case working[t]:
			deeds = append(deeds, t)
		default:
			things = append(things, t)
		}
	}
	return deeds, things
}

// The verbs, as their stems.
var (
	changing = text.WordSet("touch edit modify chang updat alter")
	working  = text.WordSet("run commit push write add remov delet creat renam mov install merg deploy read open call send fix build releas publish")
)

// sharesName reports whether both topics have a word that names one thing only.
func sharesName(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return hasDigit(x) && slices.Contains(b, x) })
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// valuesDiffer reports whether two topics are the same but for numbers in them.
func valuesDiffer(a, b []string) bool {
	rest := func(a, b []string) (differ, ok bool) {
		for _, x := range a {
			if slices.Contains(b, x) {
				continue
			}
			if !hasDigit(x) {
				return false, false
			}
			differ = true
		}
		return differ, true
	}
	da, oka := rest(a, b)
	db, okb := rest(b, a)
	return oka && okb && da && db
}

// reverse looks through a newly typed message for what it takes back. It compares with
// at most the newest maxCompared rules and messages.
func (w *Words) reverse(at int, list []remark) {
	w.undo(at, list)
	rules := w.rules[max(len(w.rules)-maxCompared, 0):]
	if len(rules) == 0 {
		return
	}
	for _, s := range list {
		if len(s.words) > maxRuleWords {
			continue
		}
		r := readReversal(s)
		for i := range rules {
			if c := &rules[i]; c.InForce() && r.withdraws(c) {
				c.WithdrawnBy, c.WithdrawnText = at, s.Text
			}
		}
	}
}

const maxCompared = 256

var (
	undoing   = text.WordSet("revert undo remove drop delete rollback ignore forget scratch cancel discard nevermind")
	outright  = text.WordSet("revert undo rollback ignore forget scratch cancel nevermind")
	pointing  = text.WordSet("this that those these it them everything changes change last")
	additions = text.WordSet("add adding include including create write implement introduce put insert make")
)

// undo finds "no revert those changes", "remove this again", "never mind": words that
// take back what was asked for, not a rule. They point at the request before them, or
// name what was asked to be added.
func (w *Words) undo(at int, list []remark) {
	if len(list) == 0 || len(w.said) == 0 {
		return
	}
	words := list[0].words
	for i, word := range words[:min(len(words), 12)] {
		never := word.text == "mind" && wordAt(words, i-1) == "never" && i < 3
		if word.text == "roll" && wordAt(words, i+1) == "back" {
			word.text = "rollback"
		}
		if !never && (!undoing[word.text] || !word.start && !requestVerb(words, i)) {
			continue
		}
		again := has(words, "again")
		points := never || alone(words, i) || word.text == "nevermind" || anyOf(words[i+1:min(i+4, len(words))], pointing)
		switch {
		case points && (never || outright[word.text] || again):
			w.revise(len(w.said)-1, at, never || word.text == "ignore" || word.text == "forget" || word.text == "scratch" || word.text == "nevermind", list[0].Text)
		case again:
			w.revise(w.added(topicWords(words[i+1:])), at, false, list[0].Text)
		}
		return
	}
}

// alone reports whether the verb at i has no object: "nah, let's roll back, …".
func alone(words []clauseWord, i int) bool {
	if wordAt(words, i+1) == "back" {
		i++
	}
	return i+1 == len(words) || words[i+1].start
}

// requestVerb reports whether the verb at i is what is asked for: "can you remove".
func requestVerb(words []clauseWord, i int) bool {
	return i > 0 && i < 4 && has(words[i-1:i], "you", "we", "let's")
}

// added finds the newest message that asked to add what the topic names, -1 if none.
func (w *Words) added(topic []string) int {
	for i := len(w.said) - 1; i >= max(len(w.said)-20, 0); i-- {
		if len(w.said[i].Text) > 4*maxRuleBytes {
			continue
		}
		words := clauseWords(w.said[i].Text)
		if anyOf(words, additions) && shared(topic, topicWords(words)) > 0 {
			return i
		}
	}
	return -1
}

// revise marks what was said as taken back by a later message, with its rules if the
// later word speaks of the words and not of the work.
func (w *Words) revise(i, by int, rules bool, text string) {
	if i < 0 {
		return
	}
	w.said[i].RevisedBy = by
	if !rules {
		return
	}
	for _, c := range w.said[i].Constraints {
		if w.rules[c].InForce() && w.rules[c].Message == w.said[i].Message {
			w.rules[c].WithdrawnBy, w.rules[c].WithdrawnText = by, text
		}
	}
}
