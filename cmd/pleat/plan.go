package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
)

var planCommand = command{
	name:    "plan",
	args:    "FILE [FLAGS]",
	summary: "say what compact would fold, and do nothing",
	help: `A dry run of "pleat compact" with the same flags: which folds it would make, by which lever,
why, and what each saves. Nothing is stored; handles work once "pleat compact" has run.`,
	examples: `# what would have to go to get to 30,000 tokens?
pleat plan session.jsonl --budget 30k
# the same under another policy
pleat plan session.jsonl --budget 30k --policy book`,
	flags: func(fs *flag.FlagSet) runFunc {
		var src sourceFlags
		var fold foldFlags
		src.declare(fs)
		fold.declare(fs, "the most `TOKENS` of the result: 60000, 60_000, 60k, 0.2M")
		asJSON := fs.Bool("json", false, "print one JSON object")
		all := fs.Bool("all", false, "list every fold, not only the largest")
		return func(ctx context.Context, p *program, args []string) error {
			name, err := oneFile("plan", args)
			if err != nil {
				return err
			}
			f, err := p.readSession(ctx, name, src)
			if err != nil {
				return err
			}
			defer f.Close()
			store, drop, err := f.scratch()
			if err != nil {
				return err
			}
			defer drop()
			r, err := p.foldFile(ctx, store, f, fold, false, false)
			if err != nil {
				return err
			}
			if *asJSON {
				return writeJSON(p.stdout, r.planJSON())
			}
			return r.printPlan(p.stdout, p.screen(), *all)
		}
	},
}

// planJSON is what "pleat plan --json" prints. It is a contract: docs/cli.md.
type planJSON struct {
	Format  string          `json:"format"`
	Source  sourceJSON      `json:"source"`
	Policy  string          `json:"policy"`
	Tokens  budgetJSON      `json:"tokens"`
	Levers  []leverShare    `json:"levers"`
	Folds   []foldJSON      `json:"folds"`
	Cache   pleat.CacheCost `json:"cache"`
	Warning string          `json:"warning,omitempty"`
}

func (r *folded) planJSON() planJSON {
	j := planJSON{
		Format: formatPlan, Source: r.file.json(), Policy: r.policy,
		Tokens: budgetJSON{r.report.Whole, r.report.Snapshot.Tokens, r.budget},
		Levers: byLever(r.report.Folds), Folds: foldsJSON(r.report.Folds), Cache: r.report.Cache,
	}
	if r.plan != nil {
		j.Warning = r.plan.Warning
	}
	return j
}

// planRows is how many folds are listed if not all are wanted.
const planRows = 20

func (r *folded) printPlan(w io.Writer, s screen, all bool) error {
	p := newPage(w, s)
	rep := r.report
	p.line("%s", p.bold(clipMiddle(fileName(r.file.name), p.width)))
	p.line("policy %s: %s → %s tokens, budget %s", r.policy, thousands(rep.Whole), thousands(rep.Snapshot.Tokens), thousands(r.budget))
	if len(rep.Folds) == 0 {
		p.line("nothing to fold: it fits")
		return p.close()
	}
	if c := rep.Cache; c.Removed > 0 {
		p.line("cache: %s tokens rewritten once, %s fewer in every request", thousands(c.Rewritten), thousands(c.Removed))
	}
	if r.plan != nil && r.plan.Warning != "" {
		p.line("warning: %s", r.plan.Warning)
	}
	p.head("By lever", "")
	r.printLevers(p)
	folds := rep.Folds
	note := ""
	if !all && len(folds) > planRows {
		note = fmt.Sprintf("the %d that save most; %d more with --all", planRows, len(folds)-planRows)
		folds = slices.Clone(folds)
		slices.SortStableFunc(folds, func(a, b *pleat.Fold) int { return cmp.Compare(b.Before-b.After, a.Before-a.After) })
		folds = folds[:planRows]
	}
	p.head("Folds", note)
	p.printFolds(folds, "", r.whats())
	return p.close()
}

func (r *folded) printLevers(p *page) {
	shares := byLever(r.report.Folds)
	most := 1
	for _, l := range shares {
		most = max(most, l.Before)
	}
	room := p.width - 2 - 10 - 8 - 11 - 11 - 2
	p.line("%s", p.dim(fmt.Sprintf("  %-10s%8s%11s%11s", "lever", "folds", "before", "after")))
	for _, l := range shares {
		p.line("  %-10s%8s%11s%11s  %s", l.Lever, thousands(l.Folds), thousands(l.Before), thousands(l.After), strings.TrimRight(bar(l.Before-l.After, most, room), " "))
	}
}

// whats says of every result which call it answers.
func (r *folded) whats() map[pleat.BlockRef]string {
	whats := make(map[pleat.BlockRef]string)
	for _, e := range r.session.Ledger(pleat.LedgerFilter{}) {
		if e.Outcome != pleat.Unanswered {
			whats[e.Result] = e.Tool + " " + e.Args
		}
	}
	return whats
}

// printFolds lists folds as a table; whats has what is known of single blocks.
func (p *page) printFolds(folds []*pleat.Fold, indent string, whats map[pleat.BlockRef]string) {
	width := len("handle")
	for _, f := range folds {
		width = max(width, len(f.Handle))
	}
	head := fmt.Sprintf("%s  %-10s%-11s%9s%8s  %s  what", indent, "lever", "messages", "before", "after", pad("handle", width))
	p.line("%s", p.dim(head))
	for _, f := range folds {
		where := fmt.Sprintf("%d–%d", f.Start+1, f.End)
		if f.Block >= 0 || f.End == f.Start+1 {
			where = fmt.Sprint(f.Start + 1)
		}
		line := fmt.Sprintf("%s  %-10s%s%9s%8s  %s  ", indent, f.Lever, pad(where, 11), thousands(f.Before), thousands(f.After), pad(f.Handle, width))
		why := oneLine(f.Reason)
		if what := oneLine(whats[pleat.BlockRef{Message: f.Start, Block: f.Block}]); what != "" {
			if why += ": "; strings.HasPrefix(why, "old result") {
				why = "" // what it was tells more
			}
			why += what
		}
		p.line("%s%s", line, clip(why, max(p.width-columns(line), 12)))
	}
}
