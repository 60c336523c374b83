package synth

// openings are the first words of a session.
var synthOpenings = map[Kind][]string{
	Debug: {
		"<ticket>: the <noun> in <proj> loses <noun2>s when a <adj> one comes in. It started last week. Find the cause, fix it, and add a test for it.",
		"Since the last deploy the <noun> <noun2> is <adj> about once an hour (<ticket>). Please track it down.",
	},
	Review: {
		"Please review the branch for <ticket>. I care most about the <noun> and about what happens to <adj> <noun2>s.",
		"<person> opened a pull request for <ticket>, can you go through it file by file and tell me what you would not merge?",
	},
	Feature: {
		"I'd like to add <noun>s to <proj> (<ticket>): they should <verb> a <noun2> and survive a restart. Look at how we do it for <noun3>s.",
		"Implement <ticket>: a <noun> that can <verb> <adj> <noun2>s, with tests and a line in the docs.",
	},
	CI: {
		"The pipeline of <proj> is red again, see <ticket>. Get it green without skipping anything.",
		"Our <noun> job takes too long and is flaky (<ticket>). Find out what it does all the time.",
	},
	Data: {
		"For <ticket> I need to know why the <noun> totals differ from the <noun2> totals. The exports are in data/.",
		"Can you check the <noun> export for <adj> <noun2>s and tell me how much money is affected? (<ticket>)",
	},
	Research: {
		"We have to choose a <noun> for <proj> (<ticket>). Read up on the candidates, try what can be tried, and write down what you find.",
		"For <ticket>: how do others <verb> <adj> <noun>s? I need a page with a recommendation.",
	},
}

// lookAround reads several files at once, sometimes ones that were read before.
func (s *synth) lookAround() {
	if s.chance(40) {
		s.reflect(s.file(false))
	} else if s.chance(50) {
		s.say(s.x(pickOne(s.r, []string{
			"Let me read the code around <fn>.", "Now the callers of <fn>.",
			"I need to see how the <noun> and the <noun2> fit together.",
		})))
	}
	var seen []*synthFile
	for range s.between(1, 3) {
		f := s.file(false)
		s.look(f)
		seen = append(seen, f)
	}
	if s.chance(35) {
		s.grep(s.name(classFn, s.p.fns))
	}
	if s.chance(12) {
		s.missedRead()
	}
	s.step()
	f := pickOne(s.r, seen)
	if s.chance(35) {
		s.explain(f)
		s.step()
	}
	if s.chance(40) {
		s.remember(s.nameOf(f))
	}
	if s.chance(45) {
		s.remember(f.path)
	}
}

// missedRead asks for a file that is not there.
func (s *synth) missedRead() {
	ghost := &synthFile{path: lit{0, s.x("<dir>/<noun>-<noun2>.txt").s}, lines: []phrase{{}}}
	s.read(ghost, 0, 0)
	c := &s.pending[len(s.pending)-1]
	c.file, c.failed = nil, true
	switch s.style.name {
	case "claude":
		c.result = unmarked("<tool_use_error>File does not exist.</tool_use_error>")
	case "codex":
		c.result = s.x(
			"Exit code: 2\nWall time: 0 seconds\nOutput:\nsed: can't read <path>: No such file or directory\n", "path",
			ghost.path,
		)
	case "opencode":
		c.result = s.x("Error: File not found: <root>/<path>", "path", ghost.path)
	default:
		c.result = s.x("ENOENT: no such file or directory, access '<path>'", "path", ghost.path)
	}
}

func (s *synth) reviewDiff() {
	var files []*synthFile
	for range s.between(1, 4) {
		files = append(files, s.file(false))
	}
	if s.chance(65) {
		s.ask(
			s.x(
				pickOne(
					s.r,
					[]string{
						"What about the changes to <path>?", "Now the part by <person>, in <path> and around it.",
						"<path> も見てください。",
					}[:2+oneIf(s.japanese)],
				),
				"path",
				files[0].path,
			),
		)
	}
	sha := s.newSHA()
	s.reflect(files[0])
	s.run(s.x("git log --oneline -n 12 origin/main..HEAD"), s.gitLog(12, sha), 0, "")
	s.step()
	s.run(s.x("git diff origin/main...HEAD -- <path>", "path", files[0].path), s.diff(files), 0, "")
	s.step()
	for _, f := range files[:s.between(1, len(files))] {
		s.look(f)
	}
	s.step()
	var remarks []phrase
	for _, f := range files {
		remarks = append(remarks, s.x(pickOne(s.r, []string{
			"- <path>: <fn> does not check for a <adj> <noun>; the <noun2> is left open in that case.",
			"- <path>: the comparison with <const> is right, but <fn> is called twice.",
			"- <path>: nothing to object to.",
		}), "path", f.path, "fn", s.nameOf(f)))
	}
	s.think(joinPhrases(" ", s.x(pickOne(s.r, synthThoughts)), s.x(pickOne(s.r, synthThoughts))))
	s.say(joinPhrases("\n", append([]phrase{s.x("My remarks so far:\n")}, remarks...)...))
	for _, f := range files {
		s.explain(f)
	}
	s.step()
	s.remember(sha)
	if s.chance(40) {
		s.remember(s.nameOf(pickOne(s.r, files)))
	}
}

// gitLog is a list of commits, with one that will be needed.
func (s *synth) gitLog(n int, sha lit) phrase {
	var t phraseText
	at := s.r.IntN(n)
	for i := range n {
		if i == at {
			t.line(s.x("<sha> <verb> <noun>: handle <adj> <noun2>s (#<nnnn>)", "sha", sha))
			continue
		}
		t.line(
			s.x(
				pickOne(
					s.r,
					[]string{
						"<hex7>f1 <verb> the <noun> <noun2>",
						"<hex7>0a fix(<noun>): <adj> <noun2> (#<nnnn>)",
						"<hex7>3c chore: bump <lib>",
						"<hex7>9d test: cover <adj> <noun>s",
					},
				),
			),
		)
	}
	return t.trimmed()
}

func (s *synth) gitHistory() {
	sha := s.newSHA()
	s.run(s.x("git log --oneline -n <n>", "n", 15), s.gitLog(15, sha), 0, "")
	if s.chance(40) {
		s.run(unmarked("git status --short"), s.x(" M <path>\n?? <noun>.out", "path", s.file(false).path), 0, "")
	}
	s.step()
	s.remember(sha)
}

func (s *synth) watchRun() {
	run, err := s.newRun(), s.newError()
	if s.chance(45) {
		s.ask(
			s.x(
				pickOne(
					s.r,
					[]string{
						"Run <run> failed as well.", "It is still red, see run <run>.",
						"Look at <run>, the <noun> job.",
					},
				),
				"run",
				run,
			),
		)
	}
	var t phraseText
	for range s.size(20, 160) {
		t.line(s.x(pickOne(s.r, []string{
			"<noun>\t<verb>\t<ts> ##[group]Run <verb2> <noun2>", "<noun>\t<verb>\t<ts> Downloading <lib> (<f2> kB)",
			"<noun>\t<verb>\t<ts> [<nn>/<nn2>] compiling <noun2>",
			"<noun>\t<verb>\t<ts> npm warn deprecated <lib>@<n>.<n>.<n>: use <noun2> instead",
			"<noun>\t<verb>\t<ts> cache hit for key <noun2>-<hex12>",
		})))
	}
	last := s.x("<noun>\t<verb>\t<ts> ##[error]<err>", "err", err)
	t.line(last)
	t.line(s.x("<noun>\t<verb>\t<ts> ##[error]Process completed with exit code <n>."))
	s.run(s.x("gh run view <run> --log-failed", "run", run), t.trimmed(), 0, last.s)
	s.step()
	f := s.extra("workflow")
	s.read(f, 0, 0)
	s.step()
	if s.chance(40) {
		s.decide(s.reason())
	}
	s.reflect(f)
	s.edit(
		f, s.between(4, len(f.lines)-1), 0,
		phraseLines(s.x("      - name: <verb> <noun>\n        run: make <noun> LIMIT=<nnn>")),
	)
	s.step()
	s.commit(s.x("ci: <verb> the <noun> before the <noun2>"))
	s.run(s.x("gh run watch --exit-status"), s.x("✓ <noun> in <n>m<nn>s\n✓ <noun2> in <nn2>s"), 0, "")
	s.step()
	s.remember(run)
	s.remember(err)
}

// extra returns a file that is no source: a workflow, notes, a script. It is made when it
// is needed first, as one that was always there.
func (s *synth) extra(what string) *synthFile {
	for _, f := range s.p.files {
		if f.exists && f.extra == what {
			return f
		}
	}
	f := &synthFile{extra: what, exists: true}
	switch what {
	case "workflow":
		f.path = s.newPath(
			".github/workflows",
			func() string { return pickOne(s.r, s.p.nouns) + "-" + pickOne(s.r, s.p.nouns) + ".yml" },
		)
		f.lines = phraseLines(
			s.x(
				"name: <noun>\n\non:\n  push:\n    branches: [main]\n  pull_request:\n\njobs:\n  <noun>:\n    runs-on: ubuntu-24.04\n    timeout-minutes: <nn>\n    steps:\n      - uses: actions/checkout@v4\n      - run: make <noun2>\n      - run: make test",
			),
		)
	default:
		f.path = s.newPath("docs",
			func() string { return pickOne(s.r, s.p.nouns) + "-" + pickOne(s.r, s.p.nouns) + ".md" })
		f.lines = phraseLines(
			s.x(
				"# <Noun> notes\n\nWhat we know about the <noun> and how it is <verbed>.\n\n| what | value | factor | date |\n|---|---|---|---|\n| <noun2> | <nnn> | 1.00x | <day> |",
			),
		)
	}
	f.truth.Path, f.truth.Before = f.path.s, f.content()
	s.p.files = append(s.p.files, f)
	return f
}

// writeNote writes a line into the project's notes.
func (s *synth) writeNote(line phrase) {
	f := s.extra("notes")
	if f.truth.Reads == 0 {
		s.read(f, 0, 0)
		s.step()
	}
	s.edit(f, len(f.lines), 0, []phrase{line})
	s.step()
}

// commit records the work in git.
func (s *synth) commit(message phrase) {
	sha := s.newSHA()
	s.run(
		s.x("git add -A && git commit -q -m \"<m>\" && git log --oneline -n 1", "m", message),
		s.x("<sha> <m>", "sha", sha, "m", message), 0, "",
	)
	s.step()
	if s.chance(30) {
		s.remember(sha)
	}
}

func (s *synth) queryData() {
	value, value2 := s.newMeasure(), s.newMeasure()
	if s.chance(50) {
		s.ask(
			s.x(
				pickOne(
					s.r,
					[]string{
						"How does that look per <noun>?", "Split it by <noun2>, please.",
						"And if you leave out the <adj> <noun>s?", "按 <noun> 分组再算一次。",
					}[:3+oneIf(s.chinese)],
				),
			),
		)
	}
	s.run(
		s.x(
			"duckdb -csv data/<proj>.duckdb \"select <noun>_id, <noun2>, sum(amount) from <noun>s where <noun2>_at > '<day>' group by all limit <nn>\"",
		),
		s.table(s.size(8, 90), value),
		0,
		"",
	)
	s.step()
	script := s.newScript()
	s.reflect(script)
	s.write(script)
	s.step()
	command := s.x("python <path> --limit <nnn>", "path", script.path)
	s.scriptFails(script, command)
	done := s.x("<verbed> <nnnn> <noun>s in <value>", "value", value2)
	s.run(command, joinPhrases("\n", s.table(s.between(3, 20)), done), 0, done.s)
	s.step()
	s.say(s.x("The difference comes from <adj> <noun>s: <value> against <value2>.", "value", value, "value2", value2))
	s.explain(script)
	if s.chance(40) {
		s.decide(s.x("the <noun> total is off by <nn> % and <value> does not explain it", "value", value))
	}
	s.step()
	if s.chance(30) {
		s.remove(script)
		s.step()
	}
	s.remember(value)
	s.remember(value2)
	if s.chance(25) {
		s.clearDir()
	}
}

// scriptFails runs a new script that fails, and mends it, now and then.
func (s *synth) scriptFails(script *synthFile, command phrase) {
	if s.chance(40) {
		err := s.newError()
		last := s.x("ValueError: <err>", "err", err)
		out := joinPhrases(
			"\n",
			s.x(
				"Traceback (most recent call last):\n  File \"<root>/<path>\", line <nn>, in <module>\n    main()\n  File \"<root>/<path>\", line <nn2>, in main\n    <fn>(df)",
				"path", script.path,
			),
			last,
		)
		s.run(command, out, 1, last.s)
		s.step()
		s.change(script)
		s.step()
		s.remember(err)
	}
}

// clearDir makes a directory of scratch files and deletes it as a whole.
func (s *synth) clearDir() {
	dir := "tmp/" + s.fresh(func() string { return pickOne(s.r, s.p.nouns) + "-" + s.hex(4) })
	var files []*synthFile
	for range s.between(2, 3) {
		f := &synthFile{extra: "scratch"}
		f.path = s.newPath(dir, func() string { return pickOne(s.r, s.p.nouns) + "-" + s.hex(4) + ".sql" })
		f.lines = phraseLines(s.x(
			"select <noun>_id, sum(amount)\nfrom <noun>s\nwhere <noun2>_at > '<day>'\ngroup by 1;"))
		f.truth.Path = f.path.s
		s.p.files = append(s.p.files, f)
		files = append(files, f)
		s.write(f)
	}
	s.step()
	s.run(s.x("duckdb data/<proj>.duckdb < <path>", "path", files[0].path), s.table(s.between(3, 12)), 0, "")
	s.step()
	for _, f := range files {
		f.exists, f.lines = false, nil
	}
	s.do(
		pendingCall{
			tool:   s.shellTool(),
			input:  s.shellInput(unmarked("rm -rf " + dir)),
			result: s.shellOutput(phrase{}, 0),
			file:   files[0],
			also:   files[1:],
			effect: changesFile,
		},
	)
	s.step()
}

// newScript makes a small Python program.
func (s *synth) newScript() *synthFile {
	f := &synthFile{extra: "script"}
	f.path = s.newPath(
		"scripts", func() string { return pickOne(s.r, s.p.verbs) + "-" + pickOne(s.r, s.p.nouns) + "s.py" },
	)
	f.lines = phraseLines(
		s.x(
			"import sys\n\nimport pandas as pd\n\n\ndef main():\n    df = pd.read_csv(\"data/<noun>s.csv\")\n    df = df[df[\"<noun2>_at\"] > \"<day>\"]",
		),
	)
	for range s.between(2, 6) {
		f.lines = append(f.lines, s.pyStatement()...)
	}
	f.lines = append(
		f.lines,
		phraseLines(unmarked("    print(df.describe())\n\n\nif __name__ == \"__main__\":\n    main()"))...)
	f.truth.Path = f.path.s
	s.p.files = append(s.p.files, f)
	return f
}

func (s *synth) pyStatement() []phrase { return phraseLines(s.x(pickOne(s.r, pyBody))) }
