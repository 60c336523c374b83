package synth

import (
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Scale makes a session of another length out of the one with this index in [Sessions]: it ends
// in the first place after that many tokens where no call is open. 0 tokens are the session as it
// is. Of the truth stays what is true there. After its own end the session goes on as the next
// ones, each an hour later in a project of its own, until all have had their turn.
func Scale(index, tokens int) Session {
	all := Sessions()
	if tokens <= 0 {
		return all[index]
	}
	out := Session{Kind: all[index].Kind}
	for i := 0; i < len(all) && tokens > 0; i++ {
		next := all[(index+i)%len(all)]
		var n int
		n, tokens = next.prefix(tokens)
		out.add(next, n)
	}
	if last := len(out.Messages) - 1; out.Messages[last].Role() != transcript.RoleAssistant {
		out.Messages = append(out.Messages, transcript.Assistant(transcript.Say("I stop here for now.")))
		out.Times = append(out.Times, out.Times[last].Add(10*time.Second))
	}
	return out
}

// prefix returns how many messages have that many tokens and leave no call open, and how many
// tokens are missing if all have fewer.
func (s Session) prefix(want int) (n, missing int) {
	count := tokens.NewTokenizer(model.Model{}, nil)
	for i, m := range s.Messages {
		want -= count.CountMessage(m)
		if want <= 0 && len(m.Calls()) == 0 {
			return i + 1, 0
		}
	}
	return len(s.Messages), want
}

// add goes on as the first n messages of another session.
func (s *Session) add(o Session, n int) {
	at, later := len(s.Messages), time.Duration(0)
	if at > 0 {
		later = s.Times[at-1].Add(time.Hour).Sub(o.Times[0])
	}
	s.Messages = append(s.Messages, o.Messages[:n]...)
	for _, t := range o.Times[:n] {
		s.Times = append(s.Times, t.Add(later))
	}
	s.Truth.add(o.Truth, at, n)
}

// add adds what is true before message n of another session, whose first message is message at
// of this one. Sessions share no literals.
func (t *Truth) add(o Truth, at, n int) {
	t.Files = moved(t.Files, o.Files, at, n, func(e *FileChange) *int { return &e.Message })
	t.Runs = moved(t.Runs, o.Runs, at, n, func(e *Run) *int { return &e.Message })
	t.Said = moved(t.Said, o.Said, at, n, func(e *Said) *int { return &e.Message })
	t.Plans = moved(t.Plans, o.Plans, at, n, func(e *Plan) *int { return &e.Message })
	rules, literals := len(t.Rules), len(t.Literals)
	t.Rules = moved(t.Rules, o.Rules, at, n, func(e *Rule) *int { return &e.Message })
	for i := range t.Rules[rules:] {
		switch r := &t.Rules[rules+i]; {
		case r.Lifted >= n:
			r.Lifted, r.LiftedBy = 0, ""
		case r.Lifted > 0:
			r.Lifted += at
		}
	}
	t.Literals = moved(t.Literals, o.Literals, at, n, func(e *Literal) *int { return &e.Message })
	place := func(i *int) *int { return i }
	for i := range t.Literals[literals:] {
		l := &t.Literals[literals+i]
		l.Shown, l.Uses = moved(nil, l.Shown, at, n, place), moved(nil, l.Uses, at, n, place)
	}
}

// moved appends those elements of a list that stand before message n, each at places later.
func moved[T any](to, list []T, at, n int, place func(*T) *int) []T {
	for _, e := range list {
		if p := place(&e); *p < n {
			*p += at
			to = append(to, e)
		}
	}
	return to
}
