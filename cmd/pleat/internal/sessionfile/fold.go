package sessionfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/models"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// FoldFlags are the flags of the commands that fold a session.
type FoldFlags struct {
	Budget term.TokenCount
	Policy string
	focus  string
	Dir    string        // for the plain copies of policies that keep some; empty: none are kept
	Writer models.Client // of digests; zero: code
	pins   []string
	// Note tells people what takes long; nil: nobody.
	Note func(format string, args ...any)

	Format string // of the result, one of [Formats]; "": JSON
	Tenant string
}

// Declare declares the flags.
func (f *FoldFlags) Declare(fs *pflag.FlagSet) {
	f.Budget = 60_000
	fs.Var(&f.Budget, "budget", "fold to at most `TOKENS`: 60000, 60_000, 60k, 0.2M")
	fs.StringVar(&f.Policy, "policy", "default", PolicyUsage)
	fs.StringVar(&f.focus, "focus", "",
		"what matters most from here on, in a few `WORDS`; a page is then always written")
	fs.StringArrayVar(&f.pins, "pin", nil, "keep this `TEXT` verbatim in the result; may be given more than once")
}

// Folded is a session file and the result of folding it.
type Folded struct {
	File    *File
	Session *pleat.Session
	Policy  string
	budget  int
	tenant  string
	made    bool       // the session was not in the store before
	undone  bool       // what an earlier run had folded
	before  int        // entries of earlier runs in the list of epochs
	entered int        // epochs of this run
	Plan    *fold.Plan // of the newest of them; nil: none
	pins    []string
	view    transcript.View
	Warning string // what went not as it should; empty: nothing
	// Unwritten says that a model did not write a digest that it was asked for; empty: none.
	Unwritten string
	format    string
	Report    pleat.Report // see [library.Report]
	Counts    *tokens.Tokenizer
}

// Write writes the view in the form that was asked for.
func (r *Folded) Write(w io.Writer) error {
	switch r.format {
	case "text":
		return r.writeText(w, true, "\n")
	case "prompt":
		return r.writePrompt(w)
	}
	return r.writeJSON(w)
}

// Tokens returns the sizes of the session and of the view, and the budget.
func (r *Folded) Tokens() Budget {
	return Budget{r.Report.Whole, int(r.Report.Snapshot.Tokens), r.budget}
}

// Fold puts the session into a store and folds it to the budget. If another process folds the same session meanwhile,
// it begins again.
func (f *File) Fold(ctx context.Context, tell *term.Progress, st store.Store, flags FoldFlags) (*Folded, error) {
	pol, err := LoadPolicy(flags.Policy)
	if err != nil {
		return nil, err
	}
	r := &Folded{File: f, Policy: pol.Name, budget: int(flags.Budget), tenant: flags.Tenant, format: flags.Format}
	r.Counts = library.Counter(pol, f.Model)
	opts := library.Planned(pol, r.Counts)
	opts.Model, opts.Budget, opts.Project = f.Model, library.Fit(r.budget), f.Info.Dir
	opts.Digest.Generator, opts.Digest.Model = flags.Writer.Generator, flags.Writer.Model
	opts.Digest.NoBackground = true
	if flags.Dir != "" {
		w, err := agent.OpenWorkspace(flags.Dir)
		if err != nil {
			return nil, err
		}
		defer w.Close()
		opts.KeepFile = w.Keep
	}
	opts.Digest.Deadline = digestTime
	opts.Observe = func(_ context.Context, _ pleat.Key, e pleat.Event) { r.observe(e, flags.Note) }
	for try := 0; ; try++ {
		r.Warning, r.Unwritten = "", ""
		err = r.run(ctx, tell, st, opts, flags)
		others := errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound)
		if !others || try == tries || ctx.Err() != nil {
			return r, err
		}
	}
}

// tries is how often a session is folded again because other processes fold it too.
const tries = 100

// run folds the session once, in place of what earlier runs folded.
func (r *Folded) run(
	ctx context.Context, tell *term.Progress, st store.Store, opts pleat.Options, flags FoldFlags,
) error {
	if err := r.open(ctx, tell, st, opts); err != nil {
		return err
	}
	tell.Say("folding %s", term.Plural(r.File.Count, "message"))
	if !r.made { // what is there is of an earlier run, which stays if this one fails
		if err := r.try(ctx, opts, flags); err != nil {
			return err
		}
		if err := r.undo(ctx); err != nil {
			return err
		}
	}
	r.before, r.entered, r.pins = len(r.Session.Report().Epochs), 0, flags.pins
	view, err := r.fold(ctx, r.Session, flags)
	switch {
	case err != nil:
		return errors.Join(err, r.takeBack(context.WithoutCancel(ctx), st))
	case r.shared(ctx, st):
		return fmt.Errorf("fold %s: another process folds it: %w", r.File.Name, store.ErrConflict)
	}
	r.view, r.Report = view, library.Report(r.Session)
	r.Report.Epochs = r.Report.Epochs[r.before:] // of this run, as if it were the first
	for i := range r.Report.Epochs {
		r.Report.Epochs[i].Number = i + 1
	}
	if r.Report.Snapshot.Epoch = r.entered; r.entered == 0 {
		r.Report.Snapshot.Trigger = ""
	}
	if c := &r.Report.Cache; c.Removed > 0 { // of the epoch; what was spilled before it is not sent either
		c.Removed = max(min(r.Report.Whole, r.sent())-r.Tokens().After, 0)
	}
	return library.MarkMade(ctx, r.Session, r.File.tally.Last, r.File.counted, r.File.Model.Tokenizer)
}

// sent is how many tokens the messages of the session's newest request had, if a provider reported that: the agent may
// have compacted it before. What stands beside messages is what the first request had more than those.
func (r *Folded) sent() int {
	f := r.File
	if f.newest.tokens == 0 {
		return r.Report.Whole
	}
	beside := f.first.tokens - r.Session.Tokens(0, f.first.messages)
	return f.newest.tokens - max(beside, 0)
}

// fold folds a session that has the file's messages.
func (r *Folded) fold(ctx context.Context, s *pleat.Session, flags FoldFlags) (view transcript.View, err error) {
	for _, text := range flags.pins {
		if err := s.Pin(ctx, text); err != nil {
			return view, err
		}
	}
	if flags.Format == "prompt" || flags.focus != "" {
		if _, err := s.Compact(ctx, flags.focus); err != nil {
			return view, err
		}
	}
	if view, err = s.View(ctx, pleat.Turn{}); err != nil {
		if e, ok := errors.AsType[*pleat.CannotFitError](err); ok {
			err = fmt.Errorf("%s (--budget %d or more would do)", e.Sizes(), e.Parts.Total())
		}
		err = fmt.Errorf("fold %s: %w", r.File.Name, err)
	}
	return view, err
}

// try folds a copy of the session that is dropped again. Where a model should write, code does: what
// fits then fits with what the model writes.
func (r *Folded) try(ctx context.Context, opts pleat.Options, flags FoldFlags) error {
	st, drop, err := r.File.Scratch(ctx)
	if err != nil {
		return err
	}
	defer drop()
	opts.Digest.Generator, opts.KeepFile, opts.Observe = nil, nil, nil
	s, err := pleat.OpenSession(ctx, st, r.Session.Key(), &opts)
	for i := 0; err == nil && i < r.Session.Len(); i++ {
		var m transcript.Message
		if m, err = r.Session.Message(ctx, i); err == nil {
			err = s.Append(ctx, m)
		}
	}
	if err == nil {
		_, err = r.fold(ctx, s, flags)
	}
	return err
}

// digestTime is how long a model may take for a digest.
const digestTime = 15 * time.Minute

func (r *Folded) observe(e pleat.Event, note func(format string, args ...any)) {
	switch {
	case e.Kind == pleat.EventEpoch:
		r.entered++
		r.Plan = e.Plan
	case e.Kind == pleat.EventWriting && note != nil:
		note("pleat: %s writes the digest of messages %d–%d\n", e.Digest.Model, e.Digest.Start+1, e.Digest.End)
	case e.Kind == pleat.EventWarning:
		if r.Warning != "" {
			r.Warning += "; "
		}
		if r.Warning += e.Warning; e.Digest != nil {
			r.Unwritten = e.Warning
		}
	}
}

// open opens the file's session in the store, with all messages. An earlier run may have folded it
// to another budget.
func (r *Folded) open(ctx context.Context, tell *term.Progress, st store.Store, opts pleat.Options) error {
	f := r.File
	key, err := f.Key(opts.Policy)
	if err != nil {
		return fmt.Errorf("name the session: %w", err)
	}
	key.Tenant = cmp.Or(r.tenant, key.Tenant)
	if r.Session, err = pleat.OpenSession(ctx, st, key, &opts); err != nil {
		return err
	}
	have := r.Session.Len()
	if r.made = have == 0; have < f.Count {
		return f.AppendTo(ctx, r.Session, have, tell)
	}
	return nil
}

// shared reports whether another process has written to the session since this run began to fold it.
func (r *Folded) shared(ctx context.Context, st store.Store) bool {
	for range st.Scan(ctx, r.Session.Key(), inside.Of(r.Session).LastSeq()+1) {
		return true
	}
	pins, own := r.Session.Pins(), slices.Clone(r.pins)
	slices.Sort(pins)
	slices.Sort(own)
	return len(r.Session.Report().Epochs) != r.before+r.entered || !slices.Equal(pins, slices.Compact(own))
}

// takeBack takes back what failed. What another run stored stays.
func (r *Folded) takeBack(ctx context.Context, st store.Store) error {
	if r.shared(ctx, st) {
		return nil
	}
	if keeper, ok := st.(store.Keeper); ok && r.made {
		return keeper.Forget(ctx, r.Session.Key())
	}
	return r.Session.UndoAll(ctx)
}

// DropEmpty forgets the copy that was made of a session if nothing is folded in it: the session has all
// that it says. The result has to be written before.
func (r *Folded) DropEmpty(ctx context.Context, st store.Store) error {
	if _, copied := library.Copied(r.Session.Key()); !copied || !r.made || len(r.Report.Folds) > 0 {
		return nil
	}
	return r.takeBack(ctx, st)
}

// undo takes back the epochs and pins of earlier runs.
func (r *Folded) undo(ctx context.Context) error {
	for _, text := range r.Session.Pins() {
		if err := r.Session.Unpin(ctx, text); err != nil {
			return err
		}
	}
	r.undone = len(r.Session.Report().Epochs) > 0
	return r.Session.UndoAll(ctx) // at last: a pin may have come after epochs of another process
}

// WhyNot says why nothing was folded.
func WhyNot(t Budget, policy string) string {
	if t.After > t.Budget {
		return "policy " + policy + " has nothing more to fold"
	}
	return "it fits"
}

// Tell reports what was folded.
func (r *Folded) Tell(p *term.Console) {
	rep := r.Report
	p.Note("%s: %s → %s tokens (budget %s), %s → %s\n", term.FileName(r.File.Name), term.Thousands(rep.Whole),
		term.Thousands(rep.Snapshot.Tokens), term.Thousands(r.budget), term.Thousands(rep.Messages),
		term.Plural(len(r.view.Messages), "message"))
	if len(rep.Folds) == 0 {
		p.Note("nothing was folded: %s\n", WhyNot(r.Tokens(), r.Policy))
		if r.undone {
			p.Note("%s is unfolded again; handles from before still work\n", r.Session.Key())
		}
	}
	for _, l := range library.ByLever(rep.Folds) {
		p.Note("  %-9s %9s  %7s → %6s tokens  %s\n", l.Lever, term.Plural(l.Folds, "fold"), term.Thousands(l.Before),
			term.Thousands(l.After), library.Levers[l.Lever])
	}
	if r.Warning != "" {
		p.Note("warning: %s\n", r.Warning)
	}
	if len(rep.Folds) > 0 {
		largest := slices.MaxFunc(rep.Folds, func(a, b *fold.Fold) int { return cmp.Compare(a.Before, b.Before) })
		key := r.Session.Key()
		if of, copied := library.Copied(key); copied {
			p.Note("kept in the store with %s: pleat browse %s\n", of, key)
		} else {
			p.Note("kept in the store as %s\n", key)
		}
		p.Note("get anything back by its handle, such as the largest fold: pleat unfold %s\n", largest.Handle)
	}
}
