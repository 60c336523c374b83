package synth

import (
	"path"
	"strings"
)

// synthBug is something that a test finds.
type synthBug struct {
	file, test *synthFile
	name, err  lit
}

// testCommand is how the tests of a file are run; nil: all tests.
func (s *synth) testCommand(t *synthFile) phrase {
	all := map[string]string{
		".go": "go test ./...", ".py": "python -m pytest -q", ".ts": "npx vitest run",
	}[s.p.lang.ext]
	if t == nil {
		return unmarked(all)
	}
	if s.p.lang.ext == ".go" {
		return unmarked("go test ./" + path.Dir(t.path.s) + "/...")
	}
	return s.x("<all> <path>", "all", all, "path", t.path)
}

// testOutput is what a test run prints while the given bugs are there. The second value
// is the line that tells how it went.
func (s *synth) testOutput(of *synthFile, bugs []synthBug) (phrase, string) {
	r := testReport{s: s, bugs: bugs}
	r.passed = s.between(11, 99)
	switch s.p.lang.ext {
	case ".go":
		r.goTest(of)
	case ".py":
		r.pytest()
	default:
		r.vitest()
	}
	return r.text.trimmed(), r.line
}

// testReport is the output of a run of tests that is being written.
type testReport struct {
	s      *synth
	bugs   []synthBug // the failures
	passed int
	text   phraseText
	line   string // that says how it ended
}

func (r *testReport) put(template string, env ...any) {
	p := r.s.x(template, env...)
	if r.line == "" && len(r.bugs) > 0 && strings.Contains(template, "<err>") {
		r.line = p.s
	}
	r.text.line(p)
}

func env(b synthBug) []any {
	return []any{
		"test", b.name, "err", b.err, "base", path.Base(b.test.path.s), "path", b.test.path, "fn", b.file.fns[0],
	}
}

func (r *testReport) goTest(of *synthFile) {
	for _, b := range r.bugs {
		r.put("--- FAIL: <test> (0.<nn>s)", env(b)...)
		r.put("    <base>:<nnn>: <err>", env(b)...)
		if r.s.chance(30) {
			r.put(
				"panic: runtime error: index out of range [<nn>] with length <n>\n\ngoroutine <nn2> [running]:\ngithub.com/<org>/<proj>/internal/<noun>.(*<type>).<fn>(0xc000<hex7>, {0x10<hex7>, 0xc000<hex7>})\n\t<root>/internal/<noun>/<noun>.go:<nnn> +0x<nnn>\ntesting.tRunner(0xc000<hex7>, 0x10<hex7>)\n\t/usr/local/go/src/testing/testing.go:<nnnn> +0xf4",
				env(b)...)
		}
	}
	if len(r.bugs) > 0 {
		r.put("FAIL\nFAIL\tgithub.com/<org>/<proj>/internal/<noun>\t0.<nnn>s")
	}
	dirs := r.s.p.dirs
	if of != nil {
		dirs = []string{path.Dir(of.path.s)}
	}
	if of != nil && len(r.bugs) > 0 {
		dirs = nil
	}
	for _, d := range dirs {
		r.put("ok  \tgithub.com/<org>/<proj>/<d>\t<n>.<nnn>s", "d", d)
	}
	if len(r.bugs) > 0 {
		r.put("FAIL")
	} else {
		said := strings.TrimSpace(r.text.b.String())
		r.line = said[strings.LastIndexByte(said, '\n')+1:]
	}
}

func (r *testReport) pytest() {
	r.put("<dots> [100%]", "dots", strings.Repeat(".", min(r.passed, 60)))
	if len(r.bugs) > 0 {
		r.put("=================================== FAILURES ===================================")
	}
	for _, b := range r.bugs {
		r.put(
			"____________________________ <test>[<nn>] ____________________________\n\n    def <test>(limit, store):\n>       got = <fn>(store, attempt=<n>)\n\n<path>:<nn2>:",
			env(b)...)
		r.put("E       ValueError: <err>", env(b)...)
		r.put(
			"\n<path>:<nn2>: ValueError\n=========================== short test summary info ============================",
			env(b)...)
		r.put("FAILED <path>::<test>[<nn>] - ValueError: <err>", env(b)...)
	}
	if n := len(r.bugs); n > 0 {
		r.put("========================= <f> failed, <p> passed in <f2>s =========================", "f", n,
			"p", r.passed)
	} else {
		p := r.s.x("<p> passed in <f2>s", "p", r.passed)
		r.line = p.s
		r.text.line(p)
	}
}

func (r *testReport) vitest() {
	r.put("\n RUN  v<n>.<n>.<n> <root>\n")
	for _, b := range r.bugs {
		r.put(" ❯ <path> (<nn> tests | 1 failed) <nnn>ms\n   × <test>", env(b)...)
		r.put("     → <err>", env(b)...)
		r.put("\n FAIL  <path> > <fn> > <test>", env(b)...)
		r.put("Error: <err>\n ❯ <path>:<nn>:<n>\n", env(b)...)
	}
	if n := len(r.bugs); n > 0 {
		r.put(
			" Test Files  <f> failed | <nn> passed\n      Tests  <f> failed | <p> passed (<p>)\n   Duration  <f2>s",
			"f", n, "p", r.passed,
		)
	} else {
		p := r.s.x("      Tests  <p> passed (<p>)", "p", r.passed)
		r.line = p.s
		r.put(" ✓ <nn> test files")
		r.text.line(p)
		r.put("   Duration  <f2>s")
	}
}

// runTests runs the tests of a file, or all of them, with what is broken now.
func (s *synth) runTests(t *synthFile) {
	var found []synthBug
	for _, b := range s.bugs {
		if t == nil || b.test == t {
			found = append(found, b)
		}
	}
	out, line := s.testOutput(t, found)
	exit := 0
	if len(found) > 0 {
		exit = 1
	}
	s.run(s.testCommand(t), out, exit, line)
}

// logs is the output of a service, with lines of the caller among them.
func (s *synth) logs(n int, among ...phrase) phrase {
	var t phraseText
	at := make(map[int]phrase, len(among))
	for i, p := range among {
		at[(i+1)*n/(len(among)+1)] = p
	}
	shape := s.r.IntN(3)
	clock := s.now.Add(-s.jitter(3000))
	for i := range n {
		clock = clock.Add(s.jitter(5))
		ts := clock.Format("2006-01-02T15:04:05.000Z")
		if p, ok := at[i]; ok {
			t.line(p)
		}
		switch shape {
		case 0:
			t.line(s.x(pickOne(s.r, []string{
				"<ts> INFO  <noun>.<noun2> <verb> <noun3> id=<hex12> took=<f2>ms",
				"<ts> DEBUG <noun>.<noun2> cache <adj> key=<noun3>:<hex7> size=<nnnn>",
				"<ts> WARN  <noun>.<noun2> <verb> took long id=<hex12> took=<nnnn>ms retries=<n>",
			}), "ts", ts))
		case 1:
			t.line(
				s.x(
					"{\"time\":\"<ts>\",\"level\":\"<level>\",\"msg\":\"<verb> <noun>\",\"<noun2>_id\":\"<hex12>\",\"latency_ms\":<f2>,\"shard\":<n>}",
					"ts", ts, "level", pickOne(s.r, []string{"INFO", "INFO", "DEBUG", "WARN"}),
				),
			)
		default:
			t.line(
				s.x(
					"level=<level> ts=<ts> caller=<noun>.go:<nnn> msg=\"<verb> <noun>\" <noun2>=<hex12> n=<nnn2>", "ts",
					ts, "level",
					pickOne(s.r, []string{"info", "info", "debug", "warn"}),
				),
			)
		}
		if s.chinese && s.chance(4) {
			t.line(s.x("<ts> WARN  <noun> 用户反馈：订单 <hex12> 已取消，但库存没有恢复，请检查 <noun2> 服务（第 <n> 次）", "ts", ts))
		}
	}
	return t.trimmed()
}

// diffStat is the summary of a commit.
func (s *synth) diffStat() phrase {
	var t phraseText
	t.line(
		s.x("Author: <person> <<mail>@<org>.example>\nDate:   <day>\n\n    <verb> <noun>: <adj> <noun2>s\n",
			"mail", "dev"),
	)
	files := 0
	for _, f := range drawSome(s.r, s.p.files, s.between(2, 7)) {
		if f.exists {
			t.line(
				s.x(
					" <path> | <nn> <plus>", "path", f.path, "plus",
					strings.Repeat("+", s.between(1, 20))+strings.Repeat("-", s.r.IntN(9)),
				),
			)
			files++
		}
	}
	t.line(s.x(" <files> files changed, <nnn> insertions(+), <nn> deletions(-)", "files", files))
	return t.trimmed()
}

// diff shows changes to files as git does. It is about another branch: it changes nothing.
func (s *synth) diff(files []*synthFile) phrase {
	var t phraseText
	for _, f := range files {
		t.line(s.x("diff --git a/<path> b/<path>\nindex <hex7>..<hex12> 100644\n--- a/<path>\n+++ b/<path>",
			"path", f.path))
		for at := s.r.IntN(max(len(f.lines)/2, 1)); at < len(f.lines)-8; at += s.between(20, 160) {
			t.line(s.x("@@ -<a>,7 +<a>,9 @@", "a", at+1))
			for i, l := range f.lines[at : at+7] {
				if i == 3 {
					t.line(joinPhrases("", unmarked("-"), l))
					for _, n := range s.statement() {
						t.line(joinPhrases("", unmarked("+"), n))
					}
					continue
				}
				t.line(joinPhrases("", unmarked(" "), l))
			}
		}
	}
	return t.trimmed()
}

// table is the answer of a query, with measured values in it.
func (s *synth) table(rows int, values ...lit) phrase {
	var t phraseText
	t.line(s.x("<noun>_id,<noun2>,region,amount,<noun2>_at"))
	for i := range rows {
		t.line(
			s.x(
				"<hex7>,<noun>-<nn>,<region>,<f2>,<ts>", "region",
				pickOne(s.r, []string{"eu-west-1", "us-east-2", "ap-northeast-1", "sa-east-1"}),
			),
		)
		if i < len(values) {
			t.line(s.x("# p<nn> of <noun> <verb>: <value>", "value", values[i]))
		}
	}
	return t.trimmed()
}

// page is a document from the net.
func (s *synth) page(paragraphs int, facts ...phrase) phrase {
	var t phraseText
	t.line(s.x("# <Noun> <noun2>s: how to <verb> them\n"))
	for i := range paragraphs {
		if i < len(facts) {
			t.line(facts[i])
		}
		if s.chance(20) {
			t.line(s.x("## <Verb> a <adj> <noun>\n", "Verb", capital(pickOne(s.r, s.p.verbs))))
		}
		var para []phrase
		for range s.between(2, 6) {
			para = append(para, s.x(pickOne(s.r, pageSentences)))
		}
		t.line(joinPhrases(" ", para...))
		t.line(phrase{})
	}
	return t.trimmed()
}

var pageSentences = []string{
	"A <noun> is <adj> when its <noun2> was written more than <nnn> seconds ago.",
	"In version <n>.<n> the <noun> no longer <verbs> on its own; call <verb2> first.",
	"Most deployments keep between <nn> and <nnn> <noun>s per <noun2>, which takes about <f2> GB.",
	"You should never <verb> a <noun> while its <noun2> is open.",
	"The order of <noun>s within one <noun2> is guaranteed, across <noun2>s it is not.",
	"If the <noun> is <adj>, the <noun2> is rebuilt in the background and readers see the old one.",
	"Setting <noun>_limit to 0 turns the <noun2> off.",
	"We measured <nnn> <noun>s per second on a single core with <nn> <noun2>s.",
	"See the section on <noun>s for what happens when a <noun2> is lost.",
}
