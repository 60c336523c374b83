package userwords

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// Bounds of what is kept of a question.
const (
	maxShortWords    = 12
	maxOptionBytes   = 400
	maxQuestionBytes = 700
)

// questionFor finds what an answer answers in what the assistant said last. An answer is
// short when it means little by itself; a longer one gets only the options it names.
func questionFor(answer, asked, offered string) (short bool, question string) {
	words := answerWords(answer[:min(len(answer), 400)])
	if len(words) == 0 {
		return false, ""
	}
	refs := optionRefs(answer, words)
	few := len(words) <= maxShortWords && len(answer) <= 120 && !strings.Contains(answer, "\n\n")
	query := strings.HasSuffix(answer, "?") && !approves[words[0].text]
	short = few && !query && !repeatsOption(answer, words) && (len(refs) > 0 || replies[words[0].text] || len(words) <= 3 && asksSomething(asked))
	if !short && len(refs) == 0 {
		return short, ""
	}
	var parts []string
	for _, ref := range refs {
		line := optionLine(asked, ref)
		if line == "" {
			line = optionLine(offered, ref)
		}
		if line != "" && agrees(answer, words, line) {
			parts = append(parts, line)
		}
	}
	if short {
		if q := lastQuestion(asked); q != "" {
			// What the question repeats is not said twice, nor the other way round.
			parts = slices.DeleteFunc(parts, func(p string) bool { return strings.Contains(q, p) })
			if !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(p, q) }) {
				parts = append(parts, q)
			}
		}
	}
	return short, strings.Join(parts, "\n")
}

// asksSomething reports whether a text has a question mark near its end.
func asksSomething(text string) bool {
	return strings.IndexByte(text[max(len(text)-maxQuestionBytes, 0):], '?') >= 0
}

// agrees guards against another list with the same numbers: an answer that repeats an
// option's words must have some of them in common with it.
func agrees(answer string, words []answerWord, line string) bool {
	return !repeatsOption(answer, words) || sharedWords(words, answerWords(line)) > 2
}

// repeatsOption reports whether an answer begins with an item of a numbered list, copied
// or written by the person: it says by itself what it means.
func repeatsOption(answer string, words []answerWord) bool {
	return text.ListMark(answer) > 0 && '0' <= answer[0] && answer[0] <= '9' && len(words) >= 5
}

// offersOptions reports whether a text has a list with numbers or letters to choose from.
func offersOptions(text string) bool {
	return optionLine(text, "1") != "" && optionLine(text, "2") != "" || optionLine(text, "a") != "" && optionLine(text, "b") != ""
}

var approves = text.WordSet("yes yeah yep ok okay sure no nope na nah")

// replies are the words that short answers begin with.
var replies = text.WordSet(`yes yeah yep yup ya sure ok okay k no nope na nah correct right exactly agreed good great fine perfect cool
	go do let's please both all neither none either continue proceed first second third last that this option sounds approved
	lgtm skip same them it 好 是 可以 sí oui ja nein non não sim はい`)

// optionRefs finds the options that an answer names: "b", "2", "1+2", "option 3", "on 4",
// "B) …", "#2".
func optionRefs(answer string, words []answerWord) []string {
	var refs []string
	add := func(ref string) {
		if len(refs) < 8 && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	if n := text.ListMark(answer); n > 1 && answer[0] != '#' && answer[0] != '-' && answer[0] != '*' && answer[0] != '+' {
		add(strings.ToLower(strings.Trim(answer[:n], "(). \t")))
	}
	short := len(words) <= maxShortWords
	for i, w := range words {
		prev := wordAt(words, i-1)
		named := namesOption[prev]
		switch {
		case len(w.text) == 1 && text.IsLetterByte(w.text[0]) && w.text != "i":
			if optionNoun[prev] || len(words) <= 3 && (i == 0 || prev == "and" || prev == "or" || prev == "do") {
				add(w.text)
			}
		case text.IsDigits(w.text) && len(w.text) <= 2 && w.text != "0":
			if short && (named || endsRef(words, i+1)) || optionNoun[prev] && i < 12 || i == 1 && prev == "on" {
				add(w.text)
			}
		}
	}
	return refs
}

// endsRef reports whether what comes after a number leaves it a reference: "do 2 next",
// "1+2", "2 and 3", but not "2 tests".
func endsRef(words []answerWord, i int) bool {
	return i >= len(words) || words[i].start || text.IsDigits(words[i].text) || afterRef[words[i].text]
}

var afterRef = text.WordSet("and or next then first please too now sounds is looks")

var optionNoun = text.WordSet("option options choice variant approach")

var namesOption = text.WordSet("option options number choice variant approach on do and point item just with #")

// optionLine finds the last line of a text that offers the option, with the lines that
// belong to it.
func optionLine(txt, ref string) string {
	found, end := -1, 0
	for at := 0; at < len(txt); {
		next := text.LineEnd(txt, at)
		if offers(txt[at:next], ref) {
			found, end = at, next
		}
		at = next
	}
	if found < 0 {
		return ""
	}
	for end < len(txt) && end-found < maxOptionBytes { // continuation lines
		next := text.LineEnd(txt, end)
		line := txt[end:next]
		if trimmed := strings.TrimSpace(line); trimmed == "" || line[0] != ' ' && line[0] != '\t' || text.ListMark(trimmed) > 1 && trimmed[0] != '-' {
			break
		}
		end = next
	}
	return text.ClipQuestion(strings.TrimSpace(txt[found:end]), maxOptionBytes)
}

// offers reports whether a line begins with an option's label, after whatever Markdown
// puts before it: "2. …", "**B)** …", "### Option 2: …", "| 2 | …".
func offers(line, ref string) bool {
	line = strings.TrimLeft(line, " \t#*->|_([`")
	if len(line) > 7 && strings.EqualFold(line[:7], "option ") {
		line = strings.TrimLeft(line[7:], "*`")
	}
	if len(line) <= len(ref) || !strings.EqualFold(line[:len(ref)], ref) {
		return false
	}
	rest := line[len(ref):]
	return strings.IndexByte(".):]*`", rest[0]) >= 0 || strings.HasPrefix(rest, " |") || strings.HasPrefix(rest, " -") || strings.HasPrefix(rest, " —")
}

// lastQuestion returns the paragraph of the last question in a text, or its last
// paragraph; a short one with the paragraph before it.
func lastQuestion(txt string) string {
	end := strings.LastIndexByte(txt, '?') + 1
	if end == 0 || len(txt)-end > 2*maxQuestionBytes {
		end = len(txt)
	} else {
		end += len(txt[end:]) - len(strings.TrimLeft(txt[end:], "*_\"')`"))
	}
	start := paragraphStart(txt, end)
	if end-start < 100 && start > 0 {
		before := paragraphStart(txt, start)
		if p := txt[before:start]; !strings.Contains(p, "```") && !strings.HasPrefix(p, "---") {
			start = before
		}
	}
	// What is too long loses its beginning, at a sentence or line.
	for end-start > maxQuestionBytes {
		n := text.SentenceEnd(txt[start:text.LineEnd(txt[:end], start)])
		if n <= 0 || start+n >= end {
			break
		}
		start += n
	}
	return text.ClipQuestion(strings.TrimSpace(txt[start:end]), maxQuestionBytes)
}

func paragraphStart(text string, end int) int {
	trimmed := strings.TrimRight(text[:end], " \t\r\n")
	if i := strings.LastIndex(trimmed, "\n\n"); i >= 0 {
		return i + 2
	}
	return 0
}

// answerWord is a word of an answer in lower case.
type answerWord struct {
	text  string
	start bool // a mark stands before it: it begins something else
}

func answerWords(s string) []answerWord {
	var words []answerWord
	at := 0
	for _, w := range text.Words(s) {
		words = append(words, answerWord{w.Text, at == 0 || strings.ContainsAny(s[at:w.Start], ",;:()\n")})
		at = w.End
	}
	return words
}

// wordAt returns the word at i; "": there is none.
func wordAt(words []answerWord, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return words[i].text
}

// sharedWords counts the words of more than three letters that b has too.
func sharedWords(a, b []answerWord) int {
	n := 0
	for i, w := range a {
		same := func(o answerWord) bool { return o.text == w.text }
		if len(w.text) > 3 && slices.ContainsFunc(b, same) && !slices.ContainsFunc(a[:i], same) {
			n++
		}
	}
	return n
}
