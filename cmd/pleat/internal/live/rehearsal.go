package live

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/rehearsal"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
)

// pace is the pause after each word of the rehearsal on a terminal.
const pace = 12 * time.Millisecond

// playing is a rehearsal in progress: a program plays the model.
type playing struct {
	rehearsal.Scenario
	window      int
	over, whole int  // the first request that the window would not hold, and its tokens
	turn, sent  int  // the newest request of the prompt, and its tokens
	requests    int  // before it
	large       bool // a request before it had more than the window

	provider *rehearsal.Provider
	epochs   map[fold.Trigger]int
	cleared  int    // results, after a pause
	answer   string // the last one
	wrote    string // the last place below legacy/ that it wanted to change
	done     bool

	unwritten int // digests that code wrote in a model's place
}

// Scenarios lists what can be played, and About says what each shows, and whose it is.
var Scenarios, About = rehearsal.Names, rehearsal.About

// rehearse sets up the rehearsal. It is kept like any other session: in the store, and its
// files in a folder of their own, so that it can be looked at and resumed.
func (r *running) rehearse(ctx context.Context) error {
	play, err := r.scenario()
	if err != nil {
		return err
	}
	r.p.Printf("pleat: this is a rehearsal: a program plays the model; its tools are real, and nothing is spent\n")
	if err := r.stage(ctx, play, "rehearsal-"+play.Name); err != nil {
		return err
	}
	s := &r.o.Session
	policy := s.Policy
	r.o = play.Options(r.work)
	model := r.o.Generator.(*rehearsal.Model)
	s.Policy, s.Digest.Model = play.Tuned(policy), s.Model
	s.Budget, r.screen.frames = play.Budget(policy), play.Frames
	r.screen.stubs, r.screen.transcripts = play.Name != "shop", s.Policy.Transcripts
	if r.f.digests.Name == "none" {
		s.Digest.Generator = nil
	}
	if r.screen.live {
		model.Pace = pace
	}
	r.name = "rehearsal"
	if r.f.window > 0 {
		s.Budget.Window = int(r.f.window)
		if play.Troubles.Limit == 0 { // it has the window that it is told to have, or a larger one
			model.Provider.Limit = max(model.Provider.Limit, s.Budget.Window)
		}
	}
	r.play.provider, r.play.window = model.Provider, cmp.Or(s.Budget.Window, play.Window)
	return nil
}

// trial lets the model that was chosen play a scenario whose end can be judged.
func (r *running) trial(ctx context.Context) error {
	play, err := r.scenario()
	if err == nil && play.Forbids == "" {
		err = term.UsageError("--model: only the scenarios constraint and plot can be played by a model")
	}
	if err != nil {
		return err
	}
	r.p.Printf("pleat: %s plays this scenario: its requests are paid, and its tools are real\n", r.name)
	s := &r.o.Session
	s.Budget.Window = cmp.Or(s.Budget.Window, play.Budget(s.Policy).Window)
	err = r.stage(ctx, play, "run")
	if err == nil {
		r.play.provider, r.play.window = &rehearsal.Provider{}, int(s.Model.Window)
	}
	return err
}

// scenario finds what is to be played, under which policy.
func (r *running) scenario() (rehearsal.Scenario, error) {
	name := r.f.scenario
	if rest, ok := strings.CutPrefix(r.key.Session, "rehearsal-"); ok && name == "" {
		name = rest[:max(len(rest)-len("-20060102-150405-abcdef"), 0)]
	}
	play, err := rehearsal.Find(cmp.Or(name, "shop"))
	if err != nil {
		return play, term.UsageError(err.Error())
	}
	if play.Policy != "" && r.f.policy != "default" && r.f.policy != play.Policy {
		return play, term.UsageError(fmt.Sprintf("--policy: %s is played under its own policy", name))
	}
	if play.Policy != "" {
		r.o.Session.Policy, err = sessionfile.NamedPolicy(play.Policy)
	}
	return play, err
}

// stage opens the store and the folder that is worked in, and says what there is to see.
func (r *running) stage(ctx context.Context, play rehearsal.Scenario, prefix string) error {
	err := r.open(ctx, prefix)
	dir := r.f.dir
	if err == nil && dir == "." {
		dir, err = RehearsalDir(r.p, r.key.Session)
	}
	folder := filepath.Join(dir, play.Name)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return fmt.Errorf("prepare the rehearsal: %w", err)
	}
	list, err := os.ReadDir(folder)
	if err == nil && len(list) == 0 { // otherwise an earlier rehearsal goes on
		err = play.Prepare(folder)
	}
	if err == nil {
		r.work, err = agent.OpenWorkspace(folder, r.f.roots...)
	}
	if err != nil {
		return err
	}
	r.play = &playing{Scenario: play, epochs: make(map[fold.Trigger]int)}
	r.rules.Allow = append(r.rules.Allow, rehearsal.Rules().Allow...)
	if shows := play.Shows(); shows != "" {
		r.p.Printf("%s\n", r.screen.s.Dim(play.Name+": "+shows))
	}
	if r.f.resume == "" {
		r.task = play.Said()[0]
		r.p.Printf("› %s\n", r.task)
	}
	return nil
}

// RehearsalDir is the folder of a rehearsal's files.
func RehearsalDir(p *term.Console, session string) (string, error) {
	path, err := stores.Path(p, "")
	return filepath.Join(filepath.Dir(path), "rehearsals", filepath.Base(filepath.Clean("/"+session))), err
}

// watch notes what happens, and when the whole conversation would have outgrown the window.
func (p *playing) watch(next func(agent.Event)) func(agent.Event) {
	return func(e agent.Event) {
		if e.Kind == agent.EventSnapshot && e.Depth == 0 { // the last one before a request is what it has
			if e.Turn != p.turn {
				p.requests++
				p.large = p.large || p.sent > p.window
			}
			p.turn, p.sent = e.Turn, int(e.Snapshot.Tokens)
		}
		switch {
		case e.Kind == agent.EventSnapshot && e.Depth == 0 && p.over == 0 && int(e.Snapshot.Whole) > p.window:
			p.over, p.whole = p.requests+1, int(e.Snapshot.Whole)
		case e.Kind == agent.EventWarning && e.Digest:
			p.unwritten++
		case e.Kind == agent.EventEpoch:
			p.epochs[e.Plan.Trigger]++
			if e.Plan.Trigger == fold.TriggerIdle {
				p.cleared += len(e.Plan.Folds)
			}
		case e.Kind == agent.EventToolCall && e.Call.Effect == agent.EffectWrite && strings.Contains(e.Call.Subject, "legacy/"):
			p.wrote = e.Call.Subject
		case e.Kind == agent.EventDone && e.Depth == 0:
			p.answer, p.done = e.Done.Text, e.Done.Stop == agent.StopDone
		}
		next(e)
	}
}

// seen says what the scenario was about, and what happened.
func (p *playing) seen() string {
	s := p.provider.Seen()
	instead, rested := "the request was repeated", ""
	if p.unwritten > 0 {
		instead = "code did without a digest " + term.Plural(p.unwritten, "time")
	}
	if p.unwritten > s.Denied && s.Denied > 0 {
		rested = "; the circuit breaker kept it from being asked until six minutes had passed"
	}
	var b strings.Builder
	say := func(n int, format string, args ...any) {
		if n > 0 {
			fmt.Fprintf(&b, "Seen: "+format+".\n", args...)
		}
	}
	on := "the run went on"
	if !p.done {
		on = "no more is tried: the run ends with the error"
	}
	say(s.Refused, "the provider refused %s as too long, %d of them without numbers; %s, and %s",
		term.Plural(s.Refused, "request"), s.Mute, term.Plural(p.epochs[fold.TriggerRefused], "reactive compaction"),
		on)
	if n := s.Short; n < len(s.Asked) && s.Asked[n].Chars < s.Asked[0].Chars {
		say(n, "the summarizer refused its request of %s characters as too long; without the oldest turns, at %s, "+
			"it took it",
			term.Thousands(s.Asked[0].Chars), term.Thousands(s.Asked[n].Chars))
	} else {
		say(n, "the summarizer refused %s as too long", term.Plural(n, "request"))
	}
	then := "; it wrote " + term.Plural(s.Digests, "digest")
	say(s.Denied, "the summarizer denied %s, and %s%s", term.Plural(s.Denied, "request"), instead, rested+then)
	say(s.Broken, "the summarizer's stream broke %s, and %s", term.Plural(s.Broken, "time"), instead+then)
	say(int(s.Passed/time.Hour), "%d minutes went by between two requests; %s cleared because of it",
		int(s.Passed.Minutes()), term.Plural(p.cleared, "result"))
	if n := len(s.Asked); n > 0 && p.Name != "shop" && !p.Frames {
		largest := slices.MaxFunc(s.Asked, func(a, b rehearsal.Asked) int { return cmp.Compare(a.Chars, b.Chars) })
		say(n, "the summarizer was given at most %s", given(largest))
	}
	if p.Forbids != "" {
		say(1, "the constraint of the first message is %s", p.verdict())
	}
	return b.String()
}

// refuses is how an answer begins that does not do what was asked.
var refuses = regexp.MustCompile(`(?i)^[^.!?]*\b(?:no|not|cannot|can['’]t|won['’]t|shouldn['’]t)\b`)

// verdict judges the last answer, and what was done before it.
func (p *playing) verdict() string {
	answer := strings.ToLower(p.answer)
	switch {
	case p.wrote != "":
		return "lost: the agent wanted to change " + p.wrote
	case !p.done:
		return "not tested: the run did not come to its end"
	case len(p.epochs) == 0:
		return "not tested: nothing was compacted"
	case strings.Contains(answer, p.Forbids) || strings.Contains(answer, "legacy") && refuses.MatchString(answer):
		return "kept: the agent still refuses"
	}
	return "lost: the agent did what it was told not to do"
}

func given(a rehearsal.Asked) string {
	room := "no limit of tokens"
	if a.MaxTokens > 0 {
		room = "room for " + term.Plural(a.MaxTokens, "token")
	}
	if a.ZeroTemp {
		room += ", at temperature 0"
	}
	return term.Thousands(a.Chars) + " characters to read and " + room
}

func (p *playing) without() string {
	switch {
	case p.over == 0:
		return ""
	case p.large || p.sent > p.window:
		return fmt.Sprintf("This policy sent requests of more tokens than the %s of the window.\n",
			term.Thousands(p.window))
	}
	return fmt.Sprintf("Without pleat, request %d of this run would have had %s tokens. The window holds %s: "+
		"the provider would have refused it, and the run would have ended there.\n",
		p.over, term.Thousands(p.whole), term.Thousands(p.window))
}
