package bench

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
)

//go:embed report.html
var pageText string

var page = template.Must(template.New("report").Parse(pageText))

// About says where a report is from.
type About struct {
	Title  string // empty: "Bench"
	Date   string
	Commit string
}

// WriteHTML writes a report as one page that needs nothing else: tables, and plots of
// what is kept against what it takes, what it costs, and what chains of compactions do.
func (r *Report) WriteHTML(w io.Writer, about About) error {
	if about.Title == "" {
		about.Title = "Bench"
	}
	data := struct {
		About
		Sessions int
		Tokens   string
		Tables   []htmlTable
		Plots    []plot
	}{About: about, Sessions: len(r.Sessions), Tokens: thousands(r.tokens())}
	for _, g := range groups(r.Cells) {
		data.Tables = append(
			data.Tables,
			tableOf(fmt.Sprintf("Views of %s tokens after %s", thousands(g[0].Budget), times(g[0].Chain)), g),
		)
	}
	for _, g := range groups(r.Own) {
		data.Tables = append(
			data.Tables,
			tableOf(
				fmt.Sprintf(
					"Where the real agents compacted, against their own summaries: views of %s tokens",
					thousands(g[0].Budget),
				),
				g,
			),
		)
	}
	data.Tables = append(data.Tables, moneyTables(r.Money)...)
	if len(r.Answers) > 0 {
		rows := answerRows(r.Answers)
		data.Tables = slices.Insert(
			data.Tables, 0, htmlTable{Title: answerTitle(r.Answers[0]), Head: rows[0], Rows: rows[1:]},
		)
	}
	if len(r.Scaling) > 0 {
		rows := scaleRows(r.Scaling)
		data.Tables = append(data.Tables, htmlTable{Title: scaleTitle(r.Scaling[0]), Head: rows[0], Rows: rows[1:]})
	}
	data.Plots = []plot{r.keptPlot(), r.moneyPlot(), r.decayPlot()}
	if err := page.Execute(w, data); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

type htmlTable struct {
	Title string
	Head  []string
	Rows  [][]string
}

func tableOf(title string, cells []Cell) htmlTable {
	t := htmlTable{Title: title, Head: []string{"arm"}}
	for _, c := range columns() {
		t.Head = append(t.Head, c.head)
	}
	for _, c := range cells {
		row := []string{c.Arm}
		for _, col := range columns() {
			row = append(row, col.cell(c))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func moneyTables(list []Money) []htmlTable {
	var out []htmlTable
	for _, name := range priceNames(list) {
		t := htmlTable{Title: "Cost against no compaction: " + name, Head: moneyHead}
		for _, m := range list {
			if m.Prices == name {
				t.Rows = append(t.Rows, m.row())
			}
		}
		out = append(out, t)
	}
	return out
}

// plot is a drawing of points, some of them joined.
type plot struct {
	Title, X, Y string
	Series      []series
	Empty       bool
	SVG         template.HTML
}

type series struct {
	Name   string
	Colour template.CSS
	Points [][2]float64
}

// Score is the mean of a cell's marks over its families, from 0 to 5.
func (c Cell) Score() float64 {
	sum, n := 0.0, 0.0
	for _, f := range Families {
		if m, ok := c.Means[f]; ok {
			sum, n = sum+m.Score, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

func (r *Report) keptPlot() plot {
	var list []series
	for _, c := range r.Cells {
		if c.Chain == 1 && c.Arm != "none" {
			list = put(list, c.Arm, float64(c.Tokens), c.Means[FutureUse].Context)
		}
	}
	return drawn(
		plot{
			Title:  "What was used later and is in context, against the tokens kept",
			X:      "tokens of the view",
			Y:      "share",
			Series: list,
		},
	)
}

func (r *Report) moneyPlot() plot {
	var list []series
	if len(r.Money) > 0 {
		for _, m := range r.Money {
			if m.Prices != r.Money[0].Prices {
				continue
			}
			for _, c := range r.Cells {
				if c.Arm == m.Arm && c.Chain == 1 && c.Budget == r.Cells[len(r.Cells)-1].Budget {
					list = put(list, m.Arm, m.Total, c.Score())
				}
			}
		}
	}
	return drawn(
		plot{
			Title:  "The mean mark of all families, against the cost of whole sessions",
			X:      "cost, no compaction = 1",
			Y:      "mark, 0 to 5",
			Series: list,
		},
	)
}

func (r *Report) decayPlot() plot {
	budget := 0
	for _, c := range r.Cells { // the smallest, where there is most to lose
		if c.Chain > 1 && (budget == 0 || c.Budget < budget) {
			budget = c.Budget
		}
	}
	var list []series
	for _, c := range r.Cells {
		if c.Budget == budget && c.Arm != "none" {
			list = put(list, c.Arm, float64(c.Chain), c.Score())
		}
	}
	return drawn(
		plot{
			Title:  fmt.Sprintf("The mean mark after several compactions, views of %s tokens", thousands(budget)),
			X:      "compactions",
			Y:      "mark, 0 to 5",
			Series: list,
		},
	)
}

func put(list []series, name string, x, y float64) []series {
	i := slices.IndexFunc(list, func(s series) bool { return s.Name == name })
	if i < 0 {
		i, list = len(list), append(list, series{Name: name})
	}
	list[i].Points = append(list[i].Points, [2]float64{x, y})
	slices.SortStableFunc(list[i].Points, func(a, b [2]float64) int {
		switch {
		case a[0] < b[0]:
			return -1
		case a[0] > b[0]:
			return 1
		}
		return 0
	})
	return list
}

var colours = []string{
	"#c2410c",
	"#1d4ed8",
	"#15803d",
	"#7e22ce",
	"#0e7490",
	"#a16207",
	"#be123c",
	"#4b5563",
	"#4d7c0f",
	"#a78bfa",
	"#f59e0b",
	"#64748b",
}

// drawn is the plot with its picture. Names stand below it, where a narrow screen has
// room for them.
func drawn(p plot) plot {
	if len(p.Series) == 0 {
		p.Empty = true
		return p
	}
	const width, height, left, right, top, bottom = 720.0, 420.0, 64.0, 24.0, 14.0, 44.0
	minX, maxX, maxY := p.Series[0].Points[0][0], 0.0, 0.0
	for _, s := range p.Series {
		for _, pt := range s.Points {
			minX, maxX, maxY = min(minX, pt[0]), max(maxX, pt[0]), max(maxY, pt[1])
		}
	}
	across, up := ticks(minX, maxX), ticks(0, maxY)
	minX, maxX, maxY = across[0], across[len(across)-1], up[len(up)-1]
	x := func(v float64) float64 { return left + (v-minX)/(maxX-minX)*(width-left-right) }
	y := func(v float64) float64 { return height - bottom - v/maxY*(height-top-bottom) }
	var b strings.Builder
	fmt.Fprintf(
		&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, width, height, template.HTMLEscapeString(p.Title),
	)
	for _, v := range up {
		fmt.Fprintf(
			&b,
			`<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`,
			left, width-right, y(v), y(v), left-8, y(v)+5, label(v),
		)
	}
	for _, v := range across {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x(v), height-bottom+28, label(v))
	}
	for i, s := range p.Series {
		c := colours[i%len(colours)]
		p.Series[i].Colour = template.CSS(c)
		var path []string
		for _, pt := range s.Points {
			path = append(path, fmt.Sprintf("%.1f,%.1f", x(pt[0]), y(pt[1])))
			fmt.Fprintf(
				&b, `<circle cx="%.1f" cy="%.1f" r="5" fill="%s"><title>%s: %s, %.3g</title></circle>`, x(pt[0]),
				y(pt[1]), c, template.HTMLEscapeString(s.Name), label(pt[0]), pt[1],
			)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`, strings.Join(path, " "), c)
	}
	b.WriteString("</svg>")
	p.SVG = template.HTML(b.String()) // made above of numbers and escaped names
	return p
}

// ticks are round numbers that span a range, four to seven of them.
func ticks(low, high float64) []float64 {
	if high <= low {
		high = low + 1
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, by := range []float64{1, 2, 2.5, 5, 10} {
		if (high-low)/(step*by) <= 5 {
			step *= by
			break
		}
	}
	var out []float64
	for i := math.Floor(low/step + 1e-9); ; i++ {
		out = append(out, i*step)
		if i*step >= high-step*1e-9 {
			return out
		}
	}
}

func label(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.3gk", v/1000)
	}
	return fmt.Sprintf("%.3g", v)
}
