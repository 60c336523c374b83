package synth

import (
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

func (s *synth) readUp() {
	version, value := s.newVersion(), s.newMeasure()
	if s.chance(45) {
		s.ask(
			s.x(
				pickOne(
					s.r,
					[]string{
						"What do the docs of <lib> say about <adj> <noun>s?",
						"Look at <lib> too, <person> swears by it.", "查一下 <lib> 对 <noun> 的支持情况。",
					}[:2+oneIf(s.chinese)],
				),
			),
		)
	}
	var hits phraseText
	for range s.between(4, 10) {
		hits.line(
			s.x(
				"- [<Noun> <noun2>s with <lib>](https://<lib>.example/docs/<noun>-<noun2>-<nnn>)\n  A <noun> can <verb> <nn> <noun2>s; when it is <adj>, the caller decides.",
			),
		)
	}
	page := s.page(s.size(9, 90)/3,
		s.x("The current release is <v>; older ones <verb> <adj> <noun>s twice.", "v", version),
		s.x("In our tests one <noun> took <value>.", "value", value))
	search, fetch := s.x("<lib> <adj> <noun> <verb>"), s.x("https://<lib>.example/docs/<noun>/<verb>")
	switch s.style.name {
	case "claude":
		s.do(pendingCall{tool: "WebSearch", input: callInput("query", search), result: hits.trimmed()})
		s.step()
		s.do(
			pendingCall{
				tool:   "WebFetch",
				input:  callInput("url", fetch, "prompt", s.x("How are <adj> <noun>s handled?")),
				result: page,
			},
		)
	case "opencode":
		s.do(pendingCall{tool: "websearch", input: callInput("query", search), result: hits.trimmed()})
		s.step()
		s.do(pendingCall{tool: "webfetch", input: callInput("url", fetch, "format", "markdown"), result: page})
	default:
		s.run(s.x("curl -sL <u>", "u", fetch), page, 0, "")
	}
	s.step()
	s.writeNote(s.x("- <lib>: takes <value> for one <noun>, <adj> ones are left to the caller.", "value", value))
	if s.chance(60) {
		s.think(joinPhrases(" ", s.x(pickOne(s.r, synthThoughts)), s.x(pickOne(s.r, synthThoughts))))
		s.explain(s.extra("notes"))
		s.decide(s.x("one <noun> takes <value> and the <noun2> is <adj> most of the time", "value", value))
		s.step()
	}
	s.remember(version)
	s.remember(value)
}

func (s *synth) readLogs() {
	port, request, host, version := s.newPort(), s.newRequest(), s.newHost(), s.newVersion()
	err := s.newError()
	if s.chance(40) {
		s.ask(
			s.x(
				pickOne(s.r, []string{
					"It happened again, on <host>.", "Look at the logs of <host> please, around request <req>.",
				}),
				"host", host, "req", request,
			),
		)
	}
	lines := []phrase{
		s.x("<ts> INFO  <noun> listening addr=0.0.0.0:<port> version=<v>", "port", port, "v", version),
		s.x("<ts> ERROR <noun>.<noun2> <err> request=<req> host=<host>", "err", err, "req", request, "host", host),
	}
	out := s.logs(s.size(20, 140), lines...)
	s.run(s.x("kubectl logs deploy/<noun>-<noun2> --tail=<nnn>"), out, 0, "")
	s.step()
	s.think(
		s.x(
			"The error `<err>` comes right after the <noun> was <verbed>. Before it there is nothing unusual for request <req>.",
			"err", err, "req", request,
		),
	)
	s.say(s.x("The log shows `<err>` on <host>. The service listens on <port>.", "err", err, "host", host,
		"port", port))
	s.look(s.file(false))
	s.step()
	for _, l := range []lit{port, request, host, version, err} {
		if s.chance(80) {
			s.remember(l)
		}
	}
}

func (s *synth) refactor() {
	f := s.file(true)
	if s.chance(50) {
		s.ask(
			s.x(
				pickOne(s.r, []string{
					"<path> has the wrong name by now, please clean that up.", "Can you tidy up around <path>?",
				}),
				"path", f.path,
			),
		)
	}
	s.read(f, 0, 0)
	s.step()
	if s.chance(50) {
		to := s.newPath(f.path.s[:strings.LastIndexByte(f.path.s, '/')], func() string {
			return s.p.lang.file(pickOne(s.r, s.p.nouns), pickOne(s.r, s.p.nouns))
		})
		f = s.rename(f, to)
		s.step()
		s.change(f)
		s.step()
	} else if t := s.testsOf(f); t != nil && !s.frozenFile(t) {
		s.remove(t)
		s.step()
		s.say(s.x("The tests of <path> were duplicates of those for <fn>, so they are gone.", "path", f.path))
	}
	for range s.between(1, 3) {
		s.change(s.file(true))
	}
	s.step()
	s.runTests(nil)
	s.step()
}

// largeOutput is a result of the long tail.
func (s *synth) largeOutput() {
	size := s.between(80, 260)
	if s.chance(25) {
		size = s.between(260, 700)
	}
	size = min(size, s.o.Tokens/200, max(s.o.Tokens-s.tokens, 0)/45+20)
	switch s.r.IntN(3) {
	case 0:
		request := s.newRequest()
		s.run(
			s.x("journalctl -u <noun>-<noun2> --since today --no-pager"),
			s.logs(size, s.x("<ts> ERROR <noun> gave up request=<req> attempts=<n>", "req", request)), 0, "",
		)
		s.step()
		s.remember(request)
	case 1:
		value := s.newMeasure()
		s.run(s.x("cat data/<noun>-<day>.csv"), s.table(size, value), 0, "")
		s.step()
		s.remember(value)
	default:
		s.run(s.x("git diff HEAD~<nn>"), s.diff(drawSome(s.r, s.existing(), size/40)), 0, "")
		s.step()
	}
}

func (s *synth) existing() []*synthFile {
	var out []*synthFile
	for _, f := range s.p.files {
		if f.exists {
			out = append(out, f)
		}
	}
	return out
}

// revert is a change that the person does not want, and its undoing.
func (s *synth) revert() {
	f := s.file(true)
	before := f.lines
	n := len(before)
	if n < 20 {
		return
	}
	at := s.between(8, n-6)
	s.reflect(f)
	s.edit(f, at, 2, s.statement())
	s.step()
	s.say(s.x("I changed <path> so that a <adj> <noun> is no longer <verbed>.", "path", f.path))
	s.step()
	s.human(-1, s.x(pickOne(s.r, []string{
		"no, revert that, the <noun> has to stay as it was in <path>",
		"Please undo the last change to <path>, I did not ask for it.",
		"no no, put <path> back, we <verbed> the <noun> that way on purpose",
	}), "path", f.path))
	lines := append([]phrase(nil), before[at:at+2]...)
	s.edit(f, at, len(f.lines)-n+2, lines)
	s.step()
	s.say(s.x("<path> is back to what it was.", "path", f.path))
	s.step()
}

// interrupt is a call that the person refuses, with the reason.
func (s *synth) interrupt() {
	if s.style.name != "claude" {
		return
	}
	words := s.x(
		pickOne(
			s.r,
			[]string{
				"not now, look at the <noun> first",
				"no, leave the <noun> as it is and continue with the <noun2>",
				"stop, that takes too long on this machine",
			},
		),
	)
	result := s.x(
		"The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\n<words>",
		"words", words,
	)
	s.do(
		pendingCall{
			tool:   s.shellTool(),
			input:  s.shellInput(s.x("make <noun>-<verb> N=<nnn>")),
			result: result,
			failed: true,
			said:   words,
		},
	)
	s.step()
	s.say(s.x("Understood, I leave that."))
	s.lookAround()
}

// close is the end: what is left is used, and the assistant sums up.
func (s *synth) close() {
	if n := len(s.msgs); n > 0 && s.msgs[n-1].Role() == transcript.RoleAssistant {
		s.ask(s.x(pickOne(s.r, []string{"Where do we stand?", "Please sum up for <person>.", "Thanks, what is left?"})))
	}
	s.say(s.x(
		"The <noun> part is done and its tests pass; the <adj> <noun2>s are still open. I would look at <fn> next."))
	s.step()
}
