// Package synth makes up sessions of which everything is known: the files that changed, what
// commands said, what people asked for, and every exact string with the places that show it.
package synth

import (
	"math/rand/v2"
	"time"

	"github.com/pleat-dev/pleat/transcript"
)

// Kind says what a synthetic session is about: which tools it uses most and what
// their output looks like.
type Kind string

// The kinds of synthetic sessions.
const (
	Debug    Kind = "debug"    // failing tests, logs and stack traces until they pass
	Review   Kind = "review"   // diffs and files read, remarks made, little changed
	Feature  Kind = "feature"  // new files, their tests, their wiring
	CI       Kind = "ci"       // runs of a pipeline with long logs, settings changed
	Data     Kind = "data"     // tables, queries, scripts, measured values
	Research Kind = "research" // pages from the net, notes, decisions
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{Debug, Review, Feature, CI, Data, Research}
}

// Options say which session to make. The zero value makes a small one.
type Options struct {
	Seed   uint64 // the same seed gives the same bytes
	Kind   Kind   // empty: debug
	Tokens int    // length, by the o200k tokenizer; the session ends with the work that passes it; 0: 32,000
	Forks  bool   // also make the branches that were abandoned; the session itself is the same
}

// Session is a made-up session that looks like the real ones, and what is true of it.
type Session struct {
	Options  Options
	Messages []transcript.Message
	Times    []time.Time // of each message, never decreasing; people leave and come back
	Truth    Truth
	Forks    []Fork // in the order of their places
}

// Fork is a branch that was abandoned: the session was rewound to message At and went on
// as [Session.Messages]. Branch is the whole conversation that way, with its own truth;
// its first At messages are those of the session.
type Fork struct {
	At     int
	Branch Session
}

// Make makes a session with known truth. A small project is made first, then people
// and an agent work on it: what tools show is what the files in it hold, what commands
// print follows from its state. Everything that is true is written down at the moment it
// is made true, never found again in the text.
//
// The session is legal on every wire: calls are answered at once, by one message of role
// tool, ids are unique, the first message is a person's and the last the assistant's.
// Origins are not set, as on a wire.
func Make(o Options) Session {
	if o.Kind == "" {
		o.Kind = Debug
	}
	if o.Tokens == 0 {
		o.Tokens = 32_000
	}
	s := newSynth(o)
	s.open()
	next := 0 // places where branches begin
	var forks []Fork
	for s.tokens < o.Tokens {
		s.act()
		if share := float64(s.tokens) / float64(o.Tokens); o.Forks && next < len(forkAt) && share >= forkAt[next] &&
			share < 1 {
			next++
			forks = append(forks, s.branch(uint64(next)))
		}
	}
	s.close()
	out := s.result()
	out.Forks = forks
	return out
}

// forkAt are the shares of a session's length after which it has a branch.
var forkAt = [...]float64{0.3, 0.7}

// branch goes on from here in another way for a while, and leaves s as it is.
func (s *synth) branch(n uint64) Fork {
	b := s.clone()
	b.r = rand.New(rand.NewPCG(s.o.Seed, synthStream+n))
	at := len(s.msgs)
	for range 2 {
		b.act()
	}
	b.close()
	return Fork{At: at, Branch: b.result()}
}
