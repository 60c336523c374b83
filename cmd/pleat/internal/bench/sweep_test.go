package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxDip is the most that a share may fall from a budget to a larger one, as the mean over the
// sessions that take part in both.
const maxDip = 0.02

// TestSweep looks at the default policy over many budgets: PLEAT_SWEEP names JSON that pleat
// bench wrote. It fails on a view that does not fit and reports where a larger budget keeps
// less. With -record it draws docs/sweep.svg.
func TestSweep(t *testing.T) {
	file := os.Getenv("PLEAT_SWEEP")
	if file == "" {
		t.Skip("set PLEAT_SWEEP to the JSON of a bench over many budgets to run this test")
	}
	data, err := os.ReadFile(file)
	must(t, err)
	var r Report
	must(t, json.Unmarshal(data, &r))
	cells := slices.DeleteFunc(r.Cells, func(c Cell) bool { return c.Arm != "default" || c.Chain != 1 || c.Views == 0 })
	slices.SortFunc(cells, func(a, b Cell) int { return a.Budget - b.Budget })
	for _, c := range cells {
		if c.Over+c.Refused+c.Illegal > 0 {
			t.Errorf(
				"at %d tokens %d views are too large, %d were not made, %d are illegal", c.Budget, c.Over, c.Refused,
				c.Illegal,
			)
		}
		t.Logf(
			"%6d tokens, %2d sessions: future use %.3f, outcomes %.3f, files %.3f, %.2f of the budget used", c.Budget,
			c.Views, c.Means[FutureUse].Context, c.Means[Outcomes].Context, c.Means[Artifacts].Context,
			float64(c.Tokens)/float64(c.Budget),
		)
	}
	for _, f := range []Family{FutureUse, Outcomes} {
		for i := range cells {
			for k := range cells[:i] {
				if a, b, n := together(cells[k], cells[i], f); b < a-maxDip {
					t.Logf("dip: %s %.3f at %d tokens, %.3f at %d, over %d sessions", f, a, cells[k].Budget,
						b, cells[i].Budget, n)
				}
			}
		}
	}
	if *record {
		must(t, os.WriteFile(filepath.Join("..", "..", "..", "..", "docs", "sweep.svg"), []byte(sweepPlot(cells)), 0o644))
	}
}

// together returns a family's mean shares at two budgets, over the sessions that take part in
// both.
func together(x, y Cell, f Family) (a, b float64, n int) {
	for i := range x.BySession {
		p, q := x.BySession[i][f], y.BySession[i][f]
		if p.Targets > 0 && q.Targets > 0 {
			a += float64(p.Context) / float64(p.Targets)
			b += float64(q.Context) / float64(q.Targets)
			n++
		}
	}
	return a / float64(max(n, 1)), b / float64(max(n, 1)), n
}

// sweepPlot draws the shares over the budgets, which stand at equal distances.
func sweepPlot(cells []Cell) string {
	const left, top, width, height = 40, 16, 560, 200
	var b strings.Builder
	fmt.Fprintf(
		&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="10">`+"\n",
		left+width+90, top+height+30,
	)
	x := func(i int) int { return left + i*width/max(len(cells)-1, 1) }
	y := func(share float64) int { return top + int(float64(height)*(1-share)) }
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		fmt.Fprintf(
			&b, `<path d="M%d %dH%d" stroke="#ccc"/><text x="4" y="%d">%.2f</text>`+"\n", left, y(share), left+width,
			y(share)+3, share,
		)
	}
	for i, c := range cells {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%dk</text>`+"\n", x(i), top+height+16, c.Budget/1000)
	}
	for _, l := range []struct {
		name, color string
		share       func(c Cell) float64
	}{
		{"future use", "#06c", func(c Cell) float64 { return c.Means[FutureUse].Context }},
		{"outcomes", "#c60", func(c Cell) float64 { return c.Means[Outcomes].Context }},
		{"files", "#393", func(c Cell) float64 { return c.Means[Artifacts].Context }},
		{"budget used", "#999", func(c Cell) float64 { return float64(c.Tokens) / float64(c.Budget) }},
	} {
		var points []string
		for i, c := range cells {
			points = append(points, fmt.Sprintf("%d,%d", x(i), y(l.share(c))))
		}
		last := y(l.share(cells[len(cells)-1]))
		fmt.Fprintf(
			&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/><text x="%d" y="%d" fill="%s">%s</text>`+"\n",
			strings.Join(points, " "), l.color, left+width+6, last+3, l.color, l.name,
		)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
