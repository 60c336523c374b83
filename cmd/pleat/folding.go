package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/models"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/library"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/spf13/pflag"
)

// foldFlags are the flags of the commands that fold a session.
type foldFlags struct {
	budget term.TokenCount
	policy string
	focus  string
	dir    string        // for the plain copies of policies that keep some; empty: none are kept
	writer models.Client // of digests; zero: code
	pins   term.Texts

	// request says that the result is a request body, so that the system prompt and the
	// tools count too.
	request bool
	page    bool // write a page even if everything fits
	tenant  string
}

const policyUsage = "fold as `POLICY` says: a name that \"pleat policies\" lists, or a JSON file"

func (f *foldFlags) declare(fs *pflag.FlagSet) {
	f.budget = 60_000
	fs.Var(&f.budget, "budget", "the most `TOKENS` of the result: 60000, 60_000, 60k, 0.2M")
	fs.StringVar(&f.policy, "policy", "default", policyUsage)
	fs.StringVar(&f.focus, "focus", "", "what matters most from here on, in a few `WORDS`; a page is then always written")
	fs.Var(&f.pins, "pin", "keep this `TEXT` verbatim in the result; may be given more than once")
}

func policyNames() (names []string) {
	for _, p := range policy.All() {
		names = append(names, p.Name)
	}
	return names
}

func namedPolicy(name string) (fold.Policy, error) {
	p, err := policy.ByName(name)
	if err != nil {
		err = term.UsageError(err.Error() + term.DidYouMean("", name, policyNames()))
	}
	return p, err
}

// loadPolicy finds a policy by name, or reads it from a file as "pleat policies NAME"
// prints it.
func loadPolicy(name string) (fold.Policy, error) {
	if !strings.ContainsAny(name, `./\`) {
		return namedPolicy(name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return fold.Policy{}, fmt.Errorf("read policy: %w", err)
	}
	p, err := policy.Parse(data)
	if err != nil {
		return p, fmt.Errorf("file %s: %w", name, err)
	}
	return p, nil
}

// folded is a session file and what folding made of it.
type folded struct {
	file    *sessionFile
	session *pleat.Session
	policy  string
	budget  int
	tenant  string
	view    transcript.View
	warning string                      // of the plan
	report  pleat.Report                // see [reportOf]
	wait    func(context.Context) error // until the messages are stored
}

func (r *folded) tokens() budgetJSON {
	return budgetJSON{r.report.Whole, r.report.Snapshot.Tokens, r.budget}
}

// fold puts the session into a store and folds it to the budget.
func (f *sessionFile) fold(ctx context.Context, tell *term.Progress, store store.Store, flags foldFlags) (*folded, error) {
	pol, err := loadPolicy(flags.policy)
	if err != nil {
		return nil, err
	}
	pol.Budget.Window = 0
	// What is spilled at birth must not depend on this run's budget: the session may be
	// folded to another one tomorrow, and results that are too large now may fit then.
	pol.AtBirth = fold.Change(pol.AtBirth, func(s *lever.Spill) { s.Window = 0 })
	r := &folded{file: f, policy: pol.Name, budget: int(flags.budget), tenant: flags.tenant}
	opts := f.options()
	if !flags.request {
		opts.System, opts.Tools = "", nil
	}
	opts.Policy, opts.Budget = pol, library.Fit(r.budget)
	opts.Digest.Generator, opts.Digest.Model, opts.Digest.NoBackground = flags.writer.Generator, flags.writer.Model, true
	if flags.dir != "" {
		w, err := agent.OpenWorkspace(flags.dir)
		if err != nil {
			return nil, err
		}
		defer w.Close()
		opts.KeepFile = w.Keep
	}
	opts.Tokens = counterFor(pol, f.model)
	opts.Observe = func(e pleat.Event) {
		if e.Kind == pleat.EventEpoch {
			r.warning = e.Plan.Warning
		}
	}
	defer func() { _ = r.wait(ctx) }() // so that no writer is left running; its error is returned below
	if err := r.open(ctx, tell, store, opts); err != nil {
		return nil, err
	}
	for _, text := range flags.pins {
		if err := r.session.Pin(ctx, text); err != nil {
			return nil, err
		}
	}
	tell.Phase("folding %s", term.Plural(f.count, "message"))
	if flags.page || flags.focus != "" {
		if _, err := r.session.Compact(ctx, flags.focus); err != nil {
			return nil, err
		}
	}
	if r.view, err = r.session.View(ctx, pleat.Turn{}); err != nil {
		if e, ok := errors.AsType[*pleat.CannotFitError](err); ok {
			err = fmt.Errorf("%s (--budget %d or more would do)", e.Sizes(), e.Parts.Total())
		}
		return nil, fmt.Errorf("fold %s to %s tokens: %w", f.name, term.Thousands(r.budget), err)
	}
	if err := r.wait(ctx); err != nil { // nothing is shown before it is stored
		return nil, err
	}
	r.report = reportOf(r.session)
	return r, nil
}

// reportOf is the report of a session whose folds count the session's own tokens: other levers
// may have folded some of a stretch when it was planned.
func reportOf(s *pleat.Session) pleat.Report {
	report := s.Report()
	for i, f := range report.Folds {
		if f.Block < 0 {
			whole := *f
			whole.Before = s.Tokens(f.Start, f.End)
			report.Folds[i] = &whole
		}
	}
	return report
}

// byLever sums up folds by lever, in the order in which the levers are pulled.
func byLever(folds []*fold.Fold) []leverShare {
	list := []leverShare{}
	for _, f := range folds {
		i := slices.IndexFunc(list, func(s leverShare) bool { return s.Lever == f.Lever })
		if i < 0 {
			i = len(list)
			list = append(list, leverShare{Lever: f.Lever})
		}
		list[i].Folds++
		list[i].Before += f.Before
		list[i].After += f.After
	}
	order := fold.Steps(lever.All()).Names()
	slices.SortStableFunc(list, func(a, b leverShare) int {
		return cmp.Compare(slices.Index(order, a.Lever), slices.Index(order, b.Lever))
	})
	return list
}

// counterFor is the tokenizer that the engine would make by itself. Sessions that share it
// count each message once.
func counterFor(policy fold.Policy, m model.Model) *tokens.Tokenizer {
	var o tokens.Options
	if n := policy.CharsPerToken; n > 0 {
		o.Counter = tokens.CharsPerToken(n)
	}
	return tokens.NewTokenizer(m, &o)
}

// open opens the file's session in the store and prepares it for folding: all messages are
// there, and no epoch is in force. An earlier run may have folded it to another budget.
func (r *folded) open(ctx context.Context, tell *term.Progress, store store.Store, opts pleat.Options) error {
	f, key := r.file, r.file.key()
	key.Tenant = r.tenant
	batch := &batchStore{Store: store, key: key}
	r.wait = batch.wait
	var err error
	if r.session, err = pleat.OpenSession(ctx, batch, key, &opts); err != nil {
		return err
	}
	have := r.session.Len()
	if have > f.count {
		return fmt.Errorf("session %s has %d messages in the store, but %s has %d: it was stored with other flags (name another store with --store)", key, have, f.name, f.count)
	}
	if have < f.count {
		if err := f.appendTo(ctx, r.session, have, tell); err != nil {
			return err
		}
	}
	batch.settle(ctx)
	if have == 0 || len(r.session.Report().Epochs) == 0 {
		return nil
	}
	if err := batch.wait(ctx); err != nil {
		return err
	}
	return r.unfoldAll(ctx)
}

// unfoldAll undoes the epochs and pins of earlier runs.
func (r *folded) unfoldAll(ctx context.Context) error {
	if err := r.session.UndoAll(ctx); err != nil {
		return err
	}
	for _, text := range r.session.Pins() {
		if err := r.session.Unpin(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

type budgetJSON struct {
	Before int `json:"before"`
	After  int `json:"after"`
	Budget int `json:"budget"`
}

type foldJSON struct {
	Handle   string          `json:"handle"`
	Lever    string          `json:"lever"`
	Reason   string          `json:"reason"`
	Messages [2]int          `json:"messages"`        // first and last, from 1
	Block    *int            `json:"block,omitempty"` // only this block of the message, from 0
	Before   int             `json:"tokens_before"`
	After    int             `json:"tokens_after"`
	Hash     transcript.Hash `json:"sha256"`
	Bytes    int             `json:"bytes"`
	Lines    int             `json:"lines"`
}

// leverShare is what one lever did.
type leverShare struct {
	Lever  string `json:"lever"`
	Folds  int    `json:"folds"`
	Before int    `json:"tokens_before"`
	After  int    `json:"tokens_after"`
}
