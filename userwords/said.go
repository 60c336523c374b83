// Package userwords collects what people said in a conversation: their typed text apart
// from what programs put beside it and from what they pasted into it, and the agent's task
// list. [Words] is fed message by message and renders a page of it. It quotes and says
// nothing about what the words mean: what binds the agent, and for how long, is for the
// reader to see.
package userwords

import (
	"maps"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/internal/toolname"
	"github.com/pleat-dev/pleat/transcript"
)

// Said is something that a person said, with what is needed to understand it later.
type Said struct {
	Message int    `json:"message"` // index in the transcript
	Text    string `json:"text"`    // their words, verbatim; what programs put beside them is left out
	// Via is the tool in whose result the words came: one by which the agent asked or reported,
	// or a call that the person refused and said why. Empty: typed as a message.
	Via   string `json:"via,omitempty"`
	Block int    `json:"block,omitempty"` // which block of the message that result is
	// Interrupts says that the person stopped the assistant before these words.
	Interrupts bool `json:"interrupts,omitempty"`
	// Short says that it is an answer that means little by itself: "b", "yes, do 2".
	Short bool `json:"short,omitempty"`
	// Question is what it answers, in the assistant's words: the options referred to and
	// the question asked, verbatim.
	Question string `json:"question,omitempty"`

	pastes []span // what is pasted into it
}

// Words collects what people said in a conversation and the agent's task list. It takes
// each message once, so the cost of a message does not depend on the length of the
// conversation.
//
// The zero value is ready. It is not safe for concurrent use.
type Words struct {
	said    []Said
	doubted []Said            // a person or a program wrote it
	asked   string            // what the assistant said last
	offered string            // the last of its texts that offered options
	waiting map[string]string // calls whose results may carry a person's words: tool by id
	stopped bool              // somebody has stopped the assistant and said nothing since
	tasks   taskReader
	weight  int // bytes of what was said
}

// Add takes in message i. It is called for every message, in order.
func (w *Words) Add(i int, m transcript.Message) {
	switch m.Role() {
	case transcript.RoleAssistant:
		w.assistant(i, m)
		return
	case transcript.RoleTool, transcript.RoleUser:
		w.results(i, m)
		w.stopped = w.stopped || interrupts(m)
	}
	texts, doubt := judged(m, w.called)
	w.doubt(i, joined(doubt))
	w.heard(Said{Message: i, Text: joined(texts)})
}

// called reports whether the assistant called a tool last, or in text.
func (w *Words) called(tool string) bool {
	return slices.Contains(slices.Collect(maps.Values(w.waiting)), tool) || strings.Contains(w.asked, "</"+tool+">")
}

// Said returns what people said, oldest first. The caller must not change it.
func (w *Words) Said() []Said { return w.said }

// Tasks returns the agent's present task list. The caller must not change it.
func (w *Words) Tasks() TaskState { return w.tasks.state }

// askedBytes bounds how much of an assistant's text is searched for the question.
const askedBytes = 16 << 10

func (w *Words) assistant(i int, m transcript.Message) {
	for _, b := range m.Blocks().All() {
		switch b := b.(type) {
		case transcript.Text:
			if t := strings.TrimSpace(b.Text.String()); t != "" {
				w.asked = strings.Clone(t[max(len(t)-askedBytes, 0):])
				if offersOptions(w.asked) {
					w.offered = w.asked
				}
			}
		case transcript.ToolCall:
			w.tasks.call(i, b)
			w.wait(b)
		}
	}
}

// wait remembers a call until it is answered, because its result may carry a person's
// words: any call can be refused. Once more than 1,000 calls wait, all are forgotten.
func (w *Words) wait(b transcript.ToolCall) {
	if w.waiting == nil || len(w.waiting) > 1000 { // calls that nobody ever answered
		w.waiting = make(map[string]string)
	}
	w.waiting[b.ID] = b.Name
}

func (w *Words) results(i int, m transcript.Message) {
	for k, b := range m.Blocks().All() {
		r, ok := b.(transcript.ToolResult)
		if !ok {
			continue
		}
		w.tasks.result(r)
		tool, ok := w.waiting[r.CallID]
		if !ok {
			continue
		}
		delete(w.waiting, r.CallID)
		words, doubt := answered(tool, r, m.Origin() == transcript.OriginTyped)
		w.doubt(i, doubt)
		w.heard(Said{Message: i, Text: words, Via: tool, Block: k})
	}
}

// answered returns a person's words in a tool result: the answer to a question tool, or
// the reason why a call was refused if the session log says whose words it holds; and what the
// tool may have written.
func answered(tool string, r transcript.ToolResult, typed bool) (words, doubt string) {
	result := r.Text()
	refusal, refused, own := toolname.Refused(tool, result)
	result = strings.TrimSpace(result)
	switch asks := toolname.Asks(tool); {
	case r.Error && refused && (asks || typed && own):
		return refusal, ""
	case r.Error && refused:
		return "", refusal
	case r.Error:
	case noAnswers[result]:
		return "", ""
	case asks:
		return result, ""
	case toolname.Of(tool) == toolname.Ask: // nearly
		return "", result
	}
	head, rest := textResultOf(result)
	if head.tool != tool {
		head, rest = textResult{tool: tool, sure: true}, result
	}
	return head.said(rest)
}

// noAnswers are the texts with which a client returns no answer.
var noAnswers = map[string]bool{
	"User has answered your questions: . You can now continue with the user's answers in mind.": true,
	"Your questions have been answered: . You can now continue with these answers in mind.":     true,
}

// interrupts reports whether a client says in a message that the person stopped the assistant.
func interrupts(m transcript.Message) bool {
	for _, b := range m.Blocks().All() {
		t, ok := b.(transcript.Text)
		if ok && text.HasAnyPrefix(t.Text.String(), "[Request interrupted by user", "<turn_aborted>") {
			return true
		}
	}
	return false
}

// heard takes in a person's words and finds the question they answer.
func (w *Words) heard(s Said) {
	if s.Text == "" {
		return
	}
	s.Text = strings.Clone(s.Text) // do not hold on to the request it came in
	if s.Via == "" {
		s.Short, s.Question = questionFor(s.Text, w.asked, w.offered)
		s.pastes = pastesIn(s.Text)
		s.Interrupts, w.stopped = w.stopped, false
	}
	w.said = append(w.said, s)
	w.weight += len(s.Text)
}

// doubt takes in words of a person or a program.
func (w *Words) doubt(i int, text string) {
	if text != "" {
		w.doubted = append(w.doubted, Said{Message: i, Text: strings.Clone(text), pastes: pastesIn(text)})
		w.weight += len(text)
	}
}

// Weight is about how many bytes of memory the words take.
func (w *Words) Weight() int { return w.weight }
