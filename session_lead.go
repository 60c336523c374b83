package pleat

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/match"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// leadData is what views begin with: the system messages of the newest history, or what came
// before the session.
type leadData struct {
	Covers   int       `json:"covers"`   // views show them in place of this many messages; 0: after the system messages
	Messages []Message `json:"messages"` // none: they show none
}

// newLead returns the entry that lets views begin with the system messages of a history, if
// they do not yet.
func (s *Session) newLead(h *match.History) ([]store.Entry, error) {
	heads := s.st.Facts().Prompt()
	same := h.Heads == heads
	said := func(i int) conv.Said { return s.st.SaidAt(i, i+1) }
	if s.lead != nil {
		same = heads == s.lead.Covers && h.Heads == len(s.lead.Messages)
		said = func(i int) conv.Said { return conv.SaidIn(s.lead.Messages[i], i) }
	}
	for i := 0; same && i < h.Heads; i++ {
		same = said(i).Equal(h.Said(i))
	}
	if same || s.st.Len() == 0 {
		return nil, nil
	}
	data, err := json.Marshal(leadData{heads, h.Lead()})
	if err != nil {
		return nil, fmt.Errorf("encode system messages: %w", err)
	}
	return []store.Entry{{Kind: store.EntrySystem, Data: data}}, nil
}

// setLead lets views begin with the system messages of a history.
func (s *Session) setLead(d leadData) {
	s.lead, s.longer = &d, -s.st.Facts().Tokens(0, min(d.Covers, s.st.Len()))
	for _, m := range d.Messages {
		s.longer += s.o.Tokens.CountMessage(m)
	}
	s.st.SetHead(s.headParts())
}

// leadOf is the lead with what came before the session.
func leadOf(text string) leadData {
	return leadData{Messages: []Message{transcript.User(text).WithOrigin(transcript.OriginInjected)}}
}

// led puts them in their place in a view, after system messages that they do not cover.
func (s *Session) led(view []transcript.ViewMessage) []transcript.ViewMessage {
	if s.lead == nil {
		return view
	}
	heads, at := s.st.Facts().Prompt(), 0
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

// leads is how many messages views have more for it.
func (s *Session) leads() int {
	if s.lead == nil {
		return 0
	}
	return len(s.lead.Messages) - s.lead.Covers
}

// headParts is what the head of a request takes that is not in the transcript.
func (s *Session) headParts() fold.Parts {
	p := s.o.headParts()
	p.System += max(s.longer, 0)
	return p
}
