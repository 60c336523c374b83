package userwords

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// TypedText returns the words of a person in a message, without what programs put beside
// them; ok is false where there are none.
//
// Where the source knew the origin, that decides: summaries hold no person's words, and
// injected text only the arguments of a command that was typed. Otherwise the text is
// judged. Agents mark what they inject by elements on lines of their own
// (<system-reminder>, <environment_context>, <local-command-stdout> and the like) or by
// well-known first words; TypedText removes these. What is in an element may hold such tags
// too, so a block's words are those before its first element and after the last closing tag.
// Some elements wrap what was typed: the arguments of a slash command, an editor's
// <user_query>, a message sent while the agent was working. Of those the inside is kept.
// What is left is verbatim, its pieces separated by a blank line.
//
// Only user messages speak for people, and the one kind of system message with which a
// client passes on what was typed meanwhile. Tool results never do.
func TypedText(m transcript.Message) (words string, ok bool) {
	pieces := slices.DeleteFunc(TypedBlocks(m), func(s string) bool { return s == "" })
	return strings.Join(pieces, "\n\n"), len(pieces) > 0
}

// TypedBlocks returns what [TypedText] finds in each block of a message, nil if nothing.
func TypedBlocks(m transcript.Message) []string {
	role, origin := m.Role(), m.Origin()
	if origin == transcript.OriginSummary || role == transcript.RoleAssistant || role == transcript.RoleTool {
		return nil
	}
	texts := make([]string, m.Blocks().Len())
	for i, b := range m.Blocks().All() {
		if t, isText := b.(transcript.Text); isText {
			texts[i] = strings.TrimSpace(t.Text.String())
		}
	}
	switch {
	case origin == transcript.OriginInjected:
		for i, text := range texts {
			texts[i] = ""
			if role == transcript.RoleUser && i == 0 {
				texts[i] = commandArgs(text)
			}
		}
	case role != transcript.RoleUser:
		for i, text := range texts {
			texts[i], _ = passedOn(text)
		}
	default:
		typedBlocks(texts, origin == transcript.OriginTyped)
	}
	return texts
}

// typedBlocks leaves of each block's text what was typed. Well-known first words are not
// looked for where the source knows that a person typed the text.
func typedBlocks(texts []string, typed bool) {
	withoutFiles(texts)
	output := false // the next text is what a tool gave the client
	for i, text := range texts {
		if text == "" {
			continue
		}
		texts[i] = ""
		switch {
		case output:
			output = false
			continue
		case !typed && startsInjected(text) || imageMark(text):
			output = strings.HasPrefix(text, calledRead)
			continue
		}
		if words, ok := wholeWords(text); ok {
			clear(texts[:i])
			texts[i] = words
			continue
		}
		texts[i] = typedIn(text, typed)
	}
}

// typedIn returns what was typed in a block.
func typedIn(text string, typed bool) string {
	if words, ok := passedOn(text); ok {
		return words
	}
	text = typedRequest(withoutTime(text))
	from, to := injectedSpan(text, typed)
	rest := strings.TrimSpace(text[to:])
	if to > 0 && strings.HasPrefix(rest, outputNotice) {
		rest = ""
	}
	pieces := []string{unwrapped(text[:from]), wordsInside(text[from:to]), unwrapped(rest)}
	return strings.Join(slices.DeleteFunc(pieces, func(s string) bool { return s == "" }), "\n\n")
}

// injectedStarts are the first words of text that clients inject without a tag.
var injectedStarts = []string{
	"# AGENTS.md instructions",
	"# Conversation\n[User]:",
	"Another language model started to solve this problem",
	"Base directory for this skill:",
	"CRITICAL: Respond with TEXT ONLY",
	calledRead,
	"Caveat: The messages below were generated",
	"Continue if you have next steps",
	"First, reason in your <analysis> block.",
	"Generate a title for this conversation",
	"Here is the conversation so far:",
	"Operation stopped by hook:",
	"Output token limit hit. Resume directly",
	"Stop hook feedback:",
	"System: Please continue",
	"The conversation history before this point was compacted",
	"The following is a summary of",
	"This is the Gemini CLI. We are setting up the context",
	"This session is being continued from a previous conversation",
	"Tool loaded.",
	"You are performing a CONTEXT CHECKPOINT COMPACTION",
	"You are the component that summarizes",
	"[Image: source:",
	"[Image: original",
	"[Request interrupted by user",
}

// continued is a client's whole message; people begin theirs with it.
const continued = "Continue from where you left off."

// imageMark reports whether a block is what a client puts before or behind an image.
func imageMark(txt string) bool {
	return text.HasAnyPrefix(txt, "<image>", "<image ", "</image>") && strings.IndexByte(txt, '>') == len(txt)-1
}

// calledRead announces a file that a client attached because the person named it; its
// content is the next block.
const calledRead = "Called the Read tool with the following input"

func startsInjected(txt string) bool {
	line, _, _ := strings.Cut(txt, "\n")
	return text.HasAnyPrefix(txt, injectedStarts...) || txt == continued ||
		// An attached file without its announcement.
		strings.HasPrefix(txt, "<path>") && strings.Contains(txt[:min(len(txt), 500)], "</path>\n<type>file</type>") ||
		// A skill that a command loaded.
		strings.HasPrefix(line, "Invoke the ") && strings.Contains(line, " skill and follow it exactly") ||
		// A shell command that a person ran beside the conversation, with its output.
		strings.HasPrefix(line, "Ran `") && strings.HasSuffix(line, "`") && strings.HasSuffix(txt, "```")
}

// passedOn returns what a person typed while the agent was working, from the notice with
// which a client hands it to the model.
func passedOn(text string) (string, bool) {
	rest, ok := "", false
	for _, s := range [...]string{
		"The user sent the following message:",
		"The user sent a new message while you were working:",
		"The user sent a new message while you were working. Address it and continue.",
	} {
		if rest, ok = strings.CutPrefix(text, s); ok {
			break
		}
	}
	if !ok {
		return "", false
	}
	for _, s := range [...]string{
		"\n\nPlease address this message and continue",
		"\n\nIMPORTANT: After completing your current task",
		"\n\nThis is how Claude Code surfaces",
	} {
		if i := strings.LastIndex(rest, s); i >= 0 {
			rest = rest[:i]
		}
	}
	return strings.TrimSpace(rest), true
}

// withoutFiles removes the files that a client appended because the person named them. Its
// marks may stand in blocks of their own. A file can hold the end mark too: all up to the
// last one is files.
func withoutFiles(texts []string) {
	const from, to = "--- Content from referenced files ---", "--- End of content ---"
	for i, text := range texts {
		at := strings.Index(text, from)
		if at < 0 || !ownLine(text[:at]) {
			continue
		}
		last := len(texts) - 1
		for last > i && !strings.Contains(texts[last], to) {
			last--
		}
		rest := ""
		if end := strings.LastIndex(texts[last], to); end >= 0 && (last > i || end > at) {
			rest = strings.TrimSpace(texts[last][end+len(to):])
		} else {
			last = len(texts) - 1
		}
		clear(texts[i : last+1])
		texts[last] = rest
		texts[i] = strings.TrimSpace(text[:at] + texts[i])
		return
	}
}

// typedRequest returns what was asked for, where a client puts lists of files, the editor's
// state or a standing instruction of its own before it. What an editor shows may hold the
// mark too: there the last one counts.
func typedRequest(text string) string {
	for _, s := range [...]struct {
		start, mark string
		find        func(text, mark string) int
	}{
		{"# Files mentioned by the user:", "\n## My request for Codex:", strings.LastIndex},
		{"# Context from my IDE setup:", "\n## My request for Codex:", strings.LastIndex},
		{"[[PLAN]] I want to create an implementation plan.", "\nMy request:", strings.Index},
	} {
		// The notice may follow a one-line element such as the time.
		at := strings.Index(text[:min(len(text), 400)], s.start)
		if at < 0 || at > 0 && text[at-1] != '\n' {
			continue
		}
		if i := s.find(text[at:], s.mark); i >= 0 {
			return strings.TrimSpace(text[at+i+len(s.mark):])
		}
	}
	return text
}
