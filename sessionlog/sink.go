package sessionlog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// sink takes what a reader finds and hands it to the caller. It joins consecutive results:
// those of one answer of the model are one message.
type sink struct {
	log     *Log
	yield   func(Record, error) bool
	n       int // records handed out
	results []transcript.Block
	pending Record // of results
	err     error  // errStop: the caller has left the loop
}

// add hands out a record in which something is said: pi's sessions begin with an empty message.
func (s *sink) add(r Record) error {
	says := func(b transcript.Block) bool {
		t, ok := b.(transcript.Text)
		return !ok || r.Message.Role() != transcript.RoleUser || strings.TrimSpace(t.Text.String()) != ""
	}
	if !slices.ContainsFunc(r.Message.Blocks().List(), says) {
		return s.err
	}
	_ = s.flush()
	return s.put(r)
}

func (s *sink) put(r Record) error {
	if s.err != nil {
		return s.err
	}
	s.n++
	if r.Model != "" && !r.Sidechain && !r.Abandoned {
		s.log.info.Model = r.Model
	}
	if !s.yield(r, nil) {
		s.err = errStop
	}
	return s.err
}

// result takes a tool result; r is its record without the message.
func (s *sink) result(r Record, res transcript.ToolResult) error {
	if len(s.results) > 0 && (r.Sidechain != s.pending.Sidechain || r.Abandoned != s.pending.Abandoned) {
		_ = s.flush()
	}
	if len(s.results) == 0 {
		s.pending = r
	}
	s.results = append(s.results, res)
	return s.err
}

// flush hands out the results that wait.
func (s *sink) flush() error {
	if len(s.results) == 0 {
		return s.err
	}
	r := s.pending
	r.Message = transcript.NewMessage(transcript.RoleTool, s.results...)
	s.results = nil
	return s.put(r)
}

// compaction notes that the agent compacted before the next record.
func (s *sink) compaction(c Compaction) {
	if c.At = s.n; len(s.results) > 0 {
		c.At++
	}
	s.log.info.Compactions = append(s.log.info.Compactions, c)
}

// summarized gives the newest compaction its summary.
func (s *sink) summarized(line int, words string) {
	all := s.log.info.Compactions
	for i, c := range slices.Backward(all) {
		if !c.Partial && c.Summary == "" {
			all[i].Summary = words
			return
		}
	}
	s.compaction(Compaction{Line: line, Summary: words})
}

// compacted notes a compaction, and adds the text that stands for what was compacted away.
func (s *sink) compacted(r Record, c Compaction) error {
	c.Line = r.Line
	s.compaction(c)
	return s.summary(r, c.Summary)
}

// summary adds the text that stands for what was compacted away.
func (s *sink) summary(r Record, text string) error {
	return s.user(r, transcript.OriginSummary, transcript.Say(text))
}

func (s *sink) user(r Record, origin transcript.Origin, blocks ...transcript.Block) error {
	r.Message = transcript.NewMessage(transcript.RoleUser, blocks...).WithOrigin(origin)
	return s.add(r)
}

// answer adds an answer of the model, and the results of its calls if its entry holds them.
func (s *sink) answer(rec Record, blocks []transcript.Block, results ...transcript.ToolResult) error {
	rec.Message = transcript.Assistant(blocks...)
	err := s.add(rec)
	for _, res := range results {
		_ = s.result(Record{Line: rec.Line, Time: rec.Time}, res)
	}
	if len(results) > 0 {
		err = s.flush()
	}
	return err
}

// injectedMarks begin texts that agents put into user messages themselves: reminders,
// the output of commands the person ran, notices, files an editor has open.
var injectedMarks = []string{
	"<system-reminder>", "<system_reminder>", "<command-name>", "<command-message>", "<command-args>",
	"<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>",
	"<bash-input>", "<bash-stdout>", "<bash-stderr>", "<task-notification>",
	"<user-prompt-submit-hook>", "<user-memory-input>", "<ide_opened_file>", "<ide_selection>", "<ide_diagnostics>",
	"<teammate-message ", "<teammate-message>", "<background-task ", "<background-task>", "<tick>",
	"<environment_context>", "<user_instructions>", "<permissions instructions>", "<turn_aborted>", "<skill>",
	"<user_shell_command>", "<subagent_notification>", "<collaboration_mode>",
	"# AGENTS.md instructions for ", "<skill-context ", "<skill-context>", "<current_datetime>", "<session_context>",
}

// injectedTexts begin what agents write without an element, and people too: the whole form tells.
var injectedTexts = []string{
	"Caveat: The messages below were generated", "[Request interrupted by user", "[Image: ", `{"task_id":`, continuedMark,
	"<channel source=", "Another Claude session sent a message:", "The coordinator sent a message while you were working:",
}

// continuedMark begins the summary with which Claude Code continues after a compaction;
// old logs do not mark it in any other way.
const continuedMark = "This session is being continued from a previous conversation"

// textOrigin judges words in a user message where the log does not say whose they are. What
// begins with an element of the agent's is typed if words follow the element or nothing closes
// it, as agents do, and of no known origin if words may stand in it or between two.
func textOrigin(text string) transcript.Origin {
	text = strings.TrimLeft(text, " \t\r\n")
	for _, mark := range injectedTexts {
		if !strings.HasPrefix(text, mark) {
			continue
		}
		if _, ok := userwords.TypedText(transcript.User(text)); ok {
			return transcript.OriginTyped
		} else if mark == continuedMark {
			return transcript.OriginSummary
		}
		return transcript.OriginInjected
	}
	begins := func(mark string) bool { return strings.HasPrefix(text, mark) }
	closed, all := false, false
	if slices.ContainsFunc(injectedMarks, begins) {
		closed, all = closes(text)
	}
	if !closed {
		return transcript.OriginTyped
	}
	whole := strings.TrimSpace(text)
	words, ok := userwords.TypedText(transcript.User(text).WithOrigin(transcript.OriginTyped))
	if ok && (words != whole || !all) && strings.HasSuffix(whole, words) {
		return transcript.OriginTyped
	}
	var said userwords.Words
	said.Add(0, transcript.User(text))
	found, _ := userwords.TypedText(transcript.User(text))
	if said.Weight() > len(found) || !strings.HasPrefix(whole, words) {
		return transcript.OriginUnknown
	}
	return transcript.OriginInjected
}

// closes reports whether a text closes the element that begins it, or any if none does, and whether it
// ends with that.
func closes(text string) (closed, all bool) {
	name := ""
	if rest, ok := strings.CutPrefix(text, "<"); ok {
		name = rest[:max(strings.IndexAny(rest, " >"), 0)]
	}
	text = strings.TrimSpace(text)
	last := strings.LastIndex(text, "</"+name)
	return last >= 0, last >= 0 && strings.IndexByte(text[last:], '>') == len(text)-last-1
}

// blocksOrigin judges a user message of a log in which people type: it is typed if any of
// its blocks is, and it has no origin of its own if it holds nothing but tool results, or one of
// its blocks has none, or is the agent's and would speak for a person if the message were typed.
func blocksOrigin(blocks []transcript.Block) transcript.Origin {
	origin, typed, unsure, speaks := transcript.OriginUnknown, false, false, false
	for _, b := range blocks {
		switch b := b.(type) {
		case transcript.Text:
			words := head(b.Text)
			switch o := textOrigin(words); o {
			case transcript.OriginTyped:
				typed = true
			case transcript.OriginUnknown:
				unsure = true
			default:
				origin = cmp.Or(origin, o)
				_, ok := userwords.TypedText(transcript.User(words).WithOrigin(transcript.OriginTyped))
				speaks = speaks || ok
			}
		case transcript.Image: // pasted
			typed = true
		}
	}
	switch {
	case typed && !speaks:
		return transcript.OriginTyped
	case typed || unsure:
		return transcript.OriginUnknown
	}
	return origin
}

// wordsOrigin judges a user message of a log that does not say whose words it holds: it is typed if
// knowing that would change none of what package userwords finds in it, which else judges them.
func wordsOrigin(blocks []transcript.Block) transcript.Origin {
	var found, typed userwords.Words
	m := transcript.NewMessage(transcript.RoleUser, blocks...)
	found.Add(0, m)
	typed.Add(0, m.WithOrigin(transcript.OriginTyped))
	words, _ := userwords.TypedText(m)
	same, _ := userwords.TypedText(m.WithOrigin(transcript.OriginTyped))
	switch {
	case !m.Blocks().Has(transcript.KindText) || words != "" && words == same && found.Weight() == typed.Weight():
		return transcript.OriginTyped
	case found.Weight() == 0:
		return transcript.OriginInjected
	}
	return transcript.OriginUnknown
}

// head is enough of a text to see what it begins with: all of it if that is an element.
func head(c transcript.Content) string {
	const enough = 4096
	lit := c.Literal()
	if len(lit) <= enough || lit[1] == '<' || strings.IndexByte(lit[:enough], '\\') >= 0 {
		return c.String()
	}
	return lit[1:enough]
}
