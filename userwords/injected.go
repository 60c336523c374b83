package userwords

import (
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
	role := m.Role()
	switch {
	case m.Origin() == transcript.OriginSummary:
		return "", false
	case m.Origin() == transcript.OriginInjected:
		if role == transcript.RoleUser {
			words = commandArgs(strings.TrimSpace(m.Text()))
		}
		return words, words != ""
	case role == transcript.RoleSystem || role == transcript.RoleDeveloper:
		words, _ = passedOn(strings.TrimSpace(m.Text()))
		return words, words != ""
	case role != transcript.RoleUser:
		return "", false
	}
	p := typedPieces{typed: m.Origin() == transcript.OriginTyped}
	var texts []string
	for _, b := range m.Blocks().All() {
		if t, isText := b.(transcript.Text); isText && !t.Text.IsEmpty() {
			texts = append(texts, t.Text.String())
		}
	}
	for _, text := range withoutFiles(texts) {
		p.block(text)
	}
	return strings.Join(p.pieces, "\n\n"), len(p.pieces) > 0
}

// typedPieces gathers what is left of a message.
type typedPieces struct {
	pieces []string
	typed  bool // the source knows that a person typed it
	output bool // the next block is what a tool gave the client
}

func (p *typedPieces) keep(text string) {
	if text = strings.TrimSpace(text); text != "" {
		p.pieces = append(p.pieces, text)
	}
}

// block takes in one text block. Well-known first words are not looked for where the
// source knows that a person typed the text.
func (p *typedPieces) block(text string) {
	text = strings.TrimSpace(text)
	if p.output {
		p.output = false
		return
	}
	if !p.typed && startsInjected(text) || imageMark(text) {
		p.output = strings.HasPrefix(text, calledRead)
		return
	}
	if words, ok := passedOn(text); ok {
		p.keep(words)
		return
	}
	if words, ok := wholeWords(text); ok {
		p.pieces = append(p.pieces[:0], words)
		return
	}
	text = typedRequest(text)
	from, to := injectedSpan(text, p.typed)
	p.keep(unwrapped(text[:from]))
	p.keep(wordsInside(text[from:to]))
	if rest := strings.TrimSpace(text[to:]); to == 0 || !strings.HasPrefix(rest, outputNotice) {
		p.keep(unwrapped(rest))
	}
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
	"Continue from where you left off.",
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

// imageMark reports whether a block is what a client puts before or behind an image.
func imageMark(txt string) bool {
	return text.HasAnyPrefix(txt, "<image>", "<image ", "</image>") && strings.IndexByte(txt, '>') == len(txt)-1
}

// calledRead announces a file that a client attached because the person named it; its
// content is the next block.
const calledRead = "Called the Read tool with the following input"

func startsInjected(txt string) bool {
	line, _, _ := strings.Cut(txt, "\n")
	return text.HasAnyPrefix(txt, injectedStarts...) ||
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
func withoutFiles(texts []string) []string {
	const from, to = "--- Content from referenced files ---", "--- End of content ---"
	for i, text := range texts {
		at := strings.Index(text, from)
		if at < 0 || !ownLine(text[:at]) {
			continue
		}
		left := append(texts[:i:i], text[:at])
		for j := len(texts) - 1; j >= i; j-- {
			if end := strings.LastIndex(texts[j], to); end >= 0 && (j > i || end > at) {
				return append(append(left, texts[j][end+len(to):]), texts[j+1:]...)
			}
		}
		return left
	}
	return texts
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

// WithoutReminder drops the reminder that a client appended to a result for its model.
func WithoutReminder(text string) string {
	const mark, end = "<system-reminder>", "</system-reminder>"
	if !strings.HasSuffix(strings.TrimSpace(text), end) {
		return text
	}
	if i := strings.LastIndex(text, mark); i >= 0 {
		return strings.TrimRight(text[:i], " \r\n")
	}
	return text
}
