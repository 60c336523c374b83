package bench

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// constraint is a sentence by which a person laid down a rule in a made-up session. In real sessions nobody knows
// which sentences are rules.
type constraint struct {
	Message  int    // that has it
	Text     string // verbatim
	Lifted   int    // the message that takes it back; 0: none does
	LiftedBy string `json:"lifted_by"` // the sentence that does
}

//go:embed sessions.jsonl.gz
var packed []byte

// madeUp has one session of each kind, of 100,000 tokens each: one agent mends a program, others review, write a
// feature, repair a pipeline, ask data and search the net. They look like real ones and are legal on every wire. They
// were generated once, with their rules, and are not to be changed.
var madeUp = sync.OnceValue(func() (list []Session) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	for dec := json.NewDecoder(r); err == nil; {
		var s struct {
			Kind     string
			Rules    []constraint
			Times    []time.Time
			Messages []transcript.Message
		}
		if err = dec.Decode(&s); err == nil {
			list = append(list, Session{Name: "synthetic/" + s.Kind, Messages: s.Messages, Times: s.Times, rules: s.Rules})
		}
	}
	if !errors.Is(err, io.EOF) {
		panic(fmt.Sprintf("bench: sessions.jsonl.gz: %v", err)) // it is part of the program
	}
	return list
})

// SynthSessions returns one made-up session of each kind, as long as that. 0: of 100,000 tokens, as
// they were made.
func SynthSessions(tokens int) []Session {
	out := slices.Clone(madeUp())
	for i := range out {
		if tokens > 0 {
			out[i] = made(i, tokens)
		}
	}
	return out
}

// made makes a session of another length out of a made-up one: it ends in the first place after that many tokens
// where no call is open. After its own end it goes on as the next ones, each an hour later in a project of its own,
// until all have had their turn.
func made(index, tokens int) Session {
	all := madeUp()
	out := Session{Name: fmt.Sprintf("%s-%dk", all[index].Name, tokens/1000)}
	for i := 0; i < len(all) && tokens > 0; i++ {
		next := all[(index+i)%len(all)]
		var n int
		n, tokens = next.prefix(tokens)
		out.goOn(next, n)
	}
	if last := len(out.Messages) - 1; out.Messages[last].Role() != transcript.RoleAssistant {
		out.Messages = append(out.Messages, transcript.Assistant(transcript.Say("I stop here for now.")))
		out.Times = append(out.Times, out.Times[last].Add(10*time.Second))
	}
	return out
}

// prefix returns how many messages have that many tokens and leave no call open, and how many
// tokens are missing if all have fewer.
func (s *Session) prefix(want int) (n, missing int) {
	count := tokens.NewTokenizer(model.Model{}, nil)
	for i, m := range s.Messages {
		want -= count.CountMessage(m)
		if want <= 0 && len(m.Calls()) == 0 {
			return i + 1, 0
		}
	}
	return len(s.Messages), want
}

// goOn goes on as the first n messages of another session.
func (s *Session) goOn(o Session, n int) {
	at, later := len(s.Messages), time.Duration(0)
	if at > 0 {
		later = s.Times[at-1].Add(time.Hour).Sub(o.Times[0])
	}
	s.Messages = append(s.Messages, o.Messages[:n]...)
	for _, t := range o.Times[:n] {
		s.Times = append(s.Times, t.Add(later))
	}
	for _, r := range o.rules {
		if r.Message >= n {
			continue
		}
		if r.Lifted >= n {
			r.Lifted = 0
		}
		if r.Message += at; r.Lifted > 0 {
			r.Lifted += at
		}
		s.rules = append(s.rules, r)
	}
}
