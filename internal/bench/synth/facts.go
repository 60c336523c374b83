package synth

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// synthFact is an exact string that was shown and will be needed again later.
type synthFact struct {
	l    lit
	kind LiteralKind
	due  int // tokens at which it is needed
	left int // how often it is needed still
}

// Numbers with five digits belong to ports alone, measured values have one decimal, other
// numbers two or none: so that noise never repeats a literal.

func (s *synth) newPort() lit {
	return s.plant(LiteralPort, s.fresh(func() string { return strconv.Itoa(s.between(30_000, 64_999)) }))
}

func (s *synth) newLimit() lit {
	return s.plant(
		LiteralMeasure, s.fresh(func() string { return strconv.Itoa(s.between(1_001, 2_999)*10 + s.between(1, 9)) }),
	)
}

func (s *synth) newTicket() lit {
	return s.plant(LiteralID, s.fresh(func() string {
		return strings.ToUpper(s.p.name[:3]) + "-" + strconv.Itoa(s.between(1000, 9999))
	}))
}

func (s *synth) newSHA() lit {
	return s.plant(LiteralSHA, s.fresh(func() string { return s.hex(9) }))
}

func (s *synth) newVersion() lit {
	return s.plant(LiteralVersion, s.fresh(func() string {
		return fmt.Sprintf("v%d.%d.%d", s.between(1, 9), s.between(10, 99), s.between(10, 99))
	}))
}

func (s *synth) newRequest() lit {
	return s.plant(
		LiteralID, s.fresh(func() string { return pickOne(s.r, []string{"req_", "evt_", "job_", "trc_"}) + s.hex(14) }),
	)
}

func (s *synth) newRun() lit {
	return s.plant(
		LiteralID, s.fresh(func() string { return fmt.Sprintf("%d%08d", s.between(101, 899), s.r.IntN(100_000_000)) }),
	)
}

func (s *synth) newHost() lit {
	return s.plant(LiteralHost, s.fresh(func() string {
		return fmt.Sprintf("%s-%s.%s.internal", pickOne(s.r, s.p.nouns), s.hex(5), s.p.name)
	}))
}

func (s *synth) newMeasure() lit {
	return s.plant(LiteralMeasure, s.fresh(func() string {
		unit := pickOne(s.r, []string{"ms", "MiB", "s", "kB/s"})
		return fmt.Sprintf("%d.%d%s", s.between(10, 999), s.between(1, 9), unit)
	}))
}

func (s *synth) newError() lit {
	return s.plant(LiteralError, s.fresh(func() string {
		return s.x(pickOne(s.r, []string{
			"<verb> <noun>: <noun2> <nnn> out of range [0, <nn>)",
			"<noun> <noun2> is <adj>: got <nnn> entries, want <nnn2>",
			"cannot <verb> <noun> after <noun2> <nnn> was closed",
			"<noun> checksum mismatch at offset <nnnn>: have <hex7>, want <hex12>",
			"<verb> <noun>: deadline of <nnnn> ms exceeded while waiting for <noun2>",
			"duplicate <noun> key \"<noun2>-<nnn>\" in <adj> batch <nn>",
		})).s
	}))
}

// remember schedules the next use of a literal: soon, or far away.
func (s *synth) remember(l lit) {
	if slices.ContainsFunc(s.facts, func(f synthFact) bool { return f.l.id == l.id }) {
		return
	}
	reach := s.o.Tokens - s.tokens
	due := s.tokens + s.between(1_000, 4_000)
	if s.chance(65) {
		due = s.tokens + s.r.IntN(max(reach*9/10, 1_000))
	}
	s.facts = append(s.facts, synthFact{l, s.lits[l.id].Kind, due, s.between(1, 3)})
}

// useFacts has the agent use what it learned when the time has come.
func (s *synth) useFacts() {
	for i := 0; i < len(s.facts); i++ {
		f := s.facts[i]
		if f.due > s.tokens {
			continue
		}
		s.facts = slices.Delete(s.facts, i, i+1)
		i--
		s.use(f)
		if f.left > 1 {
			s.remember(f.l)
			s.facts[len(s.facts)-1].left = f.left - 1
		}
	}
}

// use is one use of a literal. What answers it does not repeat it more than real tools do.
func (s *synth) use(f synthFact) {
	x := func(template string) phrase { return s.x(template, "l", f.l) }
	switch f.kind {
	case LiteralPort:
		s.say(
			x(pickOne(s.r,
				[]string{"Let me see whether the <noun> answers now.", "Checking the <noun> endpoint once more."})),
		)
		if s.chance(75) {
			s.run(
				x("curl -sS localhost:<l>/<noun>/healthz"),
				s.x("{\"status\":\"ok\",\"<noun>\":<nnn>,\"<noun2>_lag_ms\":<nn>,\"build\":\"<hex7>\"}"), 0, "",
			)
		} else {
			out := x("curl: (7) Failed to connect to localhost port <l> after <n> ms: Couldn't connect to server")
			s.run(x("curl -sS localhost:<l>/<noun>/healthz"), out, 7, out.s)
		}
	case LiteralSHA:
		s.run(
			x(pickOne(s.r, []string{"git show --stat <l>", "git diff <l>..HEAD --stat", "git branch --contains <l>"})),
			s.diffStat(), 0, "",
		)
	case LiteralVersion:
		s.say(x("Pinning <lib> to <l>, the version that the <noun> runs with."))
		s.run(
			x(
				map[string]string{
					".go": "go get github.com/<org>/<lib>@<l>",
					".py": "pip install '<lib>==<l>'",
					".ts": "npm install --save-exact <lib>@<l>",
				}[s.p.lang.ext],
			),
			s.x("added <n> packages in <f2>s"),
			0,
			"",
		)
	case LiteralHost:
		s.run(
			x("ssh <l> 'systemctl status <noun>-<noun2> --no-pager'"),
			s.x(
				"● <noun>-<noun2>.service - <proj> <noun>\n     Active: active (running) since <day>; <n>h ago\n   Main PID: <nnnn> (<noun>)\n      Tasks: <nn>\n     Memory: <f2>M",
			),
			0,
			"",
		)
	case LiteralID:
		s.useID(f)
		return
	default:
		s.mention(f)
		return
	}
	s.step()
}

func (s *synth) useID(f synthFact) {
	x := func(template string) phrase { return s.x(template, "l", f.l) }
	switch {
	case strings.Contains(f.l.s, "-"): // a ticket
		s.commit(x("<verb> the <adj> <noun> (<l>)"))
	case strings.Contains(f.l.s, "_"):
		var t phraseText
		for range s.between(1, 5) {
			t.line(x("logs/<noun>.log:<nnnn>:<ts> level=warn <noun>=<l> msg=\"<verb> <noun2>\" attempt=<n>"))
		}
		s.run(x("rg -n <l> logs/"), t.phrase(), 0, "")
		s.step()
	default:
		s.say(x("Looking at run <l> again, now for the <noun> job."))
		s.run(
			x("gh run view <l> --json status,conclusion,jobs"),
			s.x(
				"{\"status\":\"completed\",\"conclusion\":\"failure\",\"jobs\":[{\"name\":\"<noun>\",\"conclusion\":\"success\",\"steps\":<nn>},{\"name\":\"<noun2>\",\"conclusion\":\"failure\",\"steps\":<nn2>}]}",
			),
			0,
			"",
		)
		s.step()
	}
}

// mention writes a literal into prose or into the project's notes.
func (s *synth) mention(f synthFact) {
	x := func(template string) phrase { return s.x(template, "l", f.l) }
	switch f.kind {
	case LiteralError:
		if s.chance(50) {
			s.writeNote(x("- `<l>`: seen while the <noun> was <adj>, fixed by <fn>."))
			return
		}
		s.think(x(
			"The message is the one from before, `<l>`, so the <noun> path is involved again and not the <noun2>."))
		s.grep(s.name(classFn, s.p.fns))
	case LiteralMeasure:
		if s.chance(50) {
			s.writeNote(x("| <noun> <verb> | <l> | <f2>x | <day> |"))
			return
		}
		s.say(x("For comparison, the earlier figure was <l>; let me look at the <noun> side again."))
		s.grep(s.name(classConst, s.p.consts))
	case LiteralPath:
		s.say(
			x(
				pickOne(
					s.r,
					[]string{
						"Coming back to <l>: the <noun> there is still <adj>.",
						"I left <l> half done, that comes next.",
						"One thing is missing in <l>.",
					},
				),
			),
		)
		for _, file := range s.p.files {
			if file.path.id == f.l.id && file.exists {
				s.look(file)
			}
		}
	default:
		s.say(
			x(
				pickOne(
					s.r,
					[]string{
						"Coming back to <l>: the <noun> there is still <adj>.",
						"Who else calls <l>?",
						"I want to look at <l> again before I go on.",
					},
				),
			),
		)
		s.grep(f.l)
	}
	s.step()
}
