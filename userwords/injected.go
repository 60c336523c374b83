package userwords

import (
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// TypedText returns the words of a person in a message, without what programs put beside
// them; ok is false where there are none.
//
// The origin decides where the source knew it: summaries hold no person's words, injected
// text none but the arguments of a command that was typed. Otherwise the text is judged. Agents mark what they inject by elements
// on lines of their own (<system-reminder>, <environment_context>, <local-command-stdout>
// and their like) or by well-known first words; these are removed. Some wrap what was
// typed: the arguments of a slash command, an editor's <user_query>, a message sent while
// the agent was working. Of those the inside is kept. What is left is verbatim, its pieces
// separated by a blank line.
//
// Only user messages speak for people, and the one kind of system message with which a
// client passes on what was typed meanwhile. Tool results never do.
func TypedText(m transcript.Message) (text string, ok bool) {
	switch {
	case m.Origin() == transcript.OriginSummary:
		return "", false
	case m.Origin() == transcript.OriginInjected:
		text = typedArgs(m)
		return text, text != ""
	}
	switch m.Role() {
	case transcript.RoleUser:
	case transcript.RoleSystem, transcript.RoleDeveloper:
		if words, passed := passedOn(strings.TrimSpace(m.Text())); passed {
			return words, words != ""
		}
		return "", false
	default:
		return "", false
	}
	p := typedPieces{typed: m.Origin() == transcript.OriginTyped}
	for _, b := range m.Blocks().All() {
		if t, isText := b.(transcript.Text); isText && !t.Text.IsEmpty() {
			p.block(t.Text.String())
		}
	}
	return p.joined()
}

// typedArgs returns what was typed behind a slash command.
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
	closed [len(injectedTags)]bool // no closing tag of this name is left in the block
	wrap   bool                    // the block has an element that holds all typed words
	typed  bool                    // the source knows that a person typed it
	output bool                    // the next block is what a tool gave the client
}

func (p *typedPieces) joined() (string, bool) {
	switch len(p.pieces) {
	case 0:
		return "", false
	case 1:
		return p.pieces[0], true
	}
	return strings.Join(p.pieces, "\n\n"), true
}

func (p *typedPieces) keep(text string) {
	if text = strings.TrimSpace(text); text != "" && !p.wrap {
		p.pieces = append(p.pieces, text)
	}
}

// block takes one text block in. Well-known first words are not looked for where the
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
	p.closed, p.wrap = [len(injectedTags)]bool{}, false
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
		case injectedTags[tag].typed:
			p.keep(inner)
		case injectedTags[tag].all:
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

// ownLine reports whether only spaces stand between the last line feed, or another
// element, and what follows before.
func ownLine(before string) bool {
	before = strings.TrimRight(before, " \t\r")
	return before == "" || before[len(before)-1] == '\n'
}

// element reads the injected element that begins at text[at]: its inside, where it ends,
// and which it is. The end is 0 where there is none.
func (p *typedPieces) element(text string, at int) (inner string, end, tag int) {
	name := text[at+1:]
	n := 0
	for n < len(name) && n < 32 && isTagByte(name[n]) {
		n++
	}
	tag = tagNumber(name[:n])
	if tag < 0 || p.closed[tag] || n == len(name) || p.typed && injectedTags[tag].vague {
		return "", 0, 0
	}
	gt := strings.IndexByte(name[n:min(len(name), n+400)], '>')
	if gt < 0 || gt > 0 && name[n] != ' ' {
		return "", 0, 0
	}
	if injectedTags[tag].single {
		return "", at + 1 + n + gt + 1, tag
	}
	body := name[n+gt+1:]
	shut := "</" + name[:n] + ">"
	stop := strings.Index(body, shut)
	if stop < 0 {
		p.closed[tag] = true // an unclosed tag is somebody's prose
		return "", 0, 0
	}
	return body[:stop], at + 1 + n + gt + 1 + stop + len(shut), tag
}

func isTagByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '_' || c == '/'
}

func tagNumber(name string) int {
	if len(name) < 4 {
		return -1
	}
	for i := range injectedTags {
		if injectedTags[i].name == name {
			return i
		}
	}
	return -1
}

// injectedTags are the elements that clients put into user messages.
var injectedTags = [...]struct {
	name   string
	typed  bool // its inside was typed
	all    bool // its inside was typed, and nothing else of the block was
	single bool // a tag without an end
	vague  bool // people write such elements too: not looked for in what they typed
}{
	{name: "system-reminder"},
	{name: "system_reminder"},
	{name: "command-name"},
	{name: "command-message"},
	{name: "command-contents"},
	{name: "command-args", typed: true},
	{name: "local-command-stdout"},
	{name: "local-command-stderr"},
	{name: "local-command-caveat"},
	{name: "bash-input"},
	{name: "bash-stdout"},
	{name: "bash-stderr"},
	{name: "task-notification"},
	{name: "user-prompt-submit-hook"},
	{name: "post-tool-use-hook"},
	{name: "ide_opened_file"},
	{name: "ide_selection"},
	{name: "ide_diagnostics"},
	{name: "new-diagnostics"},
	{name: "teammate-message"},
	{name: "persisted-output"},
	{name: "environment_context"},
	{name: "user_instructions"},
	{name: "user_shell_command"},
	{name: "turn_aborted"},
	{name: "subagent_notification"},
	{name: "model_switch"},
	{name: "collaboration_mode"},
	{name: "environment_details"},
	{name: "environment_info"},
	{name: "workspace_info"},
	{name: "reminderInstructions"},
	{name: "editorContext"},
	{name: "additional_data"},
	{name: "open_and_recently_viewed_files"},
	{name: "current_datetime"},
	{name: "session_context"},
	{name: "skill-context"},
	{name: "skill", vague: true},
	{name: "SYSTEM_NOTICE"},
	{name: "RUNTIME_INFORMATION"},
	{name: "user-interrupt"},
	{name: "image", single: true},
	{name: "/image", single: true},
	{name: "task", typed: true, vague: true},
	{name: "feedback", typed: true, vague: true},
	{name: "user_message", all: true},
	{name: "user_query", all: true},
	{name: "userRequest", all: true},
}

// injectedStarts are the first words of text that clients inject without a tag.
var injectedStarts = [...]string{
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

func startsInjected(text string) bool {
	for _, s := range injectedStarts {
		if strings.HasPrefix(text, s) {
			return true
		}
	}
	if strings.HasPrefix(text, "<path>") && strings.Contains(text[:min(len(text), 500)], "</path>\n<type>file</type>") {
		return true // an attached file without its announcement
	}
	// A skill that a command loaded, and a shell command that a person ran beside the
	// conversation, with its output.
	return strings.HasPrefix(text, "Invoke the ") && strings.Contains(leadLine(text), " skill and follow it exactly") ||
		strings.HasPrefix(text, "Ran `") && strings.HasSuffix(leadLine(text), "`") && strings.HasSuffix(text, "```")
}

func leadLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
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
		// The notice may stand behind a one-line element such as the time.
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
