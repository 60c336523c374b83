package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// column is one column of the tables: a family's share, or a count.
type column struct {
	head string
	cell func(c Cell) string
}

// heads are the short names of families.
var heads = map[Family]string{Artifacts: "files", HumanWords: "words", Constraints: "rules", PlanState: "plan"}

func (f Family) head() string { return cmp.Or(heads[f], string(f)) }

// columns are those of the tables in reports.
func columns() []column {
	fam := func(f Family, recall bool) column {
		return column{f.head(), func(c Cell) string {
			m, ok := c.Means[f]
			if !ok {
				return "–"
			}
			if recall && c.Families[f].Asked > 0 {
				return fmt.Sprintf("%.2f→%.2f", m.Context, m.Recall)
			}
			return fmt.Sprintf("%.2f", m.Context)
		}}
	}
	return []column{
		{"tokens", func(c Cell) string { return fmt.Sprint(c.Tokens) }},
		fam(FutureUse, true),
		fam(Artifacts, false),
		{"precision", func(c Cell) string { return fmt.Sprintf("%.2f", c.Precision()) }},
		fam(Outcomes, true),
		fam(Literals, true),
		fam(HumanWords, true),
		fam(Constraints, true),
		fam(Reversals, true),
		fam(PlanState, true),
		{"illegal", func(c Cell) string { return fmt.Sprint(c.Illegal) }},
		{"over", func(c Cell) string { return fmt.Sprint(c.Over + c.Refused) }},
	}
}

// Print implements [term.Result]. Every figure is explained in docs/bench.md.
func (r *Report) Print(p *term.Page) {
	tokens := 0
	for _, s := range r.Sessions {
		tokens += s.Tokens
	}
	p.Line("%d sessions, %s tokens in all. Shares are means over sessions: in context → with one recall.",
		len(r.Sessions), term.Thousands(tokens))
	if r.Summaries != "" {
		p.Line("Summaries by %s, those of the cost simulation by code.", r.Summaries)
	}
	most := 0
	for _, c := range r.Cells {
		most = max(most, c.Chain)
	}
	for _, g := range groups(r.Cells) {
		if n := g[0].Chain; n > 1 && n < most {
			continue // in the JSON
		}
		p.Line("\nViews of %s tokens after %s (%d views)", term.Thousands(g[0].Budget), term.Plural(g[0].Chain, "compaction"), g[0].Views)
		table(p, g)
	}
	for _, g := range groups(r.Own) {
		p.Line(
			"\nWhere the real agents compacted, against their own summaries; views of %s tokens (%d views)",
			term.Thousands(g[0].Budget), g[0].Views,
		)
		table(p, g)
	}
	printMoney(p, r.Money)
	p.Line("")
	if printAnswers(p, r.Answers); len(r.Answers) == 0 {
		p.Line("These probes guard exactness: what is not there cannot be used. They do not measure")
		p.Line("understanding; for that, questions have to be answered by a model (--answerer).")
	}
}

// groups are the cells of one table each.
func groups(cells []Cell) [][]Cell {
	var out [][]Cell
	for _, c := range cells {
		if n := len(out); n > 0 && out[n-1][0].Budget == c.Budget && out[n-1][0].Chain == c.Chain {
			out[n-1] = append(out[n-1], c)
		} else {
			out = append(out, []Cell{c})
		}
	}
	return out
}

func table(p *term.Page, cells []Cell) {
	cols := columns()
	list := [][]string{{"arm"}}
	for _, c := range cols {
		list[0] = append(list[0], c.head)
	}
	for _, c := range cells {
		row := []string{c.Arm}
		for _, col := range cols {
			row = append(row, col.cell(c))
		}
		list = append(list, row)
	}
	rows(p, list)
}

// rows writes aligned columns, the first to the left and the others to the right. Columns
// that say nothing are left out.
func rows(p *term.Page, list [][]string) {
	lines := make([]string, len(list))
	for i := range list[0] {
		if i > 0 && !slices.ContainsFunc(list[1:], func(r []string) bool { return r[i] != "–" && r[i] != "0" }) {
			continue
		}
		width := term.Widest(list, func(r []string) string { return r[i] })
		for n, r := range list {
			if i == 0 {
				lines[n] = term.Pad(r[i], width)
			} else {
				lines[n] += " " + term.PadLeft(r[i], width)
			}
		}
	}
	for _, l := range lines {
		p.Line("%s", strings.TrimRight(l, " "))
	}
}

// answers writes what a model could answer: an arm without and with recall.
func printAnswers(p *term.Page, list []Answered) {
	if len(list) == 0 {
		return
	}
	p.Line("Questions answered by a model from views of %s tokens; a full answer is 1, half an answer 0.5",
		term.Thousands(list[0].Budget))
	cells := [][]string{{"arm", "questions", "score", "recalls"}}
	for _, a := range list {
		name, recalls := a.Arm, "–"
		if a.Recall {
			name, recalls = a.Arm+", recall", fmt.Sprint(a.Recalls)
		}
		cells = append(cells,
			[]string{name, fmt.Sprint(a.Questions), fmt.Sprintf("%.2f", share(a.Points, 2*a.Questions)), recalls})
	}
	rows(p, cells)
}
