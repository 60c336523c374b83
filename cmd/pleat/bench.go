package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/bench"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/models"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/rehearsal"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
)

func benchCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "compare compaction methods, on your sessions or on made-up ones",
		Long: `Puts methods of compaction side by side: the same sessions, the same tokenizer, the same
budget, scored by code. Each session is cut; every arm compacts what is before the cut to the
budget; then things that a continuing agent needs are looked up in what is left: names that
the real agent used afterwards, changed files, newest outcomes, exact strings, people's words,
the task list. Whole sessions are then replayed against a simulated prompt cache.

Sessions come from a folder (--corpus), or are made up, with known rules (--synthetic, and when
no folder is given). The same sessions give the same JSON. docs/bench.md explains every figure.

No model is asked unless --answerer names one: then it writes questions about each session,
answers them from every arm's view, alone and with up to two recalls, and grades them blind.
One that --summarizer names writes the summaries of all arms. What that costs at most is said
first.`,
		Example: `# a quick look on made-up sessions: under a minute
pleat bench
# your own sessions, two arms, two budgets
pleat bench --corpus ~/.claude/projects --arms default,tail --budget 20k,8k
# with a policy of your own
pleat bench --corpus ~/.claude/projects --arms default --policy ./mine.json
# the public sessions that the published table is from
pleat bench --fetch data
# 54 questions about three of them: a digest by MODEL against a plain summary by MODEL
pleat bench --corpus data/asked --arms default,summary --budget 8k --summarizer MODEL --answerer MODEL`,
	}
	fs := c.Flags()
	b := new(benchFlags)
	b.declare(fs)
	c.RunE = runs(p, b.run)
	return c
}

type benchFlags struct {
	bench.Options
	sessions  []bench.Session // to measure on
	corpus    string
	synthetic term.TokenCount
	arms      []string
	policies  []string
	budgets   string
	jsonOut   string
	fetch     string
	live      bool

	summarizer, rules, answerer, cache string

	questions int
	yes       bool
}

func (b *benchFlags) declare(fs *pflag.FlagSet) {
	fs.StringVar(&b.corpus, "corpus", "", "measure on the session files in this `FOLDER`")
	fs.Var(&b.synthetic, "synthetic",
		"also take the made-up sessions, of `TOKENS` each (100k without --corpus, at most 600k)")
	fs.StringSliceVar(&b.arms, "arms", nil,
		"only these `ARMS`, separated by commas (default: all but summary, which needs --summarizer)")
	fs.StringArrayVar(&b.policies, "policy", nil,
		"also compare your own policy, a JSON `FILE`; may be given more than once")
	fs.BoolVar(&b.live, "live", false,
		"only live through the sessions under each policy, with summaries by code and by --summarizer (rehearsal): tokens, "+
			"requests, what is left; --budget is the window (32k)")
	fs.StringVar(&b.budgets, "budget", "", "the `TOKENS` that a view may have, with commas (49k,20k,8k; bare: 20k,8k)")
	fs.IntSliceVar(&b.Chains, "compactions", nil,
		"how many compactions in a row, `N`s with commas (1,2,3,5,10; bare: 1,3)")
	fs.BoolVar(&b.NoMoney, "no-money", false, "leave the cost simulation out")
	fs.StringVar(&b.fetch, "fetch", "", "only get the public sessions of the published figures into `FOLDER`")
	fs.StringVar(&b.summarizer, "summarizer", "",
		"let `MODEL` write every summary; without --yes only the cost is said, but for \"rehearsal\", as in pleat demo")
	fs.StringVar(&b.rules, "digest-rules", "", "your own `RULES` for the summarizer, such as \"keep every number\"")
	fs.StringVar(&b.answerer, "answerer", "", "let `MODEL` answer questions; without --yes only the cost is said")
	fs.IntVar(&b.questions, "questions", 18, "ask `N` questions about each session; the smallest --budget answers them")
	fs.StringVar(&b.cache, "cache", "pleat-bench", "keep questions and answers in `FOLDER`, so as not to ask again")
	fs.BoolVar(&b.yes, "yes", false, "ask the models, whatever it costs")
	fs.StringVar(&b.jsonOut, "json", "",
		"write everything as JSON to `OUT`; - is standard output, instead of the tables")
}

func (b *benchFlags) run(ctx context.Context, p *term.Console, args []string) error {
	if len(args) > 0 {
		return term.UsageError("bench takes no arguments; name a folder with --corpus")
	}
	if err := term.MayWrite(b.jsonOut, true); err != nil { // before minutes, and money, are spent
		return err
	}
	if b.fetch != "" {
		return fetchCorpus(ctx, p, b.fetch)
	}
	o, err := b.options()
	if err != nil {
		return err
	}
	from := "made-up sessions"
	if b.corpus != "" {
		from = "the sessions in " + b.corpus
	}
	if !b.live {
		p.Note("Comparing %s (arms) on %s: how much of what an agent needs later is left, then what it costs.\n",
			term.Plural(len(o.Arms), "way")+" of compacting", from)
	}
	if b.live {
		b.summarizer = cmp.Or(b.summarizer, played)
	}
	tell := p.Progress()
	if b.sessions, err = b.read(ctx, tell); err != nil {
		return err
	}
	if b.summarizer != "" {
		if o.Summarizer, err = b.summaries(ctx, p, o); err != nil || !b.yes && b.summarizer != played {
			return err
		}
	}
	var asking *bench.Asking
	if b.answerer != "" {
		if asking, err = b.asking(ctx, p, o); err != nil || !b.yes {
			return err
		}
	}
	tell.AtOnce() // a session can take long
	tell.Share(0, len(b.sessions), "sessions")
	o.Progress = func(done, all int) { tell.Share(done, all, "sessions") }
	if b.live {
		rows, err := bench.Compare(ctx, b.sessions, o)
		tell.Done()
		if err != nil {
			return err
		}
		return b.writeLived(ctx, p, o, rows)
	}
	report, err := bench.Run(ctx, b.sessions, o)
	if err == nil && asking != nil {
		asking.Progress = func(done, all int) { tell.Share(done, all, "asking about sessions") }
		report.Answers, err = asking.Run(ctx, b.sessions, o.Arms)
	}
	tell.Done()
	if err != nil {
		return err
	}
	return b.write(p, report)
}

func (b *benchFlags) writeLived(ctx context.Context, p *term.Console, o bench.Options, rows bench.Lived) error {
	by := "code"
	if o.Summarizer != nil {
		by += ", and in lines of their own by " + o.Summarizer.Name
	}
	if b.jsonOut != "-" {
		p.Printf("%s, each lived through in a window of %s tokens under each policy; summaries by %s.\n"+
			"Requests and their tokens in all; then the share that the last view still shows of rules that people\n"+
			"gave, of what they said, of the newest results and of changed files.\n\n",
			term.Plural(len(b.sessions), "session"), term.Thousands(o.Budgets[0]), by)
	}
	return b.write(p, rows)
}

// ownPolicies are those of files, named as no other that is compared.
func (b *benchFlags) ownPolicies(names []string) (list []fold.Policy, err error) {
	for _, file := range b.policies {
		if slices.Contains(names, file) {
			continue // pleat.toml may name one that is compared anyhow
		}
		p, err := sessionfile.LoadPolicy(file)
		if err != nil {
			return nil, err
		}
		if slices.Contains(names, p.Name) {
			return nil, term.UsageError(fmt.Sprintf("--policy %s: another that is compared has the name %q; "+
				"change \"name\" in the file", file, p.Name))
		}
		list, names = append(list, p), append(names, p.Name)
	}
	return list, nil
}

// write writes a report: as JSON where that is wanted, and for people unless that is on standard output.
func (b *benchFlags) write(p *term.Console, report term.Result) error {
	if b.jsonOut != "" {
		err := p.WriteTo(b.jsonOut, 0o644, func(w io.Writer) error { return term.WriteJSON(w, report) })
		if err != nil || b.jsonOut == "-" {
			return err
		}
	}
	return p.Output(false, report)
}

// played names the summarizer of the rehearsals of published designs. It lists the calls that it is given and keeps no
// rules: a page by code does, which the prompts of these designs do not ask for.
const played = "rehearsal"

func (b *benchFlags) open(ctx context.Context, p *term.Console, spec string) (bench.Asked, error) {
	if spec == played {
		s, err := rehearsal.Find("three-layer")
		return bench.Asked{Generator: s.Model(), Name: played}, err
	}
	m, err := models.Open(ctx, spec, p.Getenv)
	return bench.Asked{Generator: m.Generator, Name: m.Name, Model: m.Model, Dir: b.cache}, err
}

// asking opens the model that answers and says what that costs.
func (b *benchFlags) asking(ctx context.Context, p *term.Console, o bench.Options) (a *bench.Asking, err error) {
	a = &bench.Asking{Count: b.questions, Budget: slices.Min(o.Budgets), Summarizer: o.Summarizer}
	if a.Asked, err = b.open(ctx, p, b.answerer); err == nil {
		b.sayCost(p, "asking", a.Estimate(b.sessions, o.Arms))
	}
	return a, err
}

// summaries opens the model that summarizes and says what that costs.
func (b *benchFlags) summaries(ctx context.Context, p *term.Console, o bench.Options) (s *bench.Summarizer, err error) {
	s = &bench.Summarizer{Rules: b.rules}
	if s.Asked, err = b.open(ctx, p, b.summarizer); err == nil && b.summarizer != played {
		b.sayCost(p, "summarizing", s.Estimate(b.sessions, o))
	}
	return s, err
}

// sayCost says how much a model will be asked at most, and without --yes that nothing was asked.
func (b *benchFlags) sayCost(p *term.Console, what string, e bench.Estimate) {
	price := "the table has no price for it"
	if e.Known {
		price = "at most " + term.Cents(e.USD) + " by the price list"
	}
	p.Note("%s: at most %s with %s tokens in and %s out; %s; what %s has is not asked again\n",
		what, term.Plural(e.Requests, "request"), term.Thousands(e.Input), term.Thousands(e.Output), price, b.cache)
	if !b.yes {
		p.Note("nothing was asked; say --yes to go on\n")
	}
}

func fetchCorpus(ctx context.Context, p *term.Console, dir string) error {
	files, asked := bench.PublicCorpus()
	f := bench.Fetcher{Base: p.Getenv("PLEAT_GITHUB_API"), Progress: func(file bench.PublicFile, had bool) {
		state := "fetched"
		if had {
			state = "there"
		}
		p.Printf("%-8s %9s  %s  %s  (%s, %s)\n", state, term.ByteSize(file.Bytes), file.SHA256[:16], file.Path,
			file.Repository, file.Licence)
	}}
	of := filepath.Join(dir, "asked")
	if err := f.Fetch(ctx, dir, files); err != nil {
		return err
	}
	if err := f.Fetch(ctx, of, asked); err != nil {
		return err
	}
	p.Printf("%s in %s and %d in %s, all with the right hash. Now: pleat bench --corpus %[2]s\n",
		term.Plural(len(files), "file"), dir, len(asked), of)
	return nil
}

func (b *benchFlags) options() (bench.Options, error) {
	o := b.Options
	budgets, chains := "49k,20k,8k", []int{1, 2, 3, 5, 10}
	switch {
	case b.live:
		budgets, chains = "32k", []int{30} // compactions that a session may take
	case b.corpus == "" && b.synthetic == 0: // a quick look
		budgets, chains = "20k,8k", []int{1, 3}
	}
	o.Arms = bench.Arms()
	if b.arms != nil {
		arms, err := bench.ArmsByName(b.arms...)
		if err != nil {
			return o, term.UsageError(err.Error() + term.DidYouMean("", strings.Join(b.arms, ","), bench.ArmNames(o.Arms)))
		}
		o.Arms = arms
	}
	own, err := b.ownPolicies(bench.ArmNames(o.Arms))
	if err != nil {
		return o, err
	}
	for _, p := range own {
		o.Arms = append(o.Arms, bench.PolicyArm(p, true))
	}
	if o.Budgets, err = tokenList("--budget", cmp.Or(b.budgets, budgets)); err != nil {
		return o, err
	}
	if b.live && len(o.Budgets) > 1 {
		return o, term.UsageError("--live has one window; give one --budget")
	}
	if o.Chains == nil {
		o.Chains = chains
	}
	if slices.Min(o.Chains) < 1 {
		return o, term.UsageError("--compactions: want numbers from 1 on, separated by commas")
	}
	return o, nil
}

func tokenList(flag, list string) ([]int, error) {
	var out []int
	for s := range strings.SplitSeq(list, ",") {
		var n term.TokenCount
		if err := n.Set(s); err != nil {
			return nil, term.UsageError(fmt.Sprintf("%s %q: %v", flag, s, err))
		}
		out = append(out, int(n))
	}
	return out, nil
}

func (b *benchFlags) read(ctx context.Context, tell *term.Progress) (list []bench.Session, err error) {
	if b.synthetic > 600_000 {
		return nil, term.UsageError("--synthetic: made-up sessions have at most 600,000 tokens")
	}
	if b.corpus != "" {
		tell.AtOnce() // a session can take long
		list, err = bench.ReadCorpus(ctx, b.corpus, func(name string) { tell.Say("reading %s", name) })
		tell.Done()
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("bench %s: no session files there", b.corpus)
		}
	}
	if b.synthetic > 0 || b.corpus == "" {
		list = append(list, bench.SynthSessions(int(b.synthetic))...)
	}
	return list, err
}
