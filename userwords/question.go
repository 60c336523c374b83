package userwords

import (
	"cmp"
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
func questionFor(answer, asked, offered string) string {
	if strings.HasPrefix(answer, "!") {
		return "" // it is for the shell
	}
	words := text.Words(answer[:min(len(answer), 400)])
	short := len(words) <= maxShortWords && len(answer) <= 120 &&
		!strings.Contains(answer, "\n\n") && !strings.HasSuffix(answer, "?")
	refs := optionRefs(answer, words, short)
	asks := strings.IndexByte(asked[max(len(asked)-maxQuestionBytes, 0):], '?') >= 0
	if len(refs) == 0 && (len(words) == 0 || len(words) > 2 && !asks) {
		short = false
	}
	var parts []string
	for _, ref := range refs {
		if line := cmp.Or(optionLine(asked, ref), optionLine(offered, ref)); line != "" {
			parts = append(parts, line)
		}
	}
	if q := lastQuestion(asked); short && q != "" {
		// What the question repeats is not said twice, nor the other way round.
		parts = slices.DeleteFunc(parts, func(p string) bool { return strings.Contains(q, p) })
		if !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(p, q) }) {
			parts = append(parts, q)
		}
	}
	for i := len(parts) - 1; i > 0; i-- {
		if !strings.Contains(asked, parts[i-1]+"\n"+parts[i]) {
			parts[i] = leftOut + parts[i]
		}
	}
	if len(parts) > 0 && len(refs) > 0 && refs[0] != "1" && refs[0] != "a" && offers(parts[0], refs[0]) {
		parts[0] = leftOut + parts[0]
	}
	return strings.Join(parts, "\n")
}

// leftOut marks words that do not follow what is shown before them.
const leftOut = "… "

// offersOptions reports whether a text has a list with numbers or letters to choose from.
func offersOptions(text string) bool {
	has := func(ref string) bool { return optionLine(text, ref) != "" }
	return has("1") && has("2") || has("a") && has("b")
}

// optionRefs finds the options that an answer names: "b", "2", "1+2", "option 3", "do 4 next",
// "B) …", "#2". A number with a noun behind it, as in "2 tests", is none. A long answer has to
// say that it means an option.
func optionRefs(answer string, words []text.Word, short bool) []string {
	var refs []string
	for i, w := range words {
		number := text.IsDigits(w.Text) && len(w.Text) <= 2 && w.Text != "0"
		letter := len(w.Text) == 1 && text.IsLetterByte(w.Text[0]) && w.Text != "i"
		named := i > 0 && (words[i-1].Text == "option" || i == 1 && words[0].Text == "on" && number)
		alone := short && (number || len(words) <= 3) && (i+1 == len(words) || i == 0 && text.ListMark(answer) > 1)
		if short && number && !alone && i+1 < len(words) {
			next := words[i+1]
			alone = text.IsDigits(next.Text) || afterRef[next.Text] ||
				strings.ContainsAny(answer[w.End:next.Start], ",;:()\n")
		}
		if (number || letter) && (named || alone) && !slices.Contains(refs, w.Text) {
			refs = append(refs, w.Text)
		}
	}
	return refs
}

var afterRef = text.WordSet("and or next then first please too now sounds is looks")

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
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || line[0] != ' ' && line[0] != '\t' || text.ListMark(trimmed) > 1 && trimmed[0] != '-' {
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
	return strings.IndexByte(".):]*`", rest[0]) >= 0 || text.HasAnyPrefix(rest, " |", " -", " —")
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
	whole := start
	for end-start > maxQuestionBytes {
		n := text.SentenceEnd(txt[start:text.LineEnd(txt[:end], start)])
		if n <= 0 || start+n >= end {
			break
		}
		start += n
	}
	q := text.ClipQuestion(strings.TrimSpace(txt[start:end]), maxQuestionBytes)
	if start > whole {
		q = leftOut + q
	}
	return q
}

func paragraphStart(text string, end int) int {
	trimmed := strings.TrimRight(text[:end], " \t\r\n")
	if i := strings.LastIndex(trimmed, "\n\n"); i >= 0 {
		return i + 2
	}
	return 0
}

// Bounds of a question where room is short.
const (
	fullQuestions    = 6_000 // room for words from which on questions are shown as they are
	questionLine     = 140
	shortQuestionMax = 420
)

// shortQuestion clips a question to what an answer needs: the options that it names, which
// come first, and the question itself, which comes last.
func shortQuestion(q string) string {
	if len(q) <= questionLine {
		return q
	}
	var lines []string
	for line := range strings.Lines(q) {
		if line = strings.TrimSpace(line); strings.Trim(line, "-|: ") != "" {
			lines = append(lines, line)
		}
	}
	size := 0
	for i, line := range lines {
		if len(line) > questionLine && i == len(lines)-1 && line[len(line)-1] == '?' {
			from := text.BetweenWords(line, len(line)-questionLine, +1)
			lines[i] = "…" + strings.TrimSpace(line[from:])
		} else {
			lines[i] = text.ClipAround(line, 0, questionLine)
		}
		size += len(lines[i])
	}
	for size > shortQuestionMax && len(lines) > 2 {
		n := len(lines) - 2
		size -= len(lines[n])
		lines = append(lines[:n], leftOut+strings.TrimPrefix(lines[n+1], leftOut))
	}
	return strings.Join(lines, "\n")
}
