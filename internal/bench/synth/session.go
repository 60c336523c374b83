package synth

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// synthStream keeps the random numbers of sessions apart from those of other generators.
const synthStream = 0x9e3779b97f4a7c15

// synth is a session in the making.
type synth struct {
	o     Options
	r     *rand.Rand
	count tokens.Counter
	p     synthProject
	style agentStyle // whose tools the agent has
	chinese,
	japanese bool // synthLanguages that people sometimes write in

	now     time.Time
	msgs    []transcript.Message
	times   []time.Time
	tokens  int
	largest int // tokens of the largest block
	left    int // tokens when the person was away last

	taken map[string]bool
	seen  [3][]lit // names that stand in the session, by class, oldest first
	code  int      // above 0: files are being made, which may use names nobody has seen
	lits  []litEntry

	truth    Truth
	commands map[string]int // index into truth.Commands

	thought phrase
	said    []phrase
	pending []pendingCall

	facts  []synthFact // what will be needed again, by due
	rules  []synthRule
	bugs   []synthBug
	images int
}

// pendingCall is a call of the answer that is being made.
type pendingCall struct {
	tool    string
	input   phrase
	result  phrase
	failed  bool
	said    phrase // a person's words in the result
	file    *synthFile
	also    []*synthFile // more files that the call changes
	effect  callEffect
	command string // what was run, if it is to be in the truth
	exit    int
	line    string
}

// callEffect is what a call does to its file.
type callEffect uint8

const (
	noEffect callEffect = iota
	readsFile
	readsAll
	changesFile
)

func newSynth(o Options) *synth {
	s := &synth{
		o:        o,
		r:        rand.New(rand.NewPCG(o.Seed, synthStream)),
		count:    tokens.O200k(),
		taken:    map[string]bool{},
		commands: map[string]int{},
	}
	s.lits = make([]litEntry, 1) // id 0 is nobody's
	s.truth.PlanMessage = -1
	s.style = pickOne(s.r, agentStyles)
	s.chinese, s.japanese = s.chance(45), s.chance(25)
	s.now = time.Date(2026, 1, 5, 7, 0, 0, 0, time.UTC).Add(time.Duration(s.r.IntN(200*24*3600)) * time.Second)
	s.newProject()
	s.truth.Root = s.p.root
	return s
}

// clone copies everything that working on changes.
func (s *synth) clone() *synth {
	c := *s
	c.msgs, c.times = slices.Clip(s.msgs), slices.Clip(s.times)
	c.taken, c.commands = maps.Clone(s.taken), maps.Clone(s.commands)
	c.lits = slices.Clone(s.lits)
	for i := range c.lits {
		c.lits[i].Shown, c.lits[i].Uses = slices.Clip(c.lits[i].Shown), slices.Clip(c.lits[i].Uses)
	}
	c.truth = cloneTruth(s.truth)
	c.facts, c.rules, c.bugs = slices.Clone(s.facts), slices.Clone(s.rules), slices.Clone(s.bugs)
	c.p.files = make([]*synthFile, len(s.p.files))
	moved := make(map[*synthFile]*synthFile, len(s.p.files))
	for i, f := range s.p.files {
		n := *f
		n.lines, n.reads = slices.Clone(f.lines), slices.Clone(f.reads)
		c.p.files[i], moved[f] = &n, &n
	}
	for _, f := range c.p.files {
		f.testOf = moved[f.testOf]
	}
	c.p.recent = make([]*synthFile, len(s.p.recent))
	for i, f := range s.p.recent {
		c.p.recent[i] = moved[f]
	}
	for i := range c.bugs {
		c.bugs[i].file, c.bugs[i].test = moved[c.bugs[i].file], moved[c.bugs[i].test]
	}
	c.p.fns, c.p.types, c.p.consts = slices.Clip(s.p.fns), slices.Clip(s.p.types), slices.Clip(s.p.consts)
	c.p.frozen = slices.Clone(s.p.frozen)
	for i := range c.seen {
		c.seen[i] = slices.Clip(s.seen[i])
	}
	return &c
}

func cloneTruth(t Truth) Truth {
	t.Commands, t.Calls, t.Said = slices.Clone(t.Commands), slices.Clone(t.Calls), slices.Clip(t.Said)
	t.Constraints, t.Decisions, t.Plan = slices.Clone(t.Constraints), slices.Clone(t.Decisions), slices.Clone(t.Plan)
	for i := range t.Constraints {
		t.Constraints[i].Restated = slices.Clip(t.Constraints[i].Restated)
	}
	return t
}

// result is the session as it stands.
func (s *synth) result() Session {
	t := cloneTruth(s.truth)
	for _, f := range s.p.files {
		if !f.touched {
			continue
		}
		ft := f.truth
		if f.exists {
			ft.After = f.content()
		}
		t.Files = append(t.Files, ft)
	}
	slices.SortStableFunc(t.Files, func(a, b FileTruth) int { return a.First - b.First })
	for _, l := range s.lits {
		if l.First >= 0 && (l.planted || len(l.Uses) > 0) {
			t.Literals = append(t.Literals, l.LiteralTruth)
		}
	}
	slices.SortStableFunc(t.Literals, func(a, b LiteralTruth) int { return a.First - b.First })
	return Session{Options: s.o, Messages: s.msgs, Times: s.times, Truth: t}
}

func (s *synth) jitter(seconds int) time.Duration {
	return time.Duration(s.r.IntN(seconds*1000)+1) * time.Millisecond
}

// add appends a message and notes which literals it holds.
func (s *synth) add(m transcript.Message, marks []litMark, texts ...string) int {
	at := len(s.msgs)
	s.msgs, s.times = append(s.msgs, m), append(s.times, s.now)
	for _, t := range texts {
		n := s.count.Count(t)
		s.tokens += n
		s.largest = max(s.largest, n)
	}
	for _, k := range marks {
		s.note(at, k, m.Role())
	}
	return at
}

func (s *synth) note(at int, k litMark, by transcript.Role) {
	l := &s.lits[k.id]
	list := &l.Shown
	switch {
	case l.First < 0:
		l.First, l.Line, l.By = at, k.line, by
		if l.class > noClass {
			s.seen[l.class-1] = append(s.seen[l.class-1], lit{k.id, l.Text})
		}
		return
	case l.First == at:
		return
	case by == transcript.RoleAssistant:
		list = &l.Uses
	}
	if n := len(*list); n == 0 || (*list)[n-1] != at {
		*list = append(*list, at)
	}
}

// think and say add to the answer that is being made.
func (s *synth) think(p phrase) {
	if s.thought.s != "" {
		p = joinPhrases("\n\n", s.thought, p)
	}
	s.thought = p
}

func (s *synth) say(p phrase) { s.said = append(s.said, p) }

// do adds a call to the answer that is being made. What the call does to its file is done
// by the caller.
func (s *synth) do(c pendingCall) { s.pending = append(s.pending, c) }

// step ends the answer: the assistant's message and, if it calls tools, their results.
func (s *synth) step() int {
	var blocks []transcript.Block
	var marks []litMark
	var texts []string
	put := func(b transcript.Block, p phrase) {
		blocks, marks, texts = append(blocks, b), append(marks, p.marks...), append(texts, p.s)
	}
	if s.thought.s != "" {
		put(transcript.Thinking{Text: transcript.Plain(s.thought.s), Signature: s.signature(len(s.thought.s))},
			s.thought)
	}
	if len(s.said) > 0 {
		p := joinPhrases("\n\n", s.said...)
		put(transcript.Say(p.s), p)
	}
	calls := s.pending
	ids := make([]string, len(calls))
	for i, c := range calls {
		ids[i] = s.style.id(s)
		put(transcript.Call(ids[i], c.tool, c.input.s), c.input)
	}
	s.thought, s.said, s.pending = phrase{}, nil, nil
	s.now = s.now.Add(2*time.Second + s.jitter(25))
	at := s.add(transcript.Assistant(blocks...), marks, texts...)
	if len(calls) > 0 {
		s.answer(at, ids, calls)
	}
	return at
}

// answer adds the results of the calls in message at.
func (s *synth) answer(at int, ids []string, calls []pendingCall) {
	results := make([]transcript.ToolResult, len(calls))
	var marks []litMark
	var texts []string
	s.now = s.now.Add(s.jitter(4))
	for i, c := range calls {
		if c.command != "" {
			s.now = s.now.Add(s.jitter(40))
		}
		results[i] = transcript.Result(ids[i], c.result.s)
		results[i].Error = c.failed && s.style.marksErrors
		marks, texts = append(marks, c.result.marks...), append(texts, c.result.s)
		s.recordCall(at, ids[i], c)
	}
	s.add(transcript.Results(results...), marks, texts...)
}

// recordCall writes a call, and what it did, into the truth.
func (s *synth) recordCall(at int, id string, c pendingCall) {
	t := &s.truth
	call := CallTruth{ID: id, Tool: c.tool, Message: at, Result: at + 1, Failed: c.failed, StaleBy: -1}
	seq := len(t.Calls)
	if f := c.file; f != nil {
		call.Path = f.path.s
		if !c.failed {
			s.touch(f, at, seq, c.effect)
			for _, more := range c.also {
				s.touch(more, at, seq, changesFile)
			}
		}
	}
	t.Calls = append(t.Calls, call)
	if c.said.s != "" {
		t.Said = append(t.Said, SaidTruth{Message: at + 1, Text: c.said.s, Via: c.tool, Answers: -1})
	}
	if c.command == "" {
		return
	}
	i, ok := s.commands[c.command]
	if !ok {
		i = len(t.Commands)
		s.commands[c.command] = i
		t.Commands = append(t.Commands, CommandTruth{Command: c.command})
	}
	r := &t.Commands[i]
	r.Runs++
	if c.failed {
		r.Failures++
	}
	r.Failed, r.Exit, r.Message, r.Line = c.failed, c.exit, at+1, c.line
}

// touch records what call seq of message at did to a file.
func (s *synth) touch(f *synthFile, at, seq int, e callEffect) {
	if !f.touched {
		f.touched = true
		f.truth.First, f.truth.State = at, FileRead
	}
	f.truth.Last = at
	if e == readsAll || e == changesFile {
		for _, r := range f.reads {
			s.truth.Calls[r].StaleBy = seq
		}
		f.reads = nil
	}
	if e == readsFile || e == readsAll {
		f.truth.Reads++
		f.reads = append(f.reads, seq)
		return
	}
	f.truth.Changes++
	switch {
	case !f.exists:
		f.truth.State = FileDeleted
	case f.truth.New:
		f.truth.State = FileCreated
	default:
		f.truth.State = FileEdited
	}
}

// signature is what a provider puts beside thinking.
func (s *synth) signature(n int) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var b strings.Builder
	b.WriteString("Eq")
	for range 80 + min(n, 400)/4*4 {
		b.WriteByte(digits[s.r.IntN(64)])
	}
	return b.String() + "=="
}
