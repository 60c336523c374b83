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
// well-known first words; TypedText removes these. Some elements wrap what was typed: the
// arguments of a slash command, an editor's <user_query>, a message sent while the agent
// was working. Of those the inside is kept. What is left is verbatim, its pieces separated
// by a blank line.
//
// Only user messages speak for people, and the one kind of system message with which a
// client passes on what was typed meanwhile. Tool results never do.
func TypedText(m transcript.Message) (words string, ok bool) {
	role := m.Role()
	switch {
	case m.Origin() == transcript.OriginSummary:
		return "", false
	case m.Origin() == transcript.OriginInjected:
		words = typedArgs(m)
		return words, words != ""
	case role == transcript.RoleSystem || role == transcript.RoleDeveloper:
		words, _ = passedOn(strings.TrimSpace(m.Text()))
		return words, words != ""
	case role != transcript.RoleUser:
		return "", false
	}
	p := typedPieces{typed: m.Origin() == transcript.OriginTyped}
	for _, b := range m.Blocks().All() {
		if t, isText := b.(transcript.Text); isText && !t.Text.IsEmpty() {
			p.block(t.Text.String())
		}
	}
	return strings.Join(p.pieces, "\n\n"), len(p.pieces) > 0
}

// typedArgs returns what was typed after a slash command.
func typedArgs(m transcript.Message) string {
	if m.Role() != transcript.RoleUser {
		return ""
	}
	text := strings.TrimSpace(m.Text())
	if !strings.HasPrefix(text, "<command-") {
		return ""
	}
	_, rest, _ := strings.Cut(text, "<command-args>")
	args, _, ok := strings.Cut(rest, "</command-args>")
	if !ok {
		return ""
	}
	return strings.TrimSpace(args)
}

// typedPieces gathers what is left of a message.
type typedPieces struct {
	pieces []string
	closed map[string]bool // no closing tag of this name is left in the block
	wrap   bool            // the block has an element that holds all typed words
	typed  bool            // the source knows that a person typed it
	output bool            // the next block is what a tool gave the client
}

func (p *typedPieces) keep(text string) {
	if text = strings.TrimSpace(text); text != "" && !p.wrap {
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
	if !p.typed && startsInjected(text) {
		p.output = strings.HasPrefix(text, calledRead)
		return
	}
	if words, ok := passedOn(text); ok {
		p.keep(words)
		return
	}
	text = typedRequest(withoutFiles(text))
	p.closed, p.wrap = make(map[string]bool), false
	from := 0 // what is before this is dealt with
	for at := 0; at < len(text); {
		lt := strings.IndexByte(text[at:], '<')
		if lt < 0 {
			break
		}
		at += lt
		if !ownLine(text[from:at]) {
			at++
			continue
		}
		inner, end, tag := p.element(text, at)
		if end == 0 {
			at++
			continue
		}
		p.keep(text[from:at])
		from, at = end, end
		switch {
		case typedTags[tag]:
			p.keep(inner)
		case wholeTags[tag]:
			if inner = strings.TrimSpace(inner); inner != "" {
				p.pieces, p.wrap = append(p.pieces[:0], inner), true
			}
		default:
			if words, ok := passedOn(strings.TrimSpace(inner)); ok {
				p.keep(words)
			}
		}
	}
	p.keep(text[from:])
	p.wrap = false
}

// ownLine reports whether before, the text since the last element, is empty or ends in a
// line feed, spaces aside: then what follows it begins a line.
func ownLine(before string) bool {
	before = strings.TrimRight(before, " \t\r")
	return before == "" || before[len(before)-1] == '\n'
}

// element reads the injected element that begins at text[at]: its inside, where it ends,
// and its name. The end is 0 where there is none.
func (p *typedPieces) element(text string, at int) (inner string, end int, tag string) {
	rest := text[at+1:]
	n := 0
	for n < len(rest) && n < 32 && isTagByte(rest[n]) {
		n++
	}
	tag = rest[:n]
	if !injectedTags[tag] || p.closed[tag] || n == len(rest) || p.typed && vagueTags[tag] {
		return "", 0, ""
	}
	gt := strings.IndexByte(rest[n:min(len(rest), n+400)], '>')
	if gt < 0 || gt > 0 && rest[n] != ' ' {
		return "", 0, ""
	}
	at += 1 + n + gt + 1
	if singleTags[tag] {
		return "", at, tag
	}
	shut := "</" + tag + ">"
	stop := strings.Index(text[at:], shut)
	if stop < 0 {
		p.closed[tag] = true // an unclosed tag is part of what was typed
		return "", 0, ""
	}
	return text[at : at+stop], at + stop + len(shut), tag
}

func isTagByte(c byte) bool { return text.IsLetterByte(c) || c == '-' || c == '_' || c == '/' }

// The elements that clients put into user messages.
var (
	injectedTags = text.WordSet(`system-reminder system_reminder command-name command-message command-contents command-args
		local-command-stdout local-command-stderr local-command-caveat bash-input bash-stdout bash-stderr task-notification
		user-prompt-submit-hook post-tool-use-hook ide_opened_file ide_selection ide_diagnostics new-diagnostics
		teammate-message persisted-output environment_context user_instructions user_shell_command turn_aborted
		subagent_notification model_switch collaboration_mode environment_details environment_info workspace_info
		reminderInstructions editorContext additional_data open_and_recently_viewed_files current_datetime session_context
		skill-context skill SYSTEM_NOTICE RUNTIME_INFORMATION user-interrupt image /image task feedback user_message
		user_query userRequest`)
	typedTags  = text.WordSet("command-args task feedback")          // what is in them was typed
	wholeTags  = text.WordSet("user_message user_query userRequest") // so was this, and nothing else of the block
	singleTags = text.WordSet("image /image")                        // they have no end
	// People write them too: not looked for in typed text.
	vagueTags = text.WordSet("skill task feedback")
)

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

// withoutFiles removes the files that a client appended because the person named them.
func withoutFiles(text string) string {
	const from, to = "--- Content from referenced files ---", "--- End of content ---"
	i := strings.Index(text, from)
	if i <= 0 || text[i-1] != '\n' {
		return text
	}
	rest := text[i:]
	if j := strings.LastIndex(rest, to); j >= 0 {
		return text[:i] + strings.TrimLeft(rest[j+len(to):], " \t\r\n")
	}
	return text[:i]
}

// typedRequest returns what was asked for, where a client puts lists of files, the editor's
// state or a standing instruction of its own before it.
func typedRequest(text string) string {
	for _, s := range [...]struct{ start, mark string }{
		{"# Files mentioned by the user:", "\n## My request for Codex:"},
		{"# Context from my IDE setup:", "\n## My request for Codex:"},
		{"[[PLAN]] I want to create an implementation plan.", "\nMy request:"},
	} {
		// The notice may follow a one-line element such as the time.
		at := strings.Index(text[:min(len(text), 400)], s.start)
		if at < 0 || at > 0 && text[at-1] != '\n' {
			continue
		}
		if i := strings.Index(text[at:], s.mark); i >= 0 {
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
