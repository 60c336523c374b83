package userwords

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// TypedText returns the words of a person in a message, without what programs put beside
// them; ok is false where there are none.
//
// Where the source knew the origin, that decides: summaries and injected text hold no
// person's words. Otherwise the text is judged. Agents mark what they inject by elements on lines of their own
// (<system-reminder>, <environment_context>, <local-command-stdout> and the like) or by
// well-known forms; TypedText removes these. What is in an element may hold such tags
// too, so it goes on to the last closing tag of its name in the block.
// Some elements wrap what was typed: the arguments of a slash command, an editor's
// <user_query>, a message sent while the agent was working. Of those the inside is kept.
// What is left is verbatim, its pieces separated by a blank line.
//
// Only user messages speak for people, and the one kind of system message with which a
// client passes on what was typed meanwhile. Tool results never do.
func TypedText(m transcript.Message) (words string, ok bool) {
	words = joined(TypedBlocks(m))
	return words, words != ""
}

// TypedBlocks returns what [TypedText] finds in each block of a message, nil if nothing.
func TypedBlocks(m transcript.Message) []string {
	texts, _ := judged(m, func(string) bool { return true })
	return texts
}

// judged returns what was typed in each block of a message, and what a person or a program wrote:
// nobody can tell whose words between two elements of one name are, or the result of a tool
// that the assistant has not called.
func judged(m transcript.Message, called func(tool string) bool) (texts, doubt []string) {
	role, origin := m.Role(), m.Origin()
	if origin == transcript.OriginSummary || origin == transcript.OriginInjected ||
		role == transcript.RoleAssistant || role == transcript.RoleTool {
		return nil, nil
	}
	texts = make([]string, m.Blocks().Len())
	for i, b := range m.Blocks().All() {
		if t, isText := b.(transcript.Text); isText {
			texts[i] = strings.TrimSpace(t.Text.String())
		}
	}
	if role == transcript.RoleUser {
		typed := origin == transcript.OriginTyped
		if doubt = typedBlocks(texts, typed, called); typed && joined(slices.Concat(doubt, texts)) == "" {
			doubt = []string{onlyText(m)}
		}
		return texts, doubt
	}
	for i, text := range texts {
		texts[i], _ = passedOn(text)
	}
	return texts, nil
}

// onlyText returns the text of a message of nothing else. If it was typed, all of it may have been,
// though it reads like a client's element.
func onlyText(m transcript.Message) string {
	for _, b := range m.Blocks().All() {
		if b.Kind() != transcript.KindText {
			return ""
		}
	}
	return strings.TrimSpace(m.Text())
}

// typedBlocks leaves of each block's text what was typed. Well-known forms are not
// looked for where the source knows that a person typed the text.
func typedBlocks(texts []string, typed bool, called func(tool string) bool) (doubt []string) {
	read := reading{typed: typed}
	doubt = append(doubt, read.withoutFiles(texts))
	output := false     // the next text is what a tool gave the client
	var head textResult // the line above that
	whole := false      // one of the blocks before holds all that was typed
	for i, text := range texts {
		texts[i] = ""
		begins, result := head.tool == "" && !typed && !output, text
		if begins {
			head, result = textResultOf(text)
		}
		if head.tool != "" {
			var unsure string
			texts[i], unsure = head.said(result)
			if texts[i] == "" && (!called(head.tool) || !begins && !head.sure) {
				unsure = reading{}.inDoubt(text)
			}
			if doubt = append(doubt, unsure); !begins || result != "" {
				head = textResult{}
			}
			continue
		}
		announced := output
		output = !typed && announcesContent(text)
		if text == "" || announced || output || !typed && injected(text) || imageMark(text) {
			continue // an announced image takes the place of the text
		}
		words, unsure, ok := read.wholeWords(withoutNotice(text))
		switch {
		case ok:
			for _, s := range texts[:i] {
				doubt = append(doubt, reading{query: true}.inDoubt(s))
			}
			clear(texts[:i])
			whole = true
		case whole:
			unsure = reading{query: true}.inDoubt(text)
		default:
			words, unsure = read.typedIn(text)
		}
		texts[i] = words
		doubt = append(doubt, unsure)
	}
	return doubt
}

// reading is what is known of a text.
type reading struct {
	typed bool // its source says that a person typed the message
	query bool // it is beside the element with all typed words
}

// typedIn returns what was typed in a block, and what may have been.
func (r reading) typedIn(text string) (words, doubt string) {
	if words, ok := passedOn(text); ok {
		return words, ""
	}
	text, unsure := r.typedRequest(withoutNotice(text))
	var pieces []string
	end := 0
	spans, within := r.injectedSpans(text)
	for _, s := range spans {
		pieces = append(append(pieces, wordsBeside(text[end:s.start], ended(text[:end]))), s.words...)
		end = s.end
	}
	pieces = append(pieces, wordsBeside(text[end:], ended(text[:end])))
	return joined(pieces), joined(append(within, unsure))
}

// inDoubt returns what may have been typed in a text that may be a program's.
func (r reading) inDoubt(text string) string {
	words, doubt := r.typedIn(text)
	return joined([]string{words, doubt})
}

func joined(pieces []string) string {
	return strings.Join(slices.DeleteFunc(pieces, func(s string) bool { return s == "" }), "\n\n")
}

// ended reports whether a text ends with the notice of a task.
func ended(text string) bool { return strings.HasSuffix(strings.TrimSpace(text), "</"+taskTag+">") }

// wordsBeside returns what was typed before or behind the elements of a block.
func wordsBeside(text string, ended bool) string {
	text = strings.TrimSpace(text)
	for _, notice := range outputNotices {
		if ended && strings.HasPrefix(text, notice) {
			_, text, _ = strings.Cut(text, "\n")
		}
	}
	return unwrapped(text)
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
