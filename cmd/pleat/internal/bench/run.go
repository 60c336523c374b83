package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Options say what a run does.
type Options struct {
	Arms    []Arm    // nil: Arms()
	Budgets []int    // tokens of a view
	Chains  []int    // numbers of compactions
	Prices  []Prices // of the money simulation; nil: DefaultPrices()
	NoMoney bool     // leave the money simulation out
	// Summarizer writes the summaries that are scored; nil: code does. Replays for money never
	// use it.
	Summarizer *Summarizer
	Progress   func(done, all int) // told after every session, from one goroutine at a time; nil: nobody

	// inspect is shown every view, from several goroutines; nil: nobody.
	inspect func(ctx context.Context, c *cut, m Method, s *seen) error
}

func (o Options) withDefaults() Options {
	if o.Arms == nil {
		o.Arms = Arms()
	}
	if o.Prices == nil {
		o.Prices = DefaultPrices()
	}
	return o
}

// Run puts the arms through the sessions.
func Run(ctx context.Context, sessions []Session, opts Options) (*Report, error) {
	o := opts.withDefaults()
	tokens := tokens.NewTokenizer(model.Model{}, nil)
	results := make([]*sessionResult, len(sessions))
	err := each(ctx, len(sessions), runtime.GOMAXPROCS(0), o.Progress, func(ctx context.Context, i int) (err error) {
		w := worker{o: o, s: &sessions[i], tokens: tokens}
		if results[i], err = w.run(ctx); err != nil {
			return fmt.Errorf("bench %s: %w", sessions[i].Name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := assemble(o, results)
	if o.Summarizer != nil {
		r.Summaries = o.Summarizer.Name
	}
	return r, nil
}

// each does n things, some at a time. The first error ends it.
func each(
	ctx context.Context, n, atATime int, progress func(done, all int), do func(ctx context.Context, i int) error,
) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atATime)
	var mu sync.Mutex
	done := 0
	for i := range n {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err := do(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			if done++; progress != nil {
				progress(done, n)
			}
			return err
		})
	}
	return g.Wait()
}

// sessionResult is what one session gives.
type sessionResult struct {
	row   SessionRow
	cells []Cell // as keys(false) has them; Views is 0 where the session did not take part
	own   []Cell // as keys(true) has them
	money map[priced]sessionMoney
}

// worker puts the arms through one session.
type worker struct {
	o      Options
	s      *Session
	tokens *tokens.Tokenizer
}

// key names a cell.
type key struct{ arm, budget, chain int }

// keys lists the cells of a run in the order of the report, or those of the comparison with the
// agents' own summaries.
func (o Options) keys(own bool) (out []key) {
	chains := o.Chains
	if own {
		if chains = []int{1}; !slices.ContainsFunc(o.Arms, func(a Arm) bool { return a.Own }) {
			return nil
		}
	}
	for _, budget := range o.Budgets {
		for _, chain := range chains {
			for a, arm := range o.Arms {
				if own || !arm.Own {
					out = append(out, key{a, budget, chain})
				}
			}
		}
	}
	return out
}

func (w *worker) run(ctx context.Context) (*sessionResult, error) {
	sp := w.s.futureSpan()
	r := &sessionResult{row: SessionRow{
		Name: w.s.Name, Messages: len(w.s.Messages), Cut: sp.cut, Targets: map[Family]int{},
		Tokens: w.size(len(w.s.Messages)), Before: w.size(sp.cut),
	}}
	var err error
	if r.cells, err = w.cells(ctx, []span{sp}, w.o.keys(false), r.row.Targets); err != nil {
		return nil, err
	}
	if r.own, err = w.cells(ctx, w.s.ownSpans(), w.o.keys(true), map[Family]int{}); err == nil && !w.o.NoMoney {
		r.money, err = w.money(ctx)
	}
	return r, err
}

// cells measures the session at each cut, and counts the targets there.
func (w *worker) cells(ctx context.Context, spans []span, keys []key, targets map[Family]int) ([]Cell, error) {
	out := make([]Cell, len(keys))
	for _, sp := range spans {
		c := w.newCut(sp)
		for _, p := range c.probes {
			targets[p.family]++
		}
		for i, k := range keys {
			cell, err := c.measure(ctx, k)
			if err != nil {
				return nil, err
			}
			out[i] = out[i].plus(cell)
		}
	}
	return out, nil
}

func (w *worker) size(n int) int {
	sum := 0
	for _, m := range w.s.Messages[:n] {
		sum += w.tokens.CountMessage(m)
	}
	return sum
}

// cut is a session at a cut, with everything that is asked about it.
type cut struct {
	*worker
	sp     span
	before []transcript.Message
	size   int
	whole  *transcript.Transcript
	probes []probe
	gold   trail
	shell  string
}

func (w *worker) newCut(sp span) *cut {
	before := w.s.Messages[:sp.cut]
	return &cut{
		worker: w, sp: sp, before: before, size: w.size(sp.cut), whole: transcript.NewTranscript(before...),
		probes: mine(w.s, sp), gold: w.s.trail(sp.cut), shell: shellText(before),
	}
}

// slack is how much larger than a budget a session must be to take part.
const slack = 1.2

// measure has an arm compact what is before the cut and looks the probes up.
func (c *cut) measure(ctx context.Context, k key) (Cell, error) {
	arm := c.o.Arms[k.arm]
	cell := Cell{Arm: arm.Name, Budget: k.budget, Chain: k.chain, Families: map[Family]Count{}}
	if float64(c.size) < slack*float64(k.budget) {
		return cell, nil
	}
	m, v, err := c.compact(ctx, arm, k)
	if errors.Is(err, fold.ErrCannotFit) {
		cell.Refused, v, err = 1, transcript.View{}, nil // nothing is sent, so nothing is there
	}
	var msgs []transcript.Message
	if err == nil {
		msgs, err = v.Resolve(c.whole)
	}
	if err != nil {
		return cell, fmt.Errorf("arm %s at %d tokens: %w", arm.Name, k.budget, err)
	}
	cell.Views = 1
	for _, m := range msgs {
		cell.Tokens += c.tokens.CountMessage(m)
	}
	if cell.Tokens > k.budget+k.budget/tolerance && !arm.Unbounded {
		cell.Over = 1
	}
	s := seeView(v, msgs)
	if err := c.look(ctx, &cell, m, s); err != nil {
		return cell, err
	}
	c.faults(&cell, v, s)
	if c.o.inspect != nil {
		err = c.o.inspect(ctx, c, m, s)
	}
	return cell, err
}

// compact feeds the arm in as many parts as there are compactions.
func (c *cut) compact(ctx context.Context, arm Arm, k key) (Method, transcript.View, error) {
	m, err := arm.Open(ctx, Setup{Budget: k.budget, Tokens: c.tokens, Digest: c.o.Summarizer.digest(), Own: c.sp.own})
	if err != nil {
		return nil, transcript.View{}, err
	}
	from := 0
	for i := range k.chain {
		to := c.s.request(len(c.before)*(i+1)/k.chain, len(c.before))
		part := c.before[from:to]
		from = to
		if err := m.Append(ctx, part...); err != nil {
			return nil, transcript.View{}, err
		}
		if i < k.chain-1 {
			if err := m.Compact(ctx); err != nil {
				return nil, transcript.View{}, err
			}
		}
	}
	v, err := m.View(ctx, 0)
	if failed := c.o.Summarizer.failed(); failed != nil {
		return nil, transcript.View{}, failed
	}
	return m, v, err
}

// look counts what became of the targets.
func (c *cut) look(ctx context.Context, cell *Cell, m Method, s *seen) error {
	rec, _ := m.(Recaller)
	for _, p := range c.probes {
		n := Count{Targets: 1}
		switch p.look(s) {
		case stated:
			n.Context = 1
		case wrong:
			n.Wrong = 1
		}
		if n.Context == 0 && p.query != "" && rec != nil {
			n.Asked = 1
			text, err := rec.Search(ctx, p.query)
			if err != nil {
				return fmt.Errorf("search %q: %w", p.query, err)
			}
			if p.look(seeText(text)) == stated {
				n.Search = 1
			}
		}
		cell.Families[p.family] = cell.Families[p.family].plus(n)
	}
	return nil
}

// faults counts what a view may not have: what is illegal, files that were not changed.
func (c *cut) faults(cell *Cell, v transcript.View, s *seen) {
	note := func(kind string, list []string) {
		for _, f := range list {
			cell.Faults = append(cell.Faults, kind+" in "+c.s.Name+": "+f)
		}
	}
	bad := illegal(v, c.whole)
	if len(bad) > 0 {
		cell.Illegal = 1
		note("illegal", bad[:1])
	}
	var wrongly []string
	cell.Right, cell.Stated, wrongly = precision(c.gold, c.shell, s)
	note("not changed", wrongly)
}
