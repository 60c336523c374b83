package toolname

import "strings"

// refusable are Claude Code's own tools, as it spells them, whose errors begin with words of
// the client: it asks a person before they run. Of sub-agents and of tools that servers
// provide, the program behind them writes the error.
var refusable = func() map[string]bool {
	names := make(map[string]bool)
	for _, class := range [...]Class{Shell, Read, List, Search, Write, Edit, Fetch, Todo, Ask, Skill} {
		for name := range strings.FieldsSeq(agents[0].tools[class]) {
			names[name] = true
		}
	}
	return names
}()

// Refused reports whether the text of a failed call is what a client writes when a person
// refused it, and returns what that person said. Any tool can write such a text: only the
// client's whole sentences at the beginning count, and only for its own tools.
func Refused(tool, text string) (words string, ok bool) {
	notice, words, _ := strings.Cut(text, "\n")
	if !refusable[tool] {
		return "", false
	}
	if strings.HasPrefix(notice, "The user doesn't want to take this action right now. STOP what you are doing") {
		return "", true
	}
	if !strings.HasPrefix(notice, "The user doesn't want to proceed with this tool use. The tool use was rejected") {
		return "", false
	}
	if !strings.HasSuffix(notice, ". To tell you how to proceed, the user said:") {
		words = ""
	}
	return strings.TrimSpace(words), true
}
