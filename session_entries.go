package pleat

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The data of a session's entries. These are stored: fields may be added, names and
// meanings stay. docs/format.md lists them.

type sessionData struct {
	Version int    `json:"version"`
	Policy  string `json:"policy,omitempty"`
	Model   string `json:"model,omitempty"`
}

type messageData struct {
	Form   string `json:"form"` // "wire": the body is the message's raw bytes; "pleat": the neutral form
	Format Format `json:"format,omitempty"`
	Role   Role   `json:"role"`
	Origin Origin `json:"origin,omitempty"`
}

type foldData struct {
	Folds []*Fold `json:"folds"`
}

// epochData is a complete answer to "which folds are in force": later epochs do not
// depend on earlier ones, so undoing is writing an old answer again.
type epochData struct {
	Epoch        int       `json:"epoch"`
	Messages     int       `json:"messages"` // length of the transcript when it was made
	Trigger      Trigger   `json:"trigger"`
	Undo         bool      `json:"undo,omitempty"`
	Focus        string    `json:"focus,omitempty"`
	Folds        []*Fold   `json:"folds,omitempty"` // new ones
	InForce      []int     `json:"in_force"`        // numbers of all folds in force from now on
	Bare         int       `json:"bare,omitempty"`
	DropThinking bool      `json:"drop_thinking,omitempty"`
	Before       int       `json:"tokens_before"`
	After        int       `json:"tokens_after"`
	Cache        CacheCost `json:"cache"`
	Warning      string    `json:"warning,omitempty"`
}

type pinData struct {
	Text   string `json:"text"`
	Remove bool   `json:"remove,omitempty"`
}

// Note is something the agent wrote down for itself, outside of the transcript.
type Note struct {
	Key  string `json:"key"`
	Text string `json:"text"` // empty: the note was removed
}

type usageData struct {
	Usage     Usage   `json:"usage"`
	Estimated int     `json:"estimated"` // our count of the same prompt
	USD       float64 `json:"usd,omitempty"`
	Limit     int     `json:"limit,omitempty"` // the prompt was refused: the most that the provider takes
}

// messageEntry makes the entry that keeps a message: its bytes on the wire if they can be
// read back, else its neutral form.
func (s *Session) messageEntry(m Message, wire bool) (Entry, error) {
	d := messageData{Form: "wire", Format: m.Format(), Role: m.Role(), Origin: m.Origin()}
	body := []byte(m.Raw())
	if !wire || len(body) == 0 {
		d.Form = "pleat"
		var err error
		if body, err = json.Marshal(m); err != nil {
			return Entry{}, fmt.Errorf("encode message: %w", err)
		}
	}
	data, err := json.Marshal(d)
	if err != nil {
		return Entry{}, fmt.Errorf("encode message: %w", err)
	}
	text, _ := searchText(m)
	return Entry{Kind: EntryMessage, Data: data, Body: body, Text: text}, nil
}

// searchText is the text a message is found by: its blocks' texts, one after the other,
// each beginning on a line of its own. starts has the first line of each block.
func searchText(m Message) (text string, starts []int) {
	var b strings.Builder
	line := 0
	for _, blk := range m.Blocks().All() {
		starts = append(starts, line)
		t := blockText(blk)
		if t == "" {
			continue
		}
		b.WriteString(t)
		line += lineCount(t)
		if !strings.HasSuffix(t, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String(), starts
}

// apply takes an entry in: the one way in which a session changes, live and restored.
func (s *Session) apply(e Entry, body []byte) error {
	var err error
	switch e.Kind {
	case EntryMessage:
		err = s.applyMessage(e, body)
	case EntryFold:
		var d foldData
		if err = json.Unmarshal(e.Data, &d); err == nil {
			s.st.use(d.Folds)
		}
	case EntryEpoch:
		var d epochData
		if err = json.Unmarshal(e.Data, &d); err == nil {
			err = s.st.enter(d)
		}
	case EntryPin:
		var d pinData
		if err = json.Unmarshal(e.Data, &d); err == nil {
			s.st.pin(d)
		}
	case EntryNote:
		var n Note
		if err = json.Unmarshal(e.Data, &n); err == nil {
			s.st.note(n)
		}
	case EntryUsage:
		var d usageData
		if err = json.Unmarshal(e.Data, &d); err == nil {
			s.cal.Observe(d.Estimated, d.Usage.Prompt())
			s.usd += d.USD
			if d.Limit > 0 {
				s.cap = d.Limit
			}
		}
	}
	if err != nil {
		return fmt.Errorf("read entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	return nil
}

func (s *Session) applyMessage(e Entry, body []byte) error {
	if s.fresh != nil {
		s.st.record(*s.fresh, e.Seq)
		return nil
	}
	m, err := storedMessage(e.Data, body, s.o.Codecs)
	if err != nil {
		return err
	}
	s.st.record(m, e.Seq)
	return nil
}
