package userwords

import (
	"encoding/json"
	"strings"

	"github.com/pleat-dev/pleat/internal/toolname"
)

// textResult is what a client that writes tools as text puts above a result, in its block or
// in the one before: "[read_file for 'README.md'] Result:". The zero value is none.
type textResult struct {
	tool string
	sure bool // where it ends: a file's name or the result may hold its mark too
}

// textResultOf reads what begins a block as such a line; result is empty if it is the next block.
func textResultOf(txt string) (head textResult, result string) {
	const mark = "] Result:"
	name, ok := strings.CutPrefix(txt, "[")
	_, result, marked := strings.Cut(name, mark)
	name = name[:max(strings.IndexAny(name, " ]"), 0)]
	if !ok || !marked || !strings.Contains(name, "_") || strings.ContainsFunc(name, notInName) {
		return textResult{}, ""
	}
	if strings.HasSuffix(txt, mark) {
		result = ""
	}
	return textResult{tool: name, sure: strings.Count(txt, mark) == 1}, strings.TrimSpace(result)
}

func notInName(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }

// said returns what a person said in a result that is text, and what they or a program wrote there.
func (t textResult) said(result string) (words, doubt string) {
	a, begins := answerIn(t.tool, result)
	if t.sure && begins && asksUser(t.tool) {
		return a.words, a.more
	}
	return "", joined([]string{a.words, a.more})
}

// asksUser reports whether a tool shows the user something and waits for what they say. The
// client alone writes how its result begins.
func asksUser(tool string) bool {
	return toolname.Asks(tool) || tool == "attempt_completion" || tool == "plan_mode_respond"
}

// answer is what stands in a tool's result in a form in which Cline and Roo Code give the model what
// a person typed: an answer, what to do instead of a refused call, or something to mind beside it.
type answer struct {
	words string
	more  string // between two closing tags: one of them was typed, or a program's
}

// answerIn finds the answer in the result of a tool. What a program, a file or another agent gives may
// hold such an element too: there, a sentence about the user has to be above it, or a name that
// says the same. It reports whether the answer begins the result, but for the client's sentence.
func answerIn(tool, result string) (a answer, begins bool) {
	a, behind := answerFirst(tool, result)
	if a.words == "" {
		return answerBehind(result), false
	}
	// They may have allowed the call with words, and said more while it ran.
	if b := answerBehind(behind); !strings.Contains(a.more, b.words) {
		a.more = joined([]string{a.more, b.words, b.more})
	}
	return a, true
}

// answerFirst finds the answer that begins a result, and returns what is behind it.
func answerFirst(tool, result string) (a answer, behind string) {
	if strings.HasPrefix(result, `{"status":`) { // of Roo Code's native results
		var said struct{ Message, Feedback string }
		read := json.NewDecoder(strings.NewReader(result))
		if read.Decode(&said) == nil && strings.HasPrefix(said.Message, "The user ") {
			return answer{words: strings.TrimSpace(said.Feedback)}, result[read.InputOffset():]
		}
	}
	sentence, rest, told := strings.Cut(result, "\n")
	if told = told && strings.HasPrefix(sentence, "The user "); !told {
		rest = result
	}
	for _, tag := range [...]string{"user_message", "feedback", "answer"} {
		if a, behind = answerAt(rest, tag); a.words != "" && (told || tag == "user_message" || asksUser(tool)) {
			return a, behind
		}
	}
	return answer{}, ""
}

// answerBehind finds the last answer behind what a tool gave.
func answerBehind(result string) (a answer) {
	const open = "\n<feedback>"
	for at := strings.LastIndex(result, open); at >= 0; at = strings.LastIndex(result[:at], open) {
		if above := result[strings.LastIndexByte(result[:at], '\n')+1 : at]; strings.Contains(above, "The user ") {
			a, _ = answerAt(result[at+1:], "feedback")
			return a
		}
	}
	if _, rest, ok := strings.Cut(result, "\n<user_message>"); ok && strings.HasSuffix(rest, "</user_message>") {
		a, _ = answerAt("<user_message>"+rest, "user_message")
	}
	return a
}

// answerAt reads the element that begins a text, and returns what is behind it.
func answerAt(text, tag string) (a answer, behind string) {
	shut := "</" + tag + ">"
	words, behind, ok := leading(text, tag)
	if !ok {
		return answer{}, ""
	}
	a.words = strings.TrimSpace(words)
	if strings.Contains(behind, shut) {
		more := reading{}.inDoubt(strings.TrimSpace(behind)) // without files of the user
		a.more = strings.TrimSpace(more[:max(strings.LastIndex(more, shut), 0)])
	}
	return a, behind
}
