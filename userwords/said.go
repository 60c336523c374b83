// Package userwords collects what people said in a conversation: their typed text apart
// from what programs put beside it and from what they pasted into it, and the agent's task
// list. [Words] is fed message by message and renders a page of it. It quotes and says
// nothing about what the words mean: what binds the agent, and for how long, is for the
// reader to see.
package userwords

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/annotate"
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
	// Question is what it answers, in the assistant's words: the options referred to and
	// the question asked, verbatim.
	Question string `json:"question,omitempty"`

	pastes []span // what is pasted into it
	result bool   // a tool's result has it
}

// Words collects what people said in a conversation and the agent's task list. It takes
// each message once, so the cost of a message does not depend on the length of the
// conversation.
//
// The zero value is ready. It is not safe for concurrent use.
type Words struct {
	said    []Said
	doubted []Said // a person or a program wrote it
	asked   string // what the assistant said last
	offered string // the last of its texts that offered options
	stopped bool   // somebody has stopped the assistant and said nothing since
	tasks   taskReader
	weight  int // bytes of what was said
	heardTo int // messages that were heard
}

// Hear takes in message i, with what is known of whose its words are. It is called for every message, in order, and
// again for one that has lost text at its end: what a tool brought stays.
func (w *Words) Hear(i int, m transcript.Message, notes annotate.Notes) {
	if i < w.heardTo {
		w.unsay(i)
		w.texts(i, m, notes)
		return
	}
	w.heardTo = i + 1
	if m.Role() == transcript.RoleAssistant {
		w.assistant(i, m)
		return
	}
	w.stopped = w.stopped || m.Role() == transcript.RoleUser && annotate.Stops(m)
	for k, b := range m.Blocks().All() {
		if r, isResult := b.(transcript.ToolResult); isResult {
			words, unsure := notes.Words(m, k)
			w.tasks.result(r)
			w.doubt(Said{Message: i, Text: unsure, result: true})
			w.heard(Said{Message: i, Text: words, Via: notes.Via(k), Block: k, result: true})
		}
	}
	w.texts(i, m, notes)
}

// texts takes in what is said beside results.
func (w *Words) texts(i int, m transcript.Message, notes annotate.Notes) {
	var typed, doubt []string
	for k, b := range m.Blocks().All() {
		if b.Kind() != transcript.KindToolResult {
			words, unsure := notes.Words(m, k)
			typed, doubt = append(typed, words), append(doubt, unsure)
		}
	}
	w.doubt(Said{Message: i, Text: joined(doubt)})
	w.heard(Said{Message: i, Text: joined(typed)})
}

// TakeOut takes the words of messages start ≤ i < end out, which no tool brought. Those behind them move up.
func (w *Words) TakeOut(start, end int) {
	moved := func(at *int) {
		if *at >= end {
			*at -= end - start
		}
	}
	moved(&w.heardTo)
	for _, list := range []*[]Said{&w.said, &w.doubted} {
		var left []Said
		for _, s := range *list {
			if s.Message >= start && s.Message < end {
				w.weight -= len(s.Text)
				continue
			}
			moved(&s.Message)
			left = append(left, s)
		}
		*list = left
	}
	for _, t := range []*TaskState{&w.tasks.state, &w.tasks.before} {
		moved(&t.Message)
		moved(&t.PlanMessage)
	}
}

// unsay forgets what is said beside the results of message i.
func (w *Words) unsay(i int) {
	for _, list := range []*[]Said{&w.said, &w.doubted} {
		*list = slices.DeleteFunc(*list, func(s Said) bool {
			gone := s.Message == i && !s.result
			if gone {
				w.weight -= len(s.Text)
				w.stopped = w.stopped || s.Interrupts
			}
			return gone
		})
	}
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
		}
	}
}

// heard takes in a person's words and finds the question they answer.
func (w *Words) heard(s Said) {
	if s.Text == "" {
		return
	}
	s.Text = strings.Clone(s.Text) // do not hold on to the request it came in
	if s.Via == "" {
		s.Question = questionFor(s.Text, w.asked, w.offered)
		s.pastes = pastesIn(s.Text)
		s.Interrupts, w.stopped = w.stopped, false
	}
	w.said = append(w.said, s)
	w.weight += len(s.Text)
}

// doubt takes in words of a person or a program.
func (w *Words) doubt(s Said) {
	if s.Text != "" {
		s.Text, s.pastes = strings.Clone(s.Text), pastesIn(s.Text)
		w.doubted = append(w.doubted, s)
		w.weight += len(s.Text)
	}
}

// Weight is about how many bytes of memory the words take.
func (w *Words) Weight() int { return w.weight }

// TypedText returns the words of a person in a message, without what programs put beside
// them; ok is false where there are none. What is left is verbatim, its pieces separated by a blank line.
// Results of tools count in [Words] only, which knows their calls.
func TypedText(m transcript.Message) (words string, ok bool) {
	words = joined(annotate.Message(m, nil).Typed(m))
	return words, words != ""
}

func joined(pieces []string) string {
	return strings.Join(slices.DeleteFunc(pieces, func(s string) bool { return s == "" }), "\n\n")
}
