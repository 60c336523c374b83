package toolname

import (
	"slices"
	"strings"
)

// refusable are the classes of Claude Code's tools whose errors begin with words of the client: it
// asks a person before they run. Of sub-agents and of tools that servers provide, the program
// behind them writes the error.
var refusable = []Class{Shell, Read, List, Search, Write, Edit, Fetch, Todo, Ask, Skill}

// Refused reports whether the text of a failed call is what a client writes when a person
// refused it, and returns what that person said. Any tool can write such a text: only the client's
// whole sentences at the beginning count. In a session of Claude Code, own says that no program wrote it.
func Refused(tool, text string) (words string, ok, own bool) {
	if words, ok = strings.CutPrefix(text, rejected); ok {
		return strings.TrimSpace(words), true, false
	}
	notice, words, _ := strings.Cut(text, "\n")
	own = slices.ContainsFunc(refusable, func(c Class) bool { return agents[0].has(c, tool) })
	switch {
	case strings.HasPrefix(notice, "The user doesn't want to take this action right now. STOP what you are doing"):
		return "", true, own
	case strings.HasPrefix(notice, "Permission for this tool use was denied. The tool use was rejected") &&
		strings.HasSuffix(notice, ". The user said:"): // to a sub-agent
	case !strings.HasPrefix(notice, "The user doesn't want to proceed with this tool use. The tool use was rejected"):
		return "", false, false
	case !strings.HasSuffix(notice, ". To tell you how to proceed, the user said:"):
		return "", true, own
	}
	if words = withoutNote(words); Of(tool) == Ask {
		words = withoutQuestions(words)
	}
	return strings.TrimSpace(words), true, own
}

// rejected is what opencode writes; its tools have the names of other agents', whose failed commands
// answer with what a program wrote.
const rejected = "The user rejected permission to use this specific tool call with the following feedback: "

// withoutNote cuts off the paragraph that the client appends to what the person said.
func withoutNote(words string) string {
	at := strings.LastIndex(words, "Note: The user's next message may contain a correction or preference. ")
	if at < 0 || at > 0 && !strings.HasSuffix(words[:at], "\n\n") || strings.Contains(words[at:], "\n") {
		return words
	}
	return words[:at]
}

// withoutQuestions returns the answers that were given, each with its question, where the
// client says that a person did not answer all that was asked: the other questions are the
// assistant's words, and the text before them the client's.
func withoutQuestions(words string) string {
	if !strings.HasPrefix(words, "The user wants to clarify these questions.\n    This means they may have ") {
		return words
	}
	_, asked, _ := strings.Cut(words, "\n    Questions asked:\n")
	var answered []string
	for q := range strings.SplitSeq("\n"+asked, "\n- \"") {
		if strings.Contains(q, "\"\n  Answer: ") {
			answered = append(answered, "- \""+strings.TrimSpace(q))
		}
	}
	return strings.Join(answered, "\n")
}
