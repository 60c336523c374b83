// Package client says what the agents that pleat knows write beside what people type: their tools, the
// elements and forms of their messages, and what they put around results. Each has a [Profile] in a file
// of its own, a table without logic; everything that treats one kind of tool or text differently from
// another asks these, so that the same thing is the same everywhere.
package client

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Profile is what an agent writes. All fields may be empty.
type Profile struct {
	Name  string
	Tools map[Class]string // its tools by what they are, separated by spaces

	Elements map[Holds]string  // names of the tags that it writes, separated by spaces
	Marks    []Mark            // elements that are no tags
	Signs    map[string]string // what people type before what is in an element, by its tag

	Texts     []string // whole texts of its own
	Forms     []Form   // and those that are known from their parts
	Headers   []string // what ends the line above a result that it writes as text: "[read_file for 'a'] Result:"
	Requests  []Form   // what it puts before what a person asks for, which follows Then
	Stops     []string // how it begins to say that a person stopped the assistant
	Passes    []Quote  // how it passes on what a person typed while the agent was working
	Refusals  []Quote  // its result for a call that a person refused
	NoAnswers []string // its results for questions that nobody answered
	Cleared   []Form   // what it writes over old results

	Result Envelope
}

// Has returns the class of the agent's tool of exactly that name.
func (p *Profile) Has(name string) (class Class, ok bool) {
	for class, names := range p.Tools {
		if slices.Contains(strings.Fields(names), name) {
			return class, true
		}
	}
	return Unknown, false
}

// Holds is what is in an element.
type Holds uint8

// What elements hold.
const (
	Program Holds = iota // a program's text
	Typed                // what a person typed
	Whole                // all that a person typed in a message
)

// Mark begins and ends what a program put into a message.
type Mark struct{ Open, Close string }

// Form is a text by its beginning, by something in it and by its end.
type Form struct {
	Start, Then, End string
	Line             bool // what follows Then is one line
	Announces        bool // it says what the next block is, which is a program's too
	Summary          bool // it stands for messages that the client compacted away
}

// Is reports whether a text has the form.
func (f Form) Is(txt string) bool {
	rest, ok := strings.CutPrefix(txt, f.Start)
	if ok {
		_, rest, ok = strings.Cut(rest, f.Then)
	}
	return ok && strings.HasSuffix(rest, f.End) && !(f.Line && strings.Contains(rest, "\n"))
}

// Quote is how a client quotes a person: after Start, and after Then in the same line if it is not empty.
// One of Tails may follow, as the last line. With None it quotes nothing.
type Quote struct {
	Start, Then string
	Tails       []string
	None        bool
}

// In returns where a text that begins as the quote does has a person's words; start is -1 if it has not the form.
func (q Quote) In(txt string) (start, end int) {
	rest, ok := strings.CutPrefix(txt, q.Start)
	line, _, _ := strings.Cut(rest, "\n")
	if !ok || !strings.HasSuffix(line, q.Then) {
		return -1, 0
	}
	if q.None {
		return len(txt), len(txt)
	}
	if start = len(q.Start); q.Then != "" {
		start = min(start+len(line)+1, len(txt))
	}
	end = len(txt)
	for _, tail := range q.Tails {
		i := strings.LastIndex(txt[start:], tail)
		if alone := strings.TrimSpace(tail); i < 0 && strings.HasPrefix(txt[start:], alone) {
			i, tail = 0, alone
		}
		if i >= 0 && !strings.Contains(txt[start+i+len(tail):], "\n") {
			end = start + i
			break
		}
	}
	return start, end
}

// Envelope is what a client writes around the results of its tools.
type Envelope struct {
	Heads, Tails []string // before an exit code, in lines above and below the output
	Lines        []string // beginnings of other lines around it
	Failures     []string // beginnings of results of calls that failed
	Reminders    []string // tags of what it puts after the output
}

var profiles []*Profile

func add(p Profile) *Profile {
	profiles = append(profiles, &p)
	return &p
}

// All is what all profiles say, as one. The caller must not change it.
var All = sync.OnceValue(func() *Profile {
	all := &Profile{Tools: make(map[Class]string), Signs: make(map[string]string), Elements: make(map[Holds]string)}
	for _, p := range profiles {
		for class, names := range p.Tools {
			all.Tools[class] += " " + names
		}
		for what, tags := range p.Elements {
			all.Elements[what] += " " + tags
		}
		maps.Copy(all.Signs, p.Signs)
		all.Marks = append(all.Marks, p.Marks...)
		all.Texts = append(all.Texts, p.Texts...)
		all.Forms = append(all.Forms, p.Forms...)
		all.Headers = append(all.Headers, p.Headers...)
		all.Requests = append(all.Requests, p.Requests...)
		all.Stops = append(all.Stops, p.Stops...)
		all.Passes = append(all.Passes, p.Passes...)
		all.NoAnswers = append(all.NoAnswers, p.NoAnswers...)
		all.Cleared = append(all.Cleared, p.Cleared...)
		r, of := &all.Result, p.Result
		r.Heads, r.Tails = append(r.Heads, of.Heads...), append(r.Tails, of.Tails...)
		r.Lines, r.Failures = append(r.Lines, of.Lines...), append(r.Failures, of.Failures...)
		r.Reminders = append(r.Reminders, of.Reminders...)
	}
	return all
})

// Refusal returns where a failed result has the words with which a person refused the call; the client is nil if it
// is no refusal. Any tool can write such a text.
func Refusal(txt string) (p *Profile, start, end int) {
	for _, p := range profiles {
		for _, q := range p.Refusals {
			if start, end = q.In(txt); start >= 0 {
				return p, start, end
			}
		}
	}
	return nil, 0, 0
}
