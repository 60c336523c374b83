// Package live is a run of the agent as a person sees it: the terminal with its meter, the
// chat, questions before calls, hooks, and the rehearsal without a model.
package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/telemetry"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
)

// Flags are the flags of "pleat run" and "pleat demo".
type Flags struct {
	store   *stores.Flags
	hooks   hookFlags
	model   string
	digests sessionfile.Digests
	policy  string
	window  term.TokenCount

	dir, system, skills  string
	roots, allow, deny   []string
	yes, secrets, asJSON bool
	noRecall, orCode     bool
	verbose              bool
	session, resume      string
	limits               agent.Limits
	maxUSD               *pflag.Flag
	rules                string
	demo                 bool
	scenario             string
	tokens               term.TokenCount
	otel                 string
}

// Declare declares the flags of a run.
func Declare(fs *pflag.FlagSet) *Flags {
	f := &Flags{}
	f.declare(fs)
	fs.BoolVar(&f.orCode, "or-code", false, "let code write a digest that a named model does not, without an error")
	fs.StringArrayVar(&f.roots, "root", nil, "let the file tools touch `FOLDER` too; may be given more than once")
	fs.StringVar(&f.system, "system", "", "take the system prompt from `FILE`")
	fs.StringVar(&f.skills, "skills", "", "a `FOLDER` of skills: folders with a SKILL.md each")
	fs.StringArrayVar(&f.allow, "allow", nil, "allow calls that match `RULE`, such as 'bash(git status*)'; repeatable")
	fs.StringArrayVar(&f.deny, "deny", nil, "refused: there are no rules that deny") // as a setting too
	_ = fs.MarkHidden("deny")
	fs.BoolVar(&f.yes, "yes", false, "allow everything without asking")
	fs.BoolVar(&f.secrets, "no-redact", false, "leave keys and tokens in tool output as they are")
	fs.BoolVar(&f.noRecall, "no-recall", false, "give the model no recall tools")
	fs.Var(&f.tokens, "max-tokens", "stop after `N` tokens, in and out")
	fs.DurationVar(&f.limits.Time, "max-time", 2*time.Hour, "stop after `TIME`, such as 10m; 0 for no limit")
	f.hooks.declare(fs)
	return f
}

// DeclareDemo declares the flags of a rehearsal.
func DeclareDemo(fs *pflag.FlagSet) *Flags {
	f := &Flags{demo: true}
	f.declare(fs)
	fs.Lookup("dir").Usage = "work in `FOLDER` instead of a new one, whose name is printed"
	fs.Lookup("dir").DefValue = ""
	fs.Lookup("model").Usage = "let a real `MODEL` play constraint or plot, at its price"
	for _, typed := range []string{"model", "max-usd"} { // no setting makes a rehearsal cost something
		_ = fs.SetAnnotation(typed, term.Typed, nil)
	}
	fs.Lookup("window").Usage = "keep the conversation within `N` tokens instead of the scenario's window"
	return f
}

// declare declares the flags that a run and a rehearsal share.
func (f *Flags) declare(fs *pflag.FlagSet) {
	f.store = stores.Declare(fs)
	f.digests.Declare(fs)
	fs.StringVar(&f.rules, "digest-rules", "", "your own `RULES` for digests, such as \"keep every number\"")
	fs.StringVar(&f.model, "model", "", "the `MODEL` to ask; see above")
	fs.BoolVar(&f.verbose, "verbose", false, "also show what policies fold before every request, files kept, and cache hits")
	fs.StringVar(&f.policy, "policy", "default", sessionfile.PolicyUsage)
	fs.Var(&f.window, "window", "keep the conversation within `N` tokens; else the model's window")
	fs.StringVar(&f.dir, "dir", ".", "work in `FOLDER`")
	fs.BoolVar(&f.asJSON, "json", false, "print one event a line; docs/agent.md has the form")
	fs.StringVar(&f.session, "session", "", "call the session `NAME` instead of a new name")
	fs.StringVar(&f.resume, "resume", "", "continue session `ID`, or \"last\"")
	fs.IntVar(&f.limits.Turns, "max-turns", 200, "stop after `N` requests; 0 for no limit")
	fs.Float64Var(&f.limits.USD, "max-usd", 10,
		"stop after `N` dollars, if the model's prices are known; 0 for no limit")
	f.maxUSD = fs.Lookup("max-usd")
	fs.StringVar(&f.otel, "otel", "", telemetry.Usage)
}

// dollars is the limit in dollars, which can only be kept where the prices are known.
func (f *Flags) dollars(m model.Model) (float64, error) {
	if len(m.Prices) > 0 {
		return f.limits.USD, nil
	}
	if f.limits.USD > 0 && f.maxUSD.Changed {
		return 0, term.UsageError("--max-usd: the prices of this model are not known; use --max-tokens instead")
	}
	return 0, nil
}

// running is a run in progress, or being set up.
type running struct {
	p      *term.Console
	f      *Flags
	o      agent.Options
	screen *runScreen
	tel    *telemetry.Telemetry
	lines  *lineReader
	events io.Writer  // for --json
	asking sync.Mutex // guards always, which answers extend
	rules  agent.Rules
	always map[[2]string]bool // calls that a person allowed for good
	work   *agent.Workspace
	name   string // of the model, for people
	task   string // what the rehearsal proposes
	play   *playing
	store  stores.Store
	key    store.SessionKey
	agent  *agent.Agent
	ends   []func() error

	unwritten string // says that a model did not write a digest; empty: none
}

// Run runs the agent on the task in args, or chats if there is none. A demo plays the scenario
// in args.
func (f *Flags) Run(ctx context.Context, p *term.Console, args []string) (err error) {
	r := &running{
		p: p, f: f, screen: newRunScreen(p), lines: newLineReader(p),
		always: map[[2]string]bool{}, events: p.Contents(),
	}
	r.screen.verbose = f.verbose
	if said := strings.Join(args, " "); f.demo {
		f.scenario = said
	} else {
		r.task = said
	}
	if f.asJSON { // standard output has the events alone
		r.p = &term.Console{Stdin: p.Stdin, Stdout: p.Stderr, Stderr: p.Stderr, Getenv: p.Getenv}
	}
	defer func() {
		for i := len(r.ends) - 1; i >= 0; i-- {
			err = errors.Join(err, r.ends[i]())
		}
	}()
	if err := r.setup(ctx); err != nil {
		return err
	}
	return r.live(ctx, func(ctx context.Context) error {
		switch {
		case f.resume != "" && r.task == "":
			return r.once(ctx, r.agent.Resume)
		case r.task == "":
			return r.chat(ctx)
		}
		return r.once(ctx, func(ctx context.Context) (agent.Result, error) { return r.tell(ctx, r.task) })
	})
}

func (r *running) setup(ctx context.Context) error {
	f := r.f
	var err error
	if r.o.Session.Policy, err = sessionfile.LoadPolicy(f.policy); err != nil {
		return err
	}
	if len(f.deny) > 0 {
		return term.UsageError("deny: there are no rules that deny; what no --allow names is asked about, " +
			"and a command that --before-tool names can deny a call")
	}
	r.rules = agent.Rules{Allow: f.allow}
	if err := r.rules.Check(); err != nil {
		return term.UsageError(err.Error())
	}
	if f.resume != "" { // the session's name says whether it is a rehearsal
		if err := r.open(ctx, ""); err != nil {
			return err
		}
	}
	if err := r.choose(ctx); err != nil {
		return err
	}
	if err := r.open(ctx, "run"); err != nil {
		return err
	}
	if r.tel, err = telemetry.Start(ctx, r.p, f.otel); err != nil {
		return err
	}
	r.ends = append(r.ends, r.tel.Close)
	return r.make(ctx)
}

// tell gives the model a task, and then what the scenario says after each answer.
func (r *running) tell(ctx context.Context, task string) (all agent.Result, err error) {
	said := []string{task}
	if r.play != nil && task == r.play.Said()[0] {
		said = r.play.Said()
	}
	for i, text := range said {
		if i > 0 {
			r.p.Printf("› %s\n", text)
		}
		res, err := r.agent.Run(ctx, text)
		res.Turns += all.Turns
		res.Calls += all.Calls
		res.Spent = res.Spent.Plus(all.Spent)
		all = res
		// At the limit of turns, the person comes in between.
		if err != nil || res.Stop != agent.StopDone && res.Stop != agent.StopTurns {
			return all, err
		}
	}
	return all, nil
}

// once runs until the model is done, and reports how it ended.
func (r *running) once(ctx context.Context, run func(context.Context) (agent.Result, error)) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	res, err := run(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		if r.play != nil {
			r.p.Printf("%s", r.play.seen())
		}
		return fmt.Errorf("%w (go on with: %s)", err, r.resuming())
	}
	if !r.f.asJSON {
		if res.Turns == 0 && res.Stop == agent.StopDone {
			r.p.Printf("It was done already. The answer:\n%s\n", res.Text)
		}
		r.closing(res)
	}
	if res.Stop != agent.StopDone {
		return fmt.Errorf("the run is not done: %s (go on with: %s)", stopped(res.Stop), r.resuming())
	}
	if r.unwritten != "" && r.f.digests.Name != "" && !r.f.orCode {
		return fmt.Errorf("%s (the run is done; with --or-code this is no error)", r.unwritten)
	}
	return nil
}

// resuming is the command that goes on with this session.
func (r *running) resuming() string {
	if r.play != nil && r.f.model == "" {
		return "pleat demo --resume " + r.o.Key.Session
	}
	return "pleat run --resume " + r.o.Key.Session
}

func stopped(s agent.Stop) string {
	switch s {
	case agent.StopRefused:
		return "the model would not answer"
	case agent.StopCancelled:
		return "it was stopped"
	case agent.StopTurns, agent.StopTokens, agent.StopUSD, agent.StopTime:
		return "the limit of " + string(s) + " is reached; --max-" + string(s) + " changes it"
	}
	return string(s)
}

func (r *running) closing(res agent.Result) {
	rep := r.agent.Session().Report()
	line := fmt.Sprintf("%s, %s, %s tokens", term.Plural(res.Turns, "request"), term.Plural(res.Calls, "tool call"),
		term.Thousands(res.Spent.Tokens()))
	if res.Spent.USD > 0 {
		line += ", " + term.Cents(res.Spent.USD)
	}
	calls, usd := 0, 0.0
	for _, d := range rep.Digests {
		calls, usd = calls+d.Calls, usd+d.USD
	}
	if calls > 0 {
		line += fmt.Sprintf("; the session's digests took %s", term.Plural(calls, "request"))
		if usd > 0 {
			line += " and " + term.Cents(usd)
		}
	}
	if rep.Snapshot.Whole > rep.Snapshot.Tokens && len(rep.Epochs) > 0 {
		line += fmt.Sprintf(
			"; the conversation has %s tokens with its system prompt and tools, the last request showed "+
				"%s of them; the rest can be recalled",
			term.Thousands(rep.Snapshot.Whole), term.Thousands(rep.Snapshot.Tokens))
	}
	r.p.Printf("%s\n", r.screen.s.Dim(line))
	if r.play != nil {
		r.p.Printf("%s%sNext: pleat show %s, and pleat sessions for what your agents did\n",
			r.play.without(), r.play.seen(), rep.Session)
	}
}

// exactly is what tells a call from others: what a command says, or all that a call writes.
func exactly(c agent.Call) [2]string {
	if c.Effect == agent.EffectWrite || c.Subject == "" {
		return [2]string{c.Name, c.Input}
	}
	return [2]string{c.Name, c.Subject}
}

// permit applies the rules, then asks the person at the terminal.
func (r *running) permit(ctx context.Context, c agent.Call) (agent.Decision, error) {
	r.asking.Lock() // the calls of one answer are asked about one after another
	defer r.asking.Unlock()
	if ctx.Err() != nil { // stopped at the question before
		return agent.Decision{Reason: "the run was stopped"}, nil
	}
	switch {
	case r.rules.Allows(c), r.f.yes, r.always[exactly(c)]:
		return agent.Decision{Allow: true}, nil
	case !r.lines.terminal || r.f.asJSON:
		return agent.Decision{Reason: "nobody can be asked here; --allow RULE or --yes would permit it"}, nil
	}
	return r.askPerson(ctx, c), nil
}

func (r *running) systemPrompt(dir string) (string, error) {
	if r.f.system == "" {
		return defaultSystem + "\nThe working folder is " + filepath.ToSlash(dir) + ".\n", nil
	}
	text, err := os.ReadFile(r.f.system)
	if err != nil {
		return "", fmt.Errorf("read system prompt: %w", err)
	}
	return string(text), nil
}

const defaultSystem = `You are an agent that works on a task in a folder of somebody's machine, with tools.

Find out before you act: read what is there, search, run what shows the state of things. Change as little as the task
needs. Check your work by running it. Say plainly what you did, what you did not do, and what you could not check.

Keep to what the user said, also what they said long ago. Older parts of this conversation may be folded away to keep it
within its window: a stub or a page stands for them then. Nothing is lost. ` +
	"unfold brings back the exact text for a handle,\nsearch finds it by words, ledger lists what was done. " +
	`Ask them instead of guessing, and instead of running a command with
side effects a second time only to see its output. note and pin keep what must stay in view.
`
