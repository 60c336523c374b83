package epoch

import (
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/transcript"
)

// Lead is what views begin with in place of the conversation's first messages: the system messages of the
// newest history, or what came before the session.
type Lead struct {
	Covers   int                  `json:"covers"`   // how many messages it stands for; 0: it comes after the system messages
	Messages []transcript.Message `json:"messages"` // none: views show none
}

// LeadOf is the lead that says what came before a session.
func LeadOf(text string) Lead {
	return Lead{Messages: []transcript.Message{transcript.User(text).WithOrigin(transcript.OriginInjected)}}
}

// SetLead lets views begin with d.
func (s *State) SetLead(d Lead) {
	s.lead, s.longer = &d, -s.Facts().Tokens(0, min(d.Covers, s.Len()))
	for _, m := range d.Messages {
		s.longer += s.Tokens().CountMessage(m)
	}
	s.SetHead(s.head)
}

// SetHead says what the system prompt and the tools take from now on.
func (s *State) SetHead(head fold.Parts) {
	s.head = head
	head.System += max(s.longer, 0)
	s.Parts.Add(head)
	s.Parts = s.Parts.Sub(s.Layout.Head)
	s.Layout.Head = head
}

// LeadFrom returns the lead that a history with so many system messages asks for, which said gives; nil: views
// begin with them already.
func (s *State) LeadFrom(msgs []transcript.Message, said func(i int) conv.Said) *Lead {
	heads := s.Facts().Prompt()
	same := len(msgs) == heads
	own := func(i int) conv.Said { return s.SaidAt(i, i+1) }
	if s.lead != nil {
		same = heads == s.lead.Covers && len(msgs) == len(s.lead.Messages)
		own = func(i int) conv.Said { return conv.SaidIn(s.lead.Messages[i], i) }
	}
	for i := 0; same && i < len(msgs); i++ {
		same = own(i).Equal(said(i))
	}
	if same || s.Len() == 0 {
		return nil
	}
	return &Lead{heads, msgs}
}

// ViewWithLead returns the view in force, with the lead in its place.
func (s *State) ViewWithLead() transcript.View {
	return transcript.View{Messages: s.led(), DropThinking: s.Binds && s.Layout.In.Bare < s.Unbound}
}

func (s *State) led() []transcript.ViewMessage {
	view := s.View()
	if s.lead == nil {
		return view
	}
	heads, at := s.Facts().Prompt(), 0
	for at < len(view) && view[at].Source >= 0 && view[at].Source < heads {
		at++
	}
	out := slices.DeleteFunc(slices.Clone(view[:at]), func(m transcript.ViewMessage) bool {
		return m.Source < s.lead.Covers
	})
	for _, m := range s.lead.Messages {
		out = append(out, transcript.ViewMessage{Source: -1, Made: m})
	}
	return append(out, view[at:]...)
}

// Shown is how many messages the view has, with the lead.
func (s *State) Shown() int {
	if s.lead == nil {
		return s.Count
	}
	return s.Count + len(s.lead.Messages) - s.lead.Covers
}
