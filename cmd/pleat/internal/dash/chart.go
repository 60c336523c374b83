package dash

import (
	"fmt"
	"strings"
)

// The charts are SVG without text: a plot is stretched to the width of the page, and its
// labels stand beside it as HTML. Title and description say the same to a screen reader, and
// a table with the numbers follows.

const plotWidth, plotHeight = 1000, 200

// plot is a chart over the messages of a session, or over days.
type plot struct {
	ID          string // of the elements that name it; unique on the page
	Title, Desc string
	Top         int // value at the upper edge
	TopName     string
	HalfName    string
	places      int // of bars
	Lines       []line2
	Levels      []level
	Bars        []bar2
	From, To    string // labels at the ends of the x axis
}

// line2 is a line of a plot.
type line2 struct {
	Class  string
	Points string // of a polyline
	Area   string // the same, closed at the bottom; empty: it is not filled
}

// level is a horizontal line.
type level struct {
	Class, Name string
	Y           int
	Value       int
}

// bar2 is a bar from the bottom.
type bar2 struct {
	Class      string
	X, Y, W, H float64
	Name       string
}

// bar adds a bar. From and width are shares of the width of one place.
func (p *plot) bar(class string, place int, from, width, value float64, name string) {
	if value <= 0 {
		return
	}
	w := float64(plotWidth) / float64(p.places)
	height := max(value*plotHeight/float64(p.Top), 1)
	p.Bars = append(p.Bars, bar2{class, (float64(place) + from) * w, plotHeight - height, width * w, height, name})
}

// steps is how many places a line has at most: more cannot be seen.
const steps = 500

// polyline draws values that belong to the places 0 to n of the x axis.
func polyline(values []point, n, top int, class string, fill bool) line2 {
	across := func(x int) float64 { return float64(x) * plotWidth / float64(max(n, 1)) }
	var b strings.Builder
	for _, p := range thin(values, steps) {
		fmt.Fprintf(&b, "%.1f,%.1f ", across(p.x), plotHeight-float64(p.y)*plotHeight/float64(max(top, 1)))
	}
	l := line2{Class: class, Points: strings.TrimSpace(b.String())}
	if fill && len(values) > 0 {
		first, last := across(values[0].x), across(values[len(values)-1].x)
		l.Area = fmt.Sprintf("%.1f,%d %s %.1f,%d", first, plotHeight, l.Points, last, plotHeight)
	}
	return l
}

type point struct{ x, y int }

// thin leaves out points until there are about so many, but the points around a step down stay.
func thin(points []point, about int) (out []point) {
	every := len(points)/about + 1
	for i, p := range points {
		drop := i > 0 && p.y < points[i-1].y || i+1 < len(points) && points[i+1].y < p.y
		if i%every == 0 || i == len(points)-1 || drop {
			out = append(out, p)
		}
	}
	return out
}

// levelAt adds a horizontal line if its value is on the plot.
func (p *plot) levelAt(name, class string, value int) {
	if 0 < value && value <= p.Top {
		p.Levels = append(p.Levels, level{class, name, plotHeight - value*plotHeight/p.Top, value})
	}
}

// roomAbove returns a round upper edge for a plot with this largest value.
func roomAbove(most int) int {
	unit := 1
	for unit*10 <= most {
		unit *= 10
	}
	for _, tenths := range []int{10, 12, 15, 20, 25, 30, 40, 50, 60, 80} {
		if top := unit * tenths / 10; top >= most {
			return max(top, 1)
		}
	}
	return unit * 10
}

// share is a part of something, as a row of a table with a bar.
type share struct {
	Name   string
	Tokens int
	Of     int // what the bar is measured by
}

// Percent is the share in hundredths.
func (s share) Percent() string { return percent(s.Tokens, s.Of) }

// Width is the length of the bar in hundredths.
func (s share) Width() float64 {
	if s.Of <= 0 {
		return 0
	}
	return min(float64(s.Tokens)*100/float64(s.Of), 100)
}
