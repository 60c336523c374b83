package userwords

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// The elements that clients put into user messages.
var (
	injectedTags = text.WordSet(`system-reminder system_reminder command-name command-message command-contents command-args
		local-command-stdout local-command-stderr local-command-caveat bash-stdout bash-stderr task-notification
		bash-input user-memory-input
		user-prompt-submit-hook post-tool-use-hook ide_opened_file ide_selection ide_diagnostics new-diagnostics
		teammate-message persisted-output environment_context user_instructions user_shell_command turn_aborted
		subagent_notification model_switch collaboration_mode environment_details environment_info workspace_info
		reminderInstructions editorContext additional_data open_and_recently_viewed_files current_datetime session_context
		file_content skill-context skill SYSTEM_NOTICE RUNTIME_INFORMATION user-interrupt mode_notice`)
	typedTags = []string{"task", "feedback"} // what is in them was typed
	// So was this, and nothing else of the message but what an editor writes beside it.
	wholeTags = []string{"user_message", "user_query", "userRequest", "user_input", "user_command"}
	queryTags = text.WordSet("attached_files attachments user_info project_layout git_status")
)

// vagueTag is one that people write too: it is not looked for in typed text.
const vagueTag = "skill"

// fileTag begins an attached file; <file> alone is what people write.
const fileTag = `<file name="`

// taskTag is the notice of a task that has ended, and outputNotices what a client writes after it.
const taskTag = "task-notification"

var outputNotices = [...]string{"Read the output file to retrieve the result:", "Full transcript available at:"}

// element is where a text has a client's element, or several with nothing between them.
type element struct {
	span
	words []string // a person's in it
}

// injectedSpans returns where a text has injected elements, in order; those with nothing
// between them are one. What is in an element may be a file or a command's output that writes
// tags: it ends at the last closing tag of its name, which is the client's or stands behind it, or
// in another element (see [reach]). An unclosed tag is part of what was typed. Doubt is what may
// not be in an element after all.
func (r reading) injectedSpans(text string) (list []element, doubt []string) {
	files := strings.Contains(text, fileTag) // which a client attached
	closed := make(map[string]int)
	last := func(tag string) int { // where the last closing tag of a client's element ends
		if !r.programs(tag) && !(files && tag == "file") {
			return 0
		}
		if _, ok := closed[tag]; !ok {
			closed[tag] = strings.LastIndex(text, "</"+tag+">") + len("</"+tag+">")
		}
		return closed[tag]
	}
	before := "" // the name of the element that ends where this one begins
	for at, end := 0, 0; ; at++ {
		lt := strings.IndexByte(text[at:], '<')
		if lt < 0 {
			return list, doubt
		}
		at += lt
		tag, inner := tagAt(text, at+1)
		if inner == 0 || last(tag) <= inner || !ownLine(text[end:at]) {
			continue
		}
		if n := len(list); n == 0 || strings.TrimSpace(text[end:at]) != "" {
			list, before = append(list, element{span: span{start: at}}), ""
		}
		end = reach(text, inner, last(tag), last)
		words, unsure := r.inElement(text[inner:end], tag, before, lastInside(text, inner, tag, last)-inner)
		here := &list[len(list)-1]
		here.end, here.words = end, append(here.words, words...)
		doubt = append(doubt, unsure...)
		at, before = end-1, tag
	}
}

// programs reports whether a program writes the elements of a name.
func (r reading) programs(tag string) bool {
	return injectedTags[tag] && !(r.typed && tag == vagueTag) || r.query && queryTags[tag]
}

// spanAt returns the element that has text[at] in it, the zero value if none.
func spanAt(list []element, at int) span {
	for _, s := range list {
		if s.start <= at && at < s.end {
			return s.span
		}
	}
	return span{}
}

// reach returns up to where a text is in elements or may be: in one that begins before inner and
// ends before end others may be, one of which may have written its last tag.
func reach(text string, inner, end int, last func(tag string) int) int {
	for at := inner; at < end; at++ {
		if text[at] != '<' {
			continue
		}
		if tag, inner := tagAt(text, at+1); inner > 0 {
			end = max(end, last(tag))
		}
	}
	return end
}

// lastInside returns where the last element begins that may have written the first closing tag of
// the one that it is in: -1 if there is none. Then the opening tag of the other may have been typed.
func lastInside(text string, inner int, tag string, last func(tag string) int) int {
	shut := inner + strings.Index(text[inner:], "</"+tag+">")
	for at := shut - 1; at >= inner; at-- {
		if text[at] != '<' || !ownLine(text[inner:at]) && text[at-1] != '>' {
			continue
		}
		if name, end := tagAt(text, at+1); end > 0 && (name == tag || last(name) > shut) {
			return at
		}
	}
	return -1
}

// inElement returns a person's words in an element, whose inside and closing tags inner is, and
// those that stand behind a closing tag of its name and may be in it. If a client wrote that tag,
// they were typed between two elements; if not, they are part of one. What is before another, if
// there is one, may have been typed (see [lastInside]).
func (r reading) inElement(inner, tag, before string, other int) (words, doubt []string) {
	shut := "</" + tag + ">"
	inside, rest, _ := strings.Cut(inner, shut)
	words = []string{wordsInside(inside, tag, before)}
	if other > 0 {
		words, doubt = []string{""}, []string{words[0], strings.TrimSpace(inside[:other])}
	} else if tag == "command-args" && words[0] == "" { // of no command
		doubt = append(doubt, strings.TrimSpace(inside))
	}
	for typedSigns[tag] != "" { // in several of these, nothing but typed words is
		next, more, ok := leading(strings.TrimSpace(rest), tag)
		if !ok {
			break
		}
		words, rest = append(words, wordsInside(next, tag, tag)), more
	}
	for between := range strings.SplitSeq(rest, shut) {
		inside := ""
		if next := lastOpen(between, tag); next >= 0 && ownLine(between[:next]) {
			_, end := tagAt(between, next+1)
			between, inside = between[:next], wordsInside(between[max(end, next):], tag, tag)
		}
		words, unsure := r.typedIn(wordsBeside(between, tag == taskTag))
		doubt = append(doubt, words, unsure, inside)
	}
	return words, doubt
}

// withoutNotice returns a text without the element with the time or the mode that may begin it, in
// which nothing but the client writes.
func withoutNotice(text string) string {
	for _, tag := range [...]string{"current_datetime", "mode_notice"} {
		if at, rest, ok := leading(text, tag); ok && len(at) < 100 && !strings.Contains(at+rest, tag) {
			return strings.TrimSpace(rest)
		}
	}
	return text
}

// tagAt reads the name of a tag from text[at] on, and where the tag ends: 0 if it is none.
func tagAt(text string, at int) (name string, end int) {
	n := at
	for n < len(text) && n < at+32 && isTagByte(text[n]) {
		n++
	}
	gt := strings.IndexAny(text[n:min(len(text), n+400)], "<>\n")
	if gt < 0 || text[n+gt] != '>' || gt > 0 && text[n] != ' ' {
		return "", 0
	}
	return text[at:n], n + gt + 1
}

// lastOpen returns where the last opening tag of a name begins; -1: there is none.
func lastOpen(text, name string) int {
	return max(strings.LastIndex(text, "<"+name+">"), strings.LastIndex(text, "<"+name+" "))
}

func isTagByte(c byte) bool { return text.IsLetterByte(c) || c == '-' || c == '_' }

// ownLine reports whether before is empty or ends in a line feed, spaces aside: then what
// follows it begins a line.
func ownLine(before string) bool {
	before = strings.TrimRight(before, " \t\r")
	return before == "" || before[len(before)-1] == '\n'
}

// typedSigns are what people type before what is in these elements: a command for their shell, and
// something for the agent's memory.
var typedSigns = map[string]string{"bash-input": "!", "user-memory-input": "#"}

// wordsInside returns a person's words in an element: the arguments of a command, whose name is the
// element before it, what was typed for the shell, or a message that a reminder passes on.
func wordsInside(inside, tag, before string) string {
	switch inside = strings.TrimSpace(inside); {
	case inside == "":
	case tag == "system-reminder" || tag == "system_reminder":
		words, _ := passedOn(inside)
		return words
	case typedSigns[tag] != "":
		return typedSigns[tag] + inside
	case tag == "command-args" && strings.HasPrefix(before, "command-"):
		return inside
	}
	return ""
}

// wholeWords returns what is in the element that holds all typed words of a block, and what may
// have been typed beside it. Files that the block has there may write such an element: it has to
// begin or to end the block.
func (r reading) wholeWords(text string) (words, beside string, ok bool) {
	if words, beside, ok = leadingWhole(text); ok {
		return words, reading{query: true}.inDoubt(beside), true
	}
	for _, tag := range wholeTags {
		head, ends := strings.CutSuffix(text, "</"+tag+">")
		at := lastOpen(head, tag)
		if !ends || at < 0 || !ownLine(head[:at]) {
			continue
		}
		_, inner := tagAt(head, at+1)
		list, _ := r.injectedSpans(text)
		words = withoutNotice(strings.TrimSpace(head[max(inner, at):]))
		if words != "" && spanAt(list, at).end == 0 {
			return words, reading{query: true}.inDoubt(head[:at]), true
		}
	}
	return "", "", false
}

// leadingWhole returns what is in such an element that begins a block, and what is behind it. A
// closing tag in a program's element is not the client's.
func leadingWhole(text string) (words, beside string, ok bool) {
	if !strings.HasPrefix(text, "<") {
		return "", "", false
	}
	tag, inner := tagAt(text, 1)
	if !slices.Contains(wholeTags, tag) {
		return "", "", false
	}
	words, beside, ok = strings.Cut(text[inner:], "</"+tag+">")
	list, _ := reading{}.injectedSpans(text)
	ok = ok && spanAt(list, inner+len(words)).end == 0
	words = withoutNotice(strings.TrimSpace(words))
	return words, beside, ok && words != ""
}

// unwrapped returns a text without the element that a client put around what was typed.
func unwrapped(text string) string {
	text = strings.TrimSpace(text)
	for _, tag := range typedTags {
		if inner, rest, ok := leading(text, tag); ok && rest == "" {
			return strings.TrimSpace(inner)
		}
	}
	return text
}

// leading returns what is in the element that begins a text, and what is behind it.
func leading(text, tag string) (inner, rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, "<"+tag+">")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "</"+tag+">")
}
