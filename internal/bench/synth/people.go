package synth

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/transcript"
)

// synthRule is a constraint that a person laid down and may come back to.
type synthRule struct {
	truth int // index into Truth.Constraints
	kind  *ruleKind
	env   []any
	dir   string // that must not be changed
	said  int    // tokens when it was said last
	over  bool
}

// ruleKind is a matter that people have rules about: how it is said, said again, and
// taken back or replaced.
type ruleKind struct {
	say, again, lift, replace []string
	value                     string // the name of what is replaced
}

var ruleDirs = &ruleKind{
	say: []string{
		"Don't touch anything under <dir>, the <team> team owns it and <person> is in the middle of a migration.",
		"Please leave <dir> alone for now, it is being rewritten on another branch.",
		"Nothing in <dir> may change in this round.",
		"<dir> is frozen until the audit is over.",
		"不要修改 <dir> 下面的任何文件，那部分归 <team> 团队管。",
		"<dir> 以下は触らないでください、<person> が移行作業中です。",
	},
	again: []string{
		"And as I said, nothing under <dir>.",
		"Same rule as before for <dir>: hands off.",
		"Remember that <dir> stays as it is.",
	},
	lift: []string{
		"You can touch <dir> now, the <team> team is done.",
		"OK, the freeze on <dir> is over, go ahead and change what you need there.",
		"Forget what I said about <dir>, the migration was called off.",
		"<dir> 现在可以改了，<team> 那边已经合并。",
	},
}

var ruleKinds = []*ruleKind{
	{
		say: []string{
			"Always talk to the staging <noun> on port <port>, not the default one.",
			"Use port <port> for the local <noun>, the other ones are taken on my machine.",
			"本地的 <noun> 服务必须用端口 <port>。",
		},
		again: []string{"(port <port> again, please)", "Again: the <noun> is on <port>."},
		value: "port",
		replace: []string{
			"Actually, use port <port2> for the <noun> from now on, <port> belongs to the old collector.",
			"Correction: the <noun> moved, it's port <port2> instead of <port>.",
		},
	},
	{
		say: []string{
			"No new dependencies please, we got burned by <lib> last quarter.",
			"Don't add any dependency for this, the standard library has to do.",
			"新しい依存は追加しないでください。",
		},
		again: []string{"Still no new dependencies."},
		lift: []string{
			"Forget what I said about dependencies, <lib> is fine, legal approved it.",
			"You may add <lib> as a dependency after all.",
		},
	},
	{
		say: []string{
			"Never push to <branch> yourself, I'll do that after a look.",
			"Do not push anything, commit locally and stop.",
			"I want to push <branch> myself.",
		},
		again: []string{"Commit, but the push is mine."},
		lift:  []string{"You can push <branch> yourself now, CI is green and I'm off."},
	},
	{
		say: []string{
			"Keep the exported names of <type> as they are, the <team> service compiles against them.",
			"<type> is public API, its signatures must not change.",
			"<type> 的公开接口必须保持不变。",
		},
		again: []string{"And <type> keeps its signatures, as before."},
	},
	{
		say: []string{
			"Timeouts must stay below <ms> ms everywhere, the gateway cuts us off after that.",
			"Every retry loop should give up after <ms> ms at the latest.",
		},
		value: "ms",
		replace: []string{
			"Make that <ms2> ms instead of <ms> ms, <person> raised the gateway's limit.",
			"Actually the limit is <ms2> ms now, not <ms> ms.",
		},
	},
	{
		say: []string{
			"Every error should name the <noun> it is about.",
			"From now on write the <noun> id into every log line you add.",
		},
		again: []string{"The <noun> belongs into the message, see above."},
	},
	{
		say: []string{
			"Log messages stay in English, also where the data is Chinese.",
			"日志里的中文字段必须原样保留，不能转义。",
		},
		again: []string{"Also here: what I said about the language of the logs."},
	},
	{
		say: []string{
			"Ask me before you delete any <noun> fixture.", "<noun> fixtures are only deleted after I said yes.",
		},
		lift: []string{"You don't have to ask about <noun> fixtures any more, just delete them."},
	},
	{
		say: []string{
			"Don't mock the <noun>, use the real one in tests.", "Tests go against the real <noun>, no mocks.",
		},
		again: []string{"No mocks for the <noun>, remember."},
		lift: []string{
			"Mocking the <noun> is OK from here on.",
			"You can mock the <noun> now, the real one takes too long.",
		},
	},
	{
		say: []string{
			"Run the whole test suite before you tell me that something is done.",
			"I'd rather have three small commits than a large one.", "Only touch code that <ticket> is about.",
			"Every change needs a line in the changelog under <ticket>.",
		},
	},
}

// human adds a message of a person.
func (s *synth) human(answers int, parts ...phrase) int {
	s.wait()
	p := joinPhrases(" ", parts...)
	if len(parts) > 1 && s.chance(30) {
		p = joinPhrases("\n\n", parts...)
	}
	blocks := []transcript.Block{transcript.Say(p.s)}
	if s.style.name == "claude" && s.chance(15) { // what the agent's program puts beside the words
		reminder := s.x(pickOne(s.r, synthReminders))
		blocks = append(blocks, transcript.Say("<system-reminder>\n"+reminder.s+"\n</system-reminder>"))
	}
	if s.chance(2) || s.images == 0 && s.tokens > 90_000 {
		s.images++
		blocks = append(blocks, s.screenshot())
	}
	at := s.add(transcript.NewMessage(transcript.RoleUser, blocks...), p.marks, p.s)
	s.truth.Said = append(s.truth.Said, SaidTruth{Message: at, Text: p.s, Answers: answers})
	return at
}

// synthReminders are texts in user messages that no person wrote.
var synthReminders = []string{
	"The task list has not been updated for a while. Only use it if it is relevant to the current work. Never mention this reminder to the user.",
	"As you answer the user's questions, you can use the following context: the current branch is <noun>-<noun2>. You should not respond to this context unless it is relevant.",
	"Note: a file was modified, either by the user or by a linter. This change was intentional, so make sure to take it into account. Don't tell the user this.",
}

// wait lets the time pass that a person takes: seconds, minutes, a lunch, a night.
func (s *synth) wait() {
	n := s.r.IntN(100)
	if s.tokens-s.left > 30_000 {
		n = s.between(70, 99) // nobody sits there all the time
	}
	if n >= 70 {
		s.left = s.tokens
	}
	switch {
	case n < 70:
		s.now = s.now.Add(10*time.Second + s.jitter(200))
	case n < 88:
		s.now = s.now.Add(5*time.Minute + s.jitter(1500))
	case n < 96:
		s.now = s.now.Add(time.Hour + s.jitter(5400))
	default:
		s.now = s.now.Add(11*time.Hour + s.jitter(14400))
	}
}

// sentence chooses a template that is not in a language that the people do not write.
func (s *synth) sentence(list []string) string {
	for {
		t := pickOne(s.r, list)
		if writing(t) == 0 || writing(t) == 1 && s.chinese || writing(t) == 2 && s.japanese {
			return t
		}
	}
}

// writing says which writing a template is in: 1 Chinese, 2 Japanese, else 0.
func writing(t string) int {
	n := 0
	for _, r := range t {
		switch {
		case r >= 0x3040 && r < 0x3100:
			return 2
		case r >= 0x4e00 && r < 0xa000:
			n = 1
		}
	}
	return n
}

// newRule makes a sentence that lays down a rule; it enters the truth when its message is
// said, by the function that is returned.
func (s *synth) newRule() (phrase, func(at int)) {
	kind, dir := pickOne(s.r, ruleKinds), ""
	if s.chance(30) && len(s.p.frozen) < 2 {
		kind = ruleDirs
	}
	d := pickOne(s.r, s.p.dirs)
	if kind == ruleDirs {
		if slices.Contains(s.p.frozen, d) || d == s.p.busy {
			return phrase{}, nil
		}
		dir, s.p.busy = d, d // and not twice in one message
	}
	env := []any{
		"dir", d + "/", "team", pickOne(s.r, synthTeams), "person", pickOne(s.r, s.p.people), "lib",
		pickOne(s.r, synthLibs), "noun", pickOne(s.r, s.p.nouns), "type", pickOne(s.r, s.p.types), "branch",
		pickOne(s.r, []string{"main", "release", "develop"}),
		"port", s.newPort(), "ms", s.newLimit(), "ticket", s.newTicket(),
	}
	p := s.x(s.sentence(kind.say), env...)
	for _, c := range s.truth.Constraints {
		if c.Text == p.s {
			return phrase{}, nil
		}
	}
	return p, func(at int) {
		rule := synthRule{truth: len(s.truth.Constraints), kind: kind, env: env, dir: dir, said: s.tokens}
		s.rules = append(s.rules, rule)
		s.truth.Constraints = append(
			s.truth.Constraints, ConstraintTruth{Text: p.s, Message: at, Withdrawn: -1, Replaces: -1},
		)
		if dir != "" {
			s.p.frozen = append(s.p.frozen, dir)
		}
		if kind.value == "port" {
			s.remember(ruleValue(env, kind))
		}
	}
}

// ruleValue is the value that a rule is about.
func ruleValue(env []any, kind *ruleKind) lit {
	v, _ := synthEnv(env).find(kind.value)
	return v.(lit)
}

// oldRule says a rule again, takes it back or replaces it.
func (s *synth) oldRule() (phrase, func(at int)) {
	var ready []int
	for i, r := range s.rules {
		if !r.over && s.tokens-r.said > min(5_000, s.o.Tokens/12) {
			ready = append(ready, i)
		}
	}
	if len(ready) == 0 {
		return phrase{}, nil
	}
	i := pickOne(s.r, ready)
	r := s.rules[i]
	switch {
	case len(r.kind.replace) > 0 && s.chance(75):
		return s.replaceRule(i)
	case len(r.kind.lift) > 0 && s.chance(75):
		p := s.x(s.sentence(r.kind.lift), r.env...)
		return p, func(at int) {
			s.rules[i].over = true
			c := &s.truth.Constraints[r.truth]
			c.Withdrawn, c.LiftedBy = at, p.s
			s.p.frozen = slices.DeleteFunc(s.p.frozen, func(d string) bool { return d == r.dir })
		}
	case len(r.kind.again) > 0:
		return s.x(s.sentence(r.kind.again), r.env...), func(at int) {
			s.rules[i].said = s.tokens
			c := &s.truth.Constraints[r.truth]
			c.Restated = append(c.Restated, at)
		}
	}
	return phrase{}, nil
}

// replaceRule puts a new value in the place of a rule's old one.
func (s *synth) replaceRule(i int) (phrase, func(at int)) {
	r := s.rules[i]
	value := s.newPort()
	if r.kind.value == "ms" {
		value = s.newLimit()
	}
	p := s.x(s.sentence(r.kind.replace), append([]any{r.kind.value + "2", value}, r.env...)...)
	return p, func(at int) {
		s.rules[i].over = true
		c := &s.truth.Constraints[r.truth]
		c.Withdrawn, c.LiftedBy = at, p.s
		old := ruleValue(r.env, r.kind)
		// Nobody uses it any more.
		s.facts = slices.DeleteFunc(s.facts, func(f synthFact) bool { return f.l.id == old.id })
		if r.kind.value == "port" {
			s.remember(value)
		}
		env := append([]any{r.kind.value, value}, r.env...) // the first one counts
		s.rules = append(s.rules, synthRule{truth: len(s.truth.Constraints), kind: r.kind, env: env, said: s.tokens})
		s.truth.Constraints = append(
			s.truth.Constraints, ConstraintTruth{Text: p.s, Message: at, Withdrawn: -1, Replaces: r.truth},
		)
	}
}

// ask has the person say something before a piece of work: the request, and perhaps a
// rule or a change of one.
func (s *synth) ask(request phrase) {
	parts := []phrase{request}
	var done []func(int)
	more := func(p phrase, enter func(int)) {
		if enter != nil {
			parts, done = append(parts, p), append(done, enter)
		}
	}
	live := 0
	for _, r := range s.rules {
		if !r.over {
			live++
		}
	}
	if s.chance(50) && live < 12 && len(s.rules) < 4+s.tokens/9_000 {
		more(s.newRule())
	} else {
		more(s.oldRule())
	}
	if s.chance(12) {
		parts = append(parts, s.paste())
	}
	at := s.human(-1, parts...)
	for _, enter := range done {
		enter(at)
	}
}

// paste is output that a person copied into a message. One line of it matters later.
func (s *synth) paste() phrase {
	l := s.newRequest()
	s.remember(l)
	return s.x(
		"This is what I see:\n\n```\n<out>\n```", "out",
		s.logs(s.size(5, 40), s.x("<ts> ERROR <noun> rejected <noun2> id=<l> code=<nnn>", "l", l)),
	)
}

// question has the assistant offer two ways and the person choose one by a word.
func (s *synth) question() {
	a := s.x(pickOne(s.r, synthChoices))
	b := s.x(pickOne(s.r, synthChoices))
	lead := s.x(pickOne(s.r, []string{
		"Before I go on there are two ways to handle the <adj> <noun> case:", "I see two options for <fn>:",
		"This can be done in two ways, and they differ in what happens to a <adj> <noun>:",
	}))
	tail := pickOne(s.r,
		[]string{"Which one do you prefer?", "Which one shall I take?", "Should I go with (a) or (b)?"})
	s.say(
		joinPhrases(
			"\n", lead, unmarked(""), joinPhrases("", unmarked("a) "), a), joinPhrases("", unmarked("b) "), b),
			unmarked(""),
			unmarked(tail),
		),
	)
	q := s.step()
	chosen, answer := b, pickOne(s.r, []string{"b", "b please", "b, go", "option b"})
	if s.chance(50) {
		chosen, answer = a, pickOne(s.r, []string{"a", "a.", "do a", "the first one", "(a) sounds right"})
	}
	at := s.human(q, unmarked(answer))
	s.truth.Decisions = append(
		s.truth.Decisions,
		DecisionTruth{Message: at, By: transcript.RoleUser, Text: chosen.s, Choice: chosen.s, Question: q},
	)
}

// choices are ways to do something, as the assistant offers them.
var synthChoices = []string{
	"keep <fn> synchronous and give each <noun> its own <noun2> lock",
	"move the <noun> check out of <fn> and let the <noun2> reject <adj> entries",
	"store the <noun> next to the <noun2> and rebuild both when one is <adj>",
	"leave <type> alone and wrap it in a small <noun> adapter",
	"batch the <noun>s by <noun2> and flush every <nnn> ms",
	"drop the <adj> <noun>s at the edge and count them",
	"retry the <noun> <n> times, then park it in the <noun2> queue",
	"let <fn> return the <adj> <noun> with a flag instead of an error",
}

// decide has the assistant state a decision with its reason; it enters the truth with the
// answer that is being made.
func (s *synth) decide(reason phrase) {
	choice := s.x(pickOne(s.r, synthChoices))
	p := s.x(pickOne(s.r, []string{
		"I'll <choice>, because <reason>.", "Decision: <choice>. The reason: <reason>.",
		"Going with this: <choice>, since <reason>.", "I decided to <choice>; <reason>.",
	}), "choice", choice, "reason", reason)
	s.say(p)
	s.truth.Decisions = append(s.truth.Decisions, DecisionTruth{
		Message: len(s.msgs), By: transcript.RoleAssistant, Text: p.s, Choice: choice.s, Reason: reason.s, Question: -1,
	})
}

func (s *synth) reason() phrase {
	return s.x(pickOne(s.r, []string{
		"the <noun> lock is held for <f2>s when the <noun2> is <adj>",
		"<fn> is called from <nn> places and most of them ignore the error",
		"a second <noun> index would double the <noun2> writes",
		"<person>'s benchmark shows no gain above <nnn> <noun>s",
		"the <team> service still sends <adj> <noun>s and would break",
		"<type> cannot be copied while a <noun> is open",
	}))
}

// frozenFile reports whether a file must not be changed at the moment.
func (s *synth) frozenFile(f *synthFile) bool {
	dir := path.Dir(f.path.s)
	return slices.ContainsFunc(s.p.frozen, func(d string) bool { return dir == d || strings.HasPrefix(dir, d+"/") })
}
