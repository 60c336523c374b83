package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/transcript"
)

func compactCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:        "compact FILE",
		SuggestFor: []string{"plan", "diff", "fold"},
		Short:      "fold a session to a budget; originals go to the store",
		Long: `Folds the session in FILE ("-" is standard input, last the newest session) so that what is left
has at most --budget tokens, and prints it. The whole session is stored first, so "pleat unfold HANDLE" gives back
anything that was folded, exactly. If the session already fits, only very large results are
folded. Without --digest-model no model is asked, and the same file, policy and
budget give the same bytes.

Formats:
  text    the view as plain text
  prompt  a text to paste into a new session, to continue this one there

The budget is for the messages.
With --json, one object holds the view, the folds, the ledger, pins, anchors and the report.
A summary of what was folded goes to standard error.

--dry-run shows instead which folds would be made, with which lever, why, and what each saves.
It stores nothing and asks no model; "pleat browse" shows each block as the model gets it.`,
		Example: `# what would be folded to get to 30,000 tokens?
pleat compact session.jsonl --budget 30k --dry-run
# continue an old session in a new one
pleat compact session.jsonl --budget 20k --format prompt | pbcopy
# what was folded, and how to get it back
pleat compact session.jsonl --json | jq '.folds[] | {handle, reason}'`,
	}
	f := &compactFlags{fileCommand: declareFile(c)}
	f.declare(c.Flags())
	c.RunE = runs(p, f.run)
	return c
}

type compactFlags struct {
	*fileCommand
	fold                 sessionfile.FoldFlags
	digests              sessionfile.Digests
	out, format          string
	quiet, orCode, force bool
	dry, all             bool
}

func (c *compactFlags) declare(fs *pflag.FlagSet) {
	c.fold.Declare(fs)
	fs.StringVar(&c.fold.Dir, "dir", ".", "write the plain copies that some policies keep into `FOLDER`")
	c.digests.Declare(fs)
	fs.BoolVar(&c.orCode, "or-code", false, "let code write a digest that this model does not, without an error")
	fs.StringVarP(&c.out, "output", "o", "", "write the result to `OUT` instead of standard output")
	fs.BoolVar(&c.force, "force", false, "replace OUT if it exists")
	fs.StringVar(&c.format, "format", "text", "form of the result: `FORMAT` is text or prompt")
	fs.BoolVar(&c.quiet, "quiet", false, "no report on standard error")
	fs.BoolVar(&c.dry, "dry-run", false, "show what would be folded; store nothing")
	fs.BoolVar(&c.all, "all", false, "with --dry-run: list every fold")
	fs.Lookup("json").Usage = "print one JSON object instead"
}

func (c *compactFlags) run(ctx context.Context, p *term.Console, args []string) (err error) {
	if !slices.Contains(sessionfile.Formats, c.format) {
		return term.UsageError(fmt.Sprintf("unknown format %q: want text or prompt", c.format))
	}
	if !c.json {
		c.fold.Format = c.format
	}
	if c.dry && c.out != "" {
		return term.UsageError("--output is for the result: --dry-run makes none, and prints to standard output")
	}
	if c.dry {
		return c.fileCommand.run(ctx, p, args, func(f *sessionfile.File, tell *term.Progress) (term.Result, error) {
			return c.plan(ctx, f, tell)
		})
	}
	f, err := sessionfile.Read(ctx, p, first(args), c.Flags)
	if err != nil {
		return err
	}
	defer f.Close()
	if same(c.out, f.Name) {
		return term.UsageError("--output " + c.out + " is the session itself, which stays as it is: name another file")
	}
	if err := term.MayWrite(c.out, c.force); err != nil {
		return err
	}
	if c.fold.Writer, err = c.digests.Open(ctx, p.Getenv); err != nil {
		return err
	}
	db, err := stores.Open(ctx, p, c.Store)
	if err != nil {
		return err
	}
	defer db.Close()
	tell := p.Progress()
	if !c.quiet {
		c.fold.Note = p.Note
	}
	c.fold.Tenant = c.Store.Tenant
	r, err := f.Fold(ctx, tell, db, c.fold)
	tell.Done()
	if err != nil {
		return err
	}
	err = p.WriteTo(c.out, 0o644, func(w io.Writer) error { return r.Write(w) })
	if err == nil && !c.quiet {
		r.Tell(p)
	}
	if err == nil {
		err = r.DropEmpty(ctx, db)
	}
	if err == nil && r.Unwritten != "" && !c.orCode {
		err = fmt.Errorf("%s (the result is complete; with --or-code this is no error)", r.Unwritten)
	}
	return err
}

// same reports whether two names are of one file.
func same(a, b string) bool {
	x, err := os.Stat(a)
	y, failed := os.Stat(b)
	return err == nil && failed == nil && x.Mode().IsRegular() && os.SameFile(x, y)
}

func (c *compactFlags) plan(ctx context.Context, f *sessionfile.File, tell *term.Progress) (term.Result, error) {
	store, drop, err := f.Scratch(ctx)
	if err != nil {
		return nil, err
	}
	defer drop()
	c.fold.Dir = "" // no copies are kept either
	r, err := f.Fold(ctx, tell, store, c.fold)
	if err != nil {
		return nil, err
	}
	return planOf(r, c.all), nil
}

// planJSON is what "pleat compact --dry-run --json" prints.
type planJSON struct {
	Format  string               `json:"format"`
	Source  sessionfile.Source   `json:"source"`
	Policy  string               `json:"policy"`
	Tokens  sessionfile.Budget   `json:"tokens"`
	Levers  []library.LeverShare `json:"levers"`
	Folds   []sessionfile.Fold   `json:"folds"`
	Cache   fold.CacheCost       `json:"cache"`
	Steps   any                  `json:"steps,omitempty"` // of the newest plan; see fold.Plan
	Warning string               `json:"warning,omitempty"`

	plan  *fold.Plan // of the newest epoch; nil: none
	folds []*fold.Fold
	whats map[transcript.BlockRef]string
	all   bool // for people: list all folds
}

func planOf(r *sessionfile.Folded, all bool) *planJSON {
	j := &planJSON{
		Format: "pleat/plan/1", Source: r.File.Source(), Policy: r.Policy, Tokens: r.Tokens(),
		Levers: library.ByLever(r.Report.Folds), Folds: sessionfile.Folds(r.Report.Folds),
		Cache: r.Report.Cache, Warning: r.Warning,
		folds: r.Report.Folds, whats: library.Whats(r.Session), all: all, plan: r.Plan,
	}
	if r.Plan != nil && len(r.Plan.Steps) > 0 {
		j.Steps = r.Plan.Steps
	}
	return j
}

// notStored says what can be done with the handles of folds that were not stored.
const notStored = `Nothing is stored. "pleat unfold HANDLE --in FILE" gives back single blocks; longer stretches (–) ` +
	`have handles after "pleat compact FILE".`

// planRows is the number of folds listed without --all.
const planRows = 20

func (j *planJSON) Print(p *term.Page) {
	p.Title(j.Source.File)
	p.Line("policy %s: %s → %s tokens, budget %s", j.Policy, term.Thousands(j.Tokens.Before),
		term.Thousands(j.Tokens.After), term.Thousands(j.Tokens.Budget))
	if j.Warning != "" {
		p.Hang("warning: ", j.Warning)
	}
	if len(j.folds) == 0 {
		p.Line("nothing to fold: %s", sessionfile.WhyNot(j.Tokens, j.Policy))
		return
	}
	if c := j.Cache; c.Removed > 0 {
		p.Hang("", fmt.Sprintf("One cache write of %s tokens; later requests are %s shorter.",
			term.Thousands(c.Rewritten), term.Thousands(c.Removed)))
	}
	if j.plan != nil && len(j.plan.Steps) > 1 {
		for _, s := range j.plan.Steps {
			p.Line("%s: %s → %s tokens, %s", s.Lever, term.Thousands(s.Before), term.Thousands(s.After), s.State)
		}
	}
	p.Hang("", notStored)
	p.Head("By lever", "")
	printLevers(p, j.Levers)
	folds, note := j.folds, ""
	if !j.all && len(folds) > planRows {
		note = fmt.Sprintf("the %d that save most; %d more with --all", planRows, len(folds)-planRows)
		folds = slices.Clone(folds)
		slices.SortStableFunc(folds,
			func(a, b *fold.Fold) int { return cmp.Compare(b.Before-b.After, a.Before-a.After) })
		folds = folds[:planRows]
	}
	p.Head("Folds", note)
	printFolds(p, folds, j.whats)
}

func printLevers(p *term.Page, shares []library.LeverShare) {
	p.Line("%s", p.Dim(fmt.Sprintf("  %-10s%6s%9s%9s  what", "lever", "folds", "before", "after")))
	for _, l := range shares {
		p.Line("  %-10s%6s%9s%9s  %s", l.Lever, term.Thousands(l.Folds), term.Thousands(l.Before),
			term.Thousands(l.After), p.Clip(library.Levers[l.Lever], p.Width-38))
	}
}

// printFolds prints a table of folds that were not stored; whats describes single blocks.
func printFolds(p *term.Page, folds []*fold.Fold, whats map[transcript.BlockRef]string) {
	handle := func(f *fold.Fold) string {
		if f.Block < 0 {
			return "–"
		}
		return f.Handle
	}
	width := max(term.Widest(folds, handle), len("handle"))
	row := func(lever, where, before, after, handle string) string {
		where, handle = term.Pad(where, 11), term.Pad(handle, width)
		return fmt.Sprintf("  %-10s%s%9s%8s  %s  ", lever, where, before, after, handle)
	}
	p.Line("%s", p.Dim(p.Clip(row("lever", "messages", "before", "after", "handle")+"what", p.Width)))
	for _, f := range folds {
		where := fmt.Sprintf("%d–%d", f.Start+1, f.End)
		if f.Block >= 0 || f.End == f.Start+1 {
			where = fmt.Sprint(f.Start + 1)
		}
		line := row(f.Lever, where, term.Thousands(f.Before), term.Thousands(f.After), handle(f))
		why := term.OneLine(f.Reason)
		if what := term.OneLine(whats[transcript.BlockRef{Message: f.Start, Block: f.Block}]); what != "" {
			if why += ": "; strings.HasPrefix(why, "old result") {
				why = "" // the call says more
			}
			why += what
		}
		if !p.Whole && why != "" && p.Width-term.Columns(line) < 20 { // too narrow: on a line of its own
			p.Line("%s", p.Clip(strings.TrimRight(line, " "), p.Width))
			line = "    └ "
		}
		p.Line("%s%s", line, p.Clip(why, p.Width-term.Columns(line)))
	}
}
