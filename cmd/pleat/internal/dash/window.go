package dash

import (
	"fmt"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/text"
)

// overTime is a row of the table beside the chart of the window.
type overTime struct{ Message, Shown, Whole int }

// windowOver follows the window over the messages: it grows with each, and an epoch is a step.
// Of a session that an agent compacted by itself the requests say how full it was.
func windowOver(s *pleat.Session, rep pleat.Report, own library.Window) (plot, []overTime) {
	shown, whole := viewsOver(s, rep)
	red, window := int(rep.Snapshot.Limits.Red), int(rep.Snapshot.Limits.Window)
	if len(own.Requests) > 0 {
		shown, red, window = shown[:0], 0, own.Size
		for i, n := range own.Requests {
			shown = append(shown, point{own.At[i], n})
		}
	}
	most, all := 0, whole[len(whole)-1].y
	for _, p := range shown {
		most = max(most, p.y)
	}
	top := most
	folded := len(rep.Epochs) > 0 || len(own.Requests) > 0
	if folded {
		top = max(top, all)
	}
	top = roomAbove(max(top, min(window, 3*top/2)))
	p := plot{
		ID: "window", Title: "Window over time", Top: top, TopName: text.Short(top), HalfName: text.Short(top / 2),
		From: "message 1", To: fmt.Sprintf("message %d", rep.Messages),
	}
	if folded {
		p.Lines = append(p.Lines, polyline(whole, rep.Messages, top, "whole", false))
	}
	p.Lines = append(p.Lines, polyline(shown, rep.Messages, top, "shown", true))
	p.levelAt("window", "edge", window)
	p.levelAt("folding is forced", "red", red)
	p.Desc = fmt.Sprintf("Tokens in the window over %d messages: %s at the end, %s at most, "+
		"where the whole session takes %s. %d epochs folded something.",
		rep.Messages, text.Short(shown[len(shown)-1].y), text.Short(most), text.Short(all), len(rep.Epochs))
	return p, tableOver(shown, whole)
}

// viewsOver is what a model was shown after each message, by the epochs, and all that was said, in
// the provider's tokens. The report is in pleat's.
func viewsOver(s *pleat.Session, rep pleat.Report) (shown, whole []point) {
	now, next := rep.Snapshot.Parts.System+rep.Snapshot.Parts.Tools, 0
	all := now
	stored := make(map[int]int) // by message: tokens of results that were stored as they came
	for _, f := range s.Folds() {
		if f.Lever == "spill" {
			stored[f.Start] += f.Before - f.After
		}
	}
	shown, whole = []point{{0, now}}, []point{{0, all}}
	for i := range rep.Messages + 1 {
		if i > 0 {
			n := s.Tokens(i-1, i)
			now, all = now+n-stored[i-1], all+n
			shown, whole = append(shown, point{i, now}), append(whole, point{i, all})
		}
		for ; next < len(rep.Epochs) && rep.Epochs[next].Messages <= i; next++ {
			e := rep.Epochs[next]
			shown, now = append(shown, point{i, e.Before}, point{i, e.After}), e.After
		}
	}
	for _, points := range [][]point{shown, whole} {
		for i := range points {
			points[i].y = int(inside.Of(s).ProviderTokens(points[i].y))
		}
	}
	return shown, whole
}

// tableOver picks rows for the table: about twenty, and those around every step.
func tableOver(shown, whole []point) (rows []overTime) {
	points := thin(shown, 20)
	for _, p := range points[:min(len(points), 200)] {
		rows = append(rows, overTime{p.x, p.y, whole[p.x].y})
	}
	return rows
}
