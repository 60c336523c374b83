package synth

import (
	"path"

	"github.com/pleat-dev/pleat/userwords"
)

// A synthAct is a piece of work: a few rounds that belong together.
type synthAct struct {
	weight map[Kind]int // how often it comes, by kind of session; 0 for others
	any    int          // weight in all kinds
	play   func(*synth)
}

var synthActs = []synthAct{
	{map[Kind]int{Debug: 10, CI: 3, Feature: 3, Review: 1}, 1, (*synth).fixBug},
	{map[Kind]int{Feature: 8}, 1, (*synth).addFeature},
	{map[Kind]int{Review: 10}, 1, (*synth).reviewDiff},
	{map[Kind]int{CI: 10}, 0, (*synth).watchRun},
	{map[Kind]int{Data: 10}, 0, (*synth).queryData},
	{map[Kind]int{Research: 10}, 0, (*synth).readUp},
	{map[Kind]int{Debug: 3, CI: 1}, 2, (*synth).readLogs},
	{nil, 2, (*synth).lookAround},
	{map[Kind]int{Feature: 2, Review: 1}, 1, (*synth).refactor},
	{nil, 1, (*synth).gitHistory},
	{nil, 1, (*synth).largeOutput},
}

// act plays one piece of work and what is due besides.
func (s *synth) act() {
	total := 0
	for _, a := range synthActs {
		total += a.any + a.weight[s.o.Kind]
	}
	n := s.r.IntN(total)
	if s.largest < 4_000 && s.tokens > 60_000 {
		s.largeOutput() // every long session has some
	}
	for _, a := range synthActs {
		if n -= a.any + a.weight[s.o.Kind]; n < 0 {
			a.play(s)
			break
		}
	}
	s.useFacts()
	s.progress()
	switch n := s.r.IntN(100); {
	case n < 8:
		s.question()
	case n < 12:
		s.interrupt()
	case n < 17:
		s.revert()
	}
}

// open is the beginning: the task, rules, a plan.
func (s *synth) open() {
	ticket := s.newTicket()
	first := s.x(pickOne(s.r, synthOpenings[s.o.Kind]), "ticket", ticket)
	parts := []phrase{first}
	var done []func(int)
	for range 2 {
		if p, enter := s.newRule(); enter != nil && (len(parts) < 2 || parts[1].s != p.s) {
			parts, done = append(parts, p), append(done, enter)
		}
	}
	at := s.human(-1, parts...)
	for _, enter := range done {
		enter(at)
	}
	s.remember(ticket)
	for range s.between(3, 6) {
		s.truth.Plan = append(s.truth.Plan, PlanItem{s.task(), userwords.TaskOpen})
	}
	s.truth.Plan[0].Status = userwords.TaskInProgress
	s.think(
		s.x(
			"The task is about the <noun> and how it is <verbed>. I should find out first where the <noun2> comes in, then decide.",
		),
	)
	s.say(s.x("I'll start with an overview of the <noun> code and then go through it step by step."))
	s.writePlan()
	s.step()
	s.listFiles()
	s.step()
	s.lookAround()
}

func (s *synth) task() string {
	return s.x(pickOne(s.r, []string{
		"Find out why the <noun> is <adj>", "Make the <noun> <verb> the <noun2>", "Cover <adj> <noun>s with tests",
		"Clean up the <noun> <noun2>", "Write down how the <noun> is <verbed>",
		"Check the <noun> limits against the <noun2>",
	})).s
}

// progress moves the task list on now and then.
func (s *synth) progress() {
	if !s.chance(22) {
		return
	}
	plan := append([]PlanItem(nil), s.truth.Plan...)
	s.truth.Plan = plan
	for i := range plan {
		if plan[i].Status == userwords.TaskInProgress {
			plan[i].Status = userwords.TaskDone
			break
		}
	}
	for i := range plan {
		if plan[i].Status == userwords.TaskOpen {
			plan[i].Status = userwords.TaskInProgress
			break
		}
	}
	open := 0
	for _, it := range plan {
		if it.Status == userwords.TaskOpen {
			open++
		}
	}
	if open < 2 {
		s.truth.Plan = append(s.truth.Plan, PlanItem{s.task(), userwords.TaskOpen})
	}
	if n := len(s.truth.Plan); n > 12 { // finished work leaves the list
		s.truth.Plan = s.truth.Plan[n-9:]
	}
	s.writePlan()
	s.step()
}

// file chooses an existing source file; to change it, one that may be changed.
// Work stays in one corner for a while, so files come up again.
func (s *synth) file(change bool) *synthFile {
	for n := range 200 {
		list := s.p.files
		if n < 20 && len(s.p.recent) > 2 && s.chance(60) {
			list = s.p.recent
		}
		f := pickOne(s.r, list)
		if f.exists && f.testOf == nil && len(f.fns) > 0 && !(change && s.frozenFile(f)) {
			if s.p.recent = append(s.p.recent, f); len(s.p.recent) > 8 {
				s.p.recent = append([]*synthFile(nil), s.p.recent[1:]...)
			}
			if change {
				s.p.busy = path.Dir(f.path.s)
			}
			return f
		}
	}
	f := s.newFile("cmd/" + s.p.name)
	f.exists, f.truth.Before = true, f.content()
	return f
}

// testsOf returns the tests of a file, nil if it has none.
func (s *synth) testsOf(f *synthFile) *synthFile {
	for _, t := range s.p.files {
		if t.testOf == f && t.exists {
			return t
		}
	}
	return nil
}

// look reads a file, all of it or a part.
func (s *synth) look(f *synthFile) {
	if n := len(f.lines); n > 120 && s.chance(60) {
		first := s.between(1, n-60)
		s.read(f, first, min(first+s.between(30, 100), n))
		return
	}
	s.read(f, 0, 0)
}

// change edits a place of a file: a statement is replaced, added or removed.
func (s *synth) change(f *synthFile) {
	n := len(f.lines)
	if n < 12 {
		s.edit(f, n, 0, s.statement())
		return
	}
	at := s.between(8, n-3)
	count := min(s.between(0, 6), n-2-at)
	var lines []phrase
	for range s.between(1, 4) {
		lines = append(lines, s.statement()...)
	}
	switch {
	case s.chance(10) && count > 0:
		lines = nil
	case s.chance(8) && s.sed(f):
		return
	}
	s.edit(f, at, count, lines)
}

func (s *synth) fixBug() {
	f := s.file(true)
	t := s.testsOf(f)
	if t == nil || s.frozenFile(t) {
		s.lookAround()
		return
	}
	b := synthBug{f, t, pickOne(s.r, t.tests), s.newError()}
	s.bugs = append(s.bugs, b)
	s.askForFix(t, b)
	s.runTests(t)
	s.step()
	s.reflect(f)
	s.look(f)
	if s.chance(40) {
		s.read(t, 0, 0)
	}
	if s.chance(30) {
		s.grep(s.nameOf(f))
	}
	s.step()
	for range s.between(0, 2) { // attempts that do not help
		s.reflect(f)
		s.change(f)
		s.step()
		s.runTests(t)
		s.step()
	}
	if s.chance(15) {
		s.missedEdit(f)
	}
	s.reflect(f)
	s.change(f)
	if s.chance(35) {
		s.change(t)
	}
	s.step()
	s.bugs = s.bugs[:len(s.bugs)-1]
	s.runTests(t)
	s.step()
	if s.chance(35) {
		s.decide(s.reason())
	}
	s.say(
		s.x(
			"<test> passes now. The cause was in <fn>: the <noun> was <adj> when the <noun2> came first.", "test",
			b.name, "fn", s.nameOf(f),
		),
	)
	s.explain(f)
	s.step()
	s.remember(b.err)
	if s.chance(50) {
		s.remember(s.nameOf(f))
	}
}

// askForFix has somebody ask for the mending of a bug, and the agent begin with it.
func (s *synth) askForFix(t *synthFile, b synthBug) {
	if s.chance(55) {
		s.ask(s.x(pickOne(s.r, []string{
			"The tests in <path> fail since this morning, can you look into it?",
			"<test> is red on my machine, please find out why.",
			"CI complains about <test>. Fix it, but understand it first.", "<path> の <test> が失敗します。原因を調べてください。",
			"帮我看一下 <test> 为什么失败，先弄清楚原因再改。",
		}[:3+2*oneIf(s.chinese && s.japanese)]), "path", t.path, "test", b.name))
	}
	if s.chance(60) {
		s.say(
			s.x(
				pickOne(
					s.r,
					[]string{
						"Let me reproduce it first.",
						"Running the tests of the <noun> to see the failure.",
						"First the failure itself.",
					},
				),
			),
		)
	}
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// missedEdit is an edit whose old text is not there, and the look at the file after it.
func (s *synth) missedEdit(f *synthFile) {
	c := s.editCall(f, joinPhrases("\n", s.statement()...), joinPhrases("\n", s.statement()...))
	c.failed = true
	switch s.style.name {
	case "claude":
		c.result = unmarked("<tool_use_error>String to replace not found in file.</tool_use_error>")
	case "codex":
		c.result = s.x(
			"Exit code: 1\nWall time: 0 seconds\nOutput:\napply_patch verification failed: Failed to find expected lines in <path>",
			"path", f.path,
		)
	case "opencode":
		c.result = unmarked("Error: oldString not found in content")
	default:
		c.result = s.x(
			"Could not find the exact text in <path>. The old text must match exactly including all whitespace and newlines.",
			"path", f.path,
		)
	}
	s.do(c)
	s.step()
	s.say(unmarked("The file differs from what I remembered. Reading it again."))
	s.read(f, 0, 0)
	s.step()
}

// reflect has the agent think about a file, and say something before it acts.
func (s *synth) reflect(f *synthFile) {
	if s.chance(80) {
		var parts []phrase
		for _, p := range drawSome(s.r, synthThoughts, s.between(2, 7)) {
			parts = append(parts, s.x(p, "fn", s.nameOf(f), "path", f.path))
		}
		s.think(joinPhrases(pickOne(s.r, []string{" ", "\n\n"}), parts...))
	}
	if s.chance(50) {
		s.say(s.x(pickOne(s.r, synthAnnouncements), "fn", s.nameOf(f), "path", f.path))
	}
}

// explain has the assistant tell at some length what it found.
func (s *synth) explain(f *synthFile) {
	var parts []phrase
	for _, p := range drawSome(s.r, synthExplanations, s.between(2, 6)) {
		parts = append(parts, s.x(p, "fn", s.nameOf(f), "path", f.path))
	}
	s.say(joinPhrases(" ", parts...))
	if s.chance(40) {
		items := []phrase{s.x(pickOne(s.r, []string{"What changed:", "In short:", "Still to do:"}))}
		for range s.between(2, 5) {
			items = append(items, s.x(pickOne(s.r, synthBullets), "fn", s.nameOf(f), "path", f.path))
		}
		s.say(joinPhrases("\n", items...))
	}
}

func (s *synth) addFeature() {
	dir := pickOne(s.r, s.p.dirs)
	for n := 0; s.frozenFile(&synthFile{path: lit{0, dir + "/x"}}) && n < 20; n++ {
		dir = pickOne(s.r, s.p.dirs)
	}
	if s.frozenFile(&synthFile{path: lit{0, dir + "/x"}}) {
		s.lookAround()
		return
	}
	s.p.busy = dir
	if s.chance(60) {
		s.ask(s.x(pickOne(s.r, []string{
			"Next: a <noun> that can <verb> <noun2>s, in <d>. Tests too.",
			"We also need to <verb> the <adj> <noun>s in <d>, like we do for <noun2>s.",
			"Please add a <noun> <noun2> to <d>.",
		}), "d", dir))
	}
	s.look(s.file(false))
	s.look(s.file(false))
	s.step()
	if s.chance(50) {
		s.decide(s.reason())
	}
	f := s.newFile(dir)
	s.reflect(f)
	s.write(f)
	s.step()
	t := s.newTestFile(f)
	s.write(t)
	s.step()
	if s.chance(50) {
		b := synthBug{f, t, pickOne(s.r, t.tests), s.newError()}
		s.bugs = append(s.bugs, b)
		s.runTests(t)
		s.step()
		s.reflect(f)
		s.change(f)
		s.step()
		s.bugs = s.bugs[:len(s.bugs)-1]
		s.remember(b.err)
	}
	s.runTests(t)
	s.step()
	s.useFeature(f)
	s.runTests(nil)
	s.step()
	s.remember(f.fns[0])
	if s.chance(50) {
		s.commit(s.x("Add <fn> to the <noun> <noun2>", "fn", f.fns[0]))
	}
	if s.chance(40) {
		s.say(
			s.x("The <noun> is in place: <path> with <fn>, tested by <tpath>.", "path", f.path, "fn",
				f.fns[0], "tpath", t.path),
		)
		s.explain(f)
		s.step()
	}
}

// useFeature calls a new function from other files.
func (s *synth) useFeature(f *synthFile) {
	for range s.between(1, 3) {
		other := s.file(true)
		if s.chance(50) {
			s.look(other)
			s.step()
		}
		s.edit(
			other,
			len(other.lines)-2,
			0,
			phraseLines(
				s.x(
					map[string]string{
						".go": "\t<fn>(ctx, <v>)", ".py": "    <fn>(<v>)", ".ts": "\tawait <fn>(<v>);",
					}[s.p.lang.ext],
					"fn", pickOne(s.r, f.fns),
				),
			),
		)
		s.step()
	}
}
