package userwords

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// ruleSense says whether a sentence lays down a rule, which way, and whether it is an
// outright command. The words alone do not decide: "don't commit" is an order, "I don't
// know" and "it doesn't work" are not. So each cue word is judged by its position:
// at the beginning of a clause, after a subject, before a verb.
func ruleSense(text string, words []clauseWord) (s sense, strong bool) {
	question := strings.HasSuffix(strings.TrimRight(text, " \"')*_"), "?")
	if question && !requests(words) {
		return noRule, false
	}
	directs := directive(words)
	for i := range words {
		if words[i].quote {
			continue
		}
		got, hard := cueAt(words, i)
		if got == noRule || question && !hard && !inRequest[words[i].text] || !hard && !directs && descriptive[words[i].text] {
			continue
		}
		// A prohibition decides how the sentence is read, wherever it is.
		if s == noRule || got == forbids && s == requires {
			s = got
		}
		strong = strong || hard
	}
	if s == noRule && !isASCII(text) {
		s = foreignCue(text)
		strong = s != noRule
	}
	return s, strong
}

var (
	asks      = text.WordSet("can could would will please may")
	inRequest = text.WordSet("without only instead keep avoid rather not")
	// descriptive cues are as common in reports as in orders; they count only in a
	// sentence that directs somebody.
	descriptive = text.WordSet("without instead rather keep avoid prefer stick remember whenever leave")

	modal     = text.WordSet("should must shall please you we always")
	wants     = text.WordSet("want need like use support allow ship commit do touch care add expect")
	wontUse   = text.WordSet("use change break add touch remove rely depend assume modify require rename delete")
	asking    = text.WordSet("what how which where why when who whether if i")
	universal = text.WordSet("not never all every each only always no any don't doesn't isn't aren't")
	guessing  = text.WordSet("have mean work")
	hopes     = text.WordSet("better fine ok okay good correct enough able possible there done easy working")
	orders    = text.WordSet("use write run put name add call prefix commit test document make change do show store move replace switch go create set fix implement update")
	demands   = text.WordSet("should must let's lets want please need i'd don't dont")
)

// directive reports whether a sentence asks for something: by its first word, by "should"
// and the like, or by an order at the beginning of a clause. What a reviewer asks to
// consider is not yet the user's will.
func directive(words []clauseWord) bool {
	if requests(words) {
		return true
	}
	for i, w := range words {
		switch {
		case i == 0 && w.text == "to", w.start && w.text == "consider":
			return false
		case demands[w.text],
			w.start && orders[w.text],
			w.start && descriptive[w.text] && (i == 0 || !joins[words[i-1].text] && i < 3),
			w.text == "we" && wordAt(words, i+1) == "just",
			w.text == "but" && i > 0 && descriptive[wordAt(words, i+1)]:
			return true
		}
	}
	return false
}

// requests reports whether a sentence begins like "can you" or "could we".
func requests(words []clauseWord) bool {
	return len(words) > 1 && asks[words[0].text] && (words[1].text == "you" || words[1].text == "we")
}

// cueAt judges the cue word at i. Hard means that it is a command beyond doubt.
func cueAt(words []clauseWord, i int) (s sense, hard bool) {
	w := words[i]
	prev, next := wordAt(words, i-1), wordAt(words, i+1)
	switch w.text {
	case "don't", "dont":
		return notDoing(words, i, prev, next)
	case "do":
		if next == "not" {
			return notDoing(words, i, prev, wordAt(words, i+2))
		}
	case "never":
		if w.start || modal[prev] && wordAt(words, i-2) != "not" {
			return forbids, w.start || prev != "we" && prev != "to"
		}
	case "always":
		if w.start || modal[prev] {
			return requires, w.start || prev != "we" && prev != "to"
		}
	case "must", "mustn't":
		if !guessing[next] && !asking[prev] {
			return negated(w.text, next), true
		}
	case "should", "shouldn't", "shall":
		if !guessing[next] && !asking[prev] && !(w.start && isPronoun[next]) && !doubted(words[:i]) && !(next == "be" && hopes[wordAt(words, i+2)]) {
			return negated(w.text, next), false
		}
	case "only":
		if prev != "not" && prev != "the" && (w.start || onlyAfter[prev]) {
			return requires, w.start
		}
	case "stop":
		if w.start && strings.HasSuffix(next, "ing") {
			return forbids, true
		}
	case "avoid", "refrain":
		if w.start || modal[prev] || prev == "to" && wants[wordAt(words, i-2)] {
			return forbids, i == 0 || prev == "please"
		}
	case "prefer", "stick", "remember":
		if w.start || prev == "i" || prev == "i'd" || prev == "we" || modal[prev] {
			return requires, false
		}
	case "keep":
		if w.start || prev == "should" || prev == "must" || prev == "let's" {
			return requires, false
		}
	case "leave":
		if w.start && has(words[i:], "alone", "untouched", "unchanged", "as-is", "out") {
			return forbids, false
		}
	case "no":
		return noThing(words, i, prev, next)
	case "not":
		switch {
		case prev == "let's" && next != "worry":
			return forbids, true
		case prev == "please", w.start && i > 0 && !joins[prev] && !notNot[next]:
			return forbids, false
		case i == 2 && asks[words[0].text] && (wontUse[next] || next == "commit" || next == "push"): // can we not commit …?
			return forbids, false
		}
		if next == "allowed" {
			return forbids, true
		}
	case "can't", "cannot":
		if (prev == "you" || prev == "we") && wontUse[next] {
			return forbids, prev == "you"
		}
	}
	return phraseAt(words, i, prev, next)
}

var notNot = text.WordSet("sure that enough only just because really even yet")

var isPronoun = text.WordSet("i we you it they this that he she")

var onlyAfter = text.WordSet("should must please use do touch change edit modify run allow keep want need")

// phraseAt judges cues that are more than one word, and those that count only outside of
// reports.
func phraseAt(words []clauseWord, i int, prev, next string) (sense, bool) {
	switch words[i].text {
	case "without":
		if next != "" && i > 0 && !has(words[:i], "is", "was", "fails", "failed", "runs") {
			return forbids, false
		}
	case "instead", "whenever":
		return requires, false
	case "rather":
		if next == "than" {
			return requires, false
		}
	case "from":
		if next == "now" && wordAt(words, i+2) == "on" {
			return requires, true
		}
	case "going":
		if next == "forward" {
			return requires, true
		}
	case "time":
		if prev == "every" || prev == "each" {
			return requires, false
		}
	case "purpose", "deliberately", "intentionally":
		if has(words[:i], "we", "i") && (words[i].text != "purpose" || prev == "on") {
			return requires, false
		}
	case "sure", "ensure":
		if (words[i].text == "ensure" && words[i].start || prev == "make" || prev == "be") && anyOf(words[i+1:], universal) {
			return requires, false
		}
	case "ask", "wait", "check":
		if words[i].start && (next == "me" || next == "before" || next == "until" ||
			(next == "for" || next == "with") && wordAt(words, i+2) == "me") {
			return requires, true
		}
	case "all", "every", "each", "any":
		if prev == "for" && orders[words[0].text] {
			return requires, false
		}
	case "niemals", "keinesfalls", "nunca", "jamais":
		return forbids, true
	case "immer", "stattdessen", "siempre", "sempre", "toujours":
		return requires, true
	}
	return noRule, false
}

// notDoing judges "don't" and "do not" by their subject: an order has none, or "you".
func notDoing(words []clauseWord, i int, prev, next string) (sense, bool) {
	switch {
	case words[i].start:
		return forbids, true
	case prev == "you":
		if before := wordAt(words, i-2); asking[before] || before == "that" {
			return noRule, false
		}
		if next == "need" || next == "have" {
			return forbids, false
		}
	case prev == "we" || prev == "i":
		if wants[next] && !asking[wordAt(words, i-2)] && !has(words[:i], "so", "know") {
			return forbids, false
		}
	}
	return noRule, false
}

// noThing judges "no": "no need to …", "no longer", "no mocks", "no force-pushing"; an
// answer ("no, …", "no revert that") is not a rule.
func noThing(words []clauseWord, i int, prev, next string) (sense, bool) {
	switch {
	case next == "need":
		return forbids, false
	case next == "longer":
		if prev == "we" || prev == "should" || prev == "must" {
			return forbids, false
		}
	case words[i].start && i+1 < len(words) && !words[i+1].start && len(next) > 3 &&
		(strings.HasSuffix(next, "ing") || strings.HasSuffix(next, "s") && !strings.HasSuffix(next, "ss")):
		return forbids, false
	}
	return noRule, false
}

func negated(word, next string) sense {
	if strings.HasSuffix(word, "n't") || next == "not" || next == "never" {
		return forbids
	}
	return requires
}

// doubted reports whether an obligation is only wondered about.
func doubted(before []clauseWord) bool {
	for i, w := range before {
		switch w.text {
		case "whether":
			return true
		case "if", "what", "how", "which", "why", "where":
			if i > 0 && wondering[before[i-1].text] {
				return true
			}
		}
	}
	return false
}

var wondering = text.WordSet("check see know sure wondering wonder consider ask unclear tell out explain decide understand")

func wordAt(words []clauseWord, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return words[i].text
}

func has(words []clauseWord, any ...string) bool {
	return slices.ContainsFunc(words, func(w clauseWord) bool { return slices.Contains(any, w.text) })
}

func anyOf(words []clauseWord, set map[string]bool) bool {
	return slices.ContainsFunc(words, func(w clauseWord) bool { return set[w.text] })
}

// foreignCue looks for the plainest orders of some other languages.
func foreignCue(txt string) sense {
	low := strings.ToLower(txt)
	switch {
	case text.ContainsAny(low, "不要", "不能", "不得", "不可", "禁止", "别再", "しないで", "使わないで", "するな", "하지 마",
		"não use", "não faça", "não altere", "não mexa", "não adicione", "não crie", "ne touche pas", "n’utilise pas", "n'utilise pas", "né pas"):
		return forbids
	case text.ContainsAny(low, "必须", "务必", "只能", "始终", "总是", "从现在开始", "必ず", "今後は", "常に", "항상", "반드시",
		"a partir de agora", "désormais", "ab jetzt", "ab sofort"):
		return requires
	}
	return noRule
}
