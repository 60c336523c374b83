package live

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// changes shows what a call would change in a file: the lines that go, and those that come.
func (r *running) changes(c agent.Call) []term.Styled {
	if r.work == nil {
		return nil
	}
	change, ok := r.work.Change(c)
	if !ok {
		return nil
	}
	out := lineDiff(r.screen.s, change.Before, change.After)
	if change.All {
		out = append(out, "  "+r.screen.s.Dim("in every place"))
	}
	return out
}

// diffLines is how many lines of each side a diff shows.
const diffLines = 30

// lineDiff shows two texts without the lines that they begin and end with alike.
func lineDiff(s term.Screen, before, after string) (out []term.Styled) {
	a, b := lineList(before), lineList(after)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	for _, side := range []struct {
		mark, colour string
		lines        []string
	}{{"- ", "31", a}, {"+ ", "32", b}} {
		for _, l := range side.lines[:min(len(side.lines), diffLines)] {
			out = append(out, "  "+s.Style(side.colour, side.mark+l))
		}
		if n := len(side.lines) - diffLines; n > 0 {
			out = append(out, "  "+s.Dim(fmt.Sprintf("%s… %s more", side.mark, term.Plural(n, "line"))))
		}
	}
	return out
}

func lineList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
