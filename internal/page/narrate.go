package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
)

// narrate writes what the folded turns found out, decided and produced, in at most room
// tokens, word for word: sentences of the assistant, message by message, then lines of files
// and outputs, grouped by where they come from.
func (in *input) narrate(room int) (said, lines string) {
	const linesTitle = "## Key lines of files and outputs (verbatim, others left out"
	proseTitle := "## Findings, decisions, results (verbatim excerpts; each with the handle that unfolds all of it)\n"
	if in.Recall == nil {
		proseTitle = "## Findings, decisions, results (verbatim excerpts)\n"
	}
	p := newPicker(in)
	w := &lineWriter{p: p, shown: make(map[[2]int]bool), count: in.count, root: p.root}
	where := ")\n"
	if w.root != "" {
		where = ", paths under " + w.root + ")\n"
	}
	room -= w.count(proseTitle) + w.count(linesTitle+where) + 4
	if room < 20 {
		return "", ""
	}
	p.plain = room
	if in.small { // few plain lines: without what is around them they say little
		p.plain = room / 8
	}
	for picked := p.pick(room, w.size); len(picked) > 0; picked = picked[:len(picked)*9/10] {
		said, lines = w.prose(picked), w.lines(picked)
		if w.count(said)+w.count(lines) > room { // tokens do not quite add up
			continue
		}
		if said != "" {
			said = proseTitle + said
		}
		if lines != "" {
			lines = linesTitle + where + lines
		}
		return said, lines
	}
	return "", ""
}

// maxShown is the most bytes of a line that a page shows; of a sentence, twice that.
const maxShown = 300

// lineWriter puts picked lines on the page.
type lineWriter struct {
	p     *picker
	shown map[[2]int]bool // units that were counted: source, unit
	count func(string) int
	root  string // directory that all files of the sources are in; not repeated
}

// commonRoot returns the directory that all files are in, with its slash; empty if that is
// not worth saying. Labels that are no absolute path do not count.
func commonRoot[T any](list []T, label func(*T) string) string {
	root, files := "", 0
	for i := range list {
		path := label(&list[i])
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \t") {
			continue
		}
		if files++; files == 1 {
			root = path[:strings.LastIndexByte(path, '/')+1]
		}
		for !strings.HasPrefix(path, root) {
			root = root[:strings.LastIndexByte(root[:len(root)-1], '/')+1]
		}
	}
	if files < 2 || len(root) < 12 {
		return ""
	}
	return root
}

// size counts what a line takes on the page and notes it as counted. A sentence brings the
// headings along that it is under.
func (w *lineWriter) size(c *keyLine) int {
	s := &w.p.srcs[c.src]
	n := 0
	if !w.p.open[s.group] {
		n = w.count(w.head(s, []int{c.src})) + 1
	}
	if !s.kind.prose() {
		return n + w.count(w.clip(c)) + 2
	}
	text := w.p.text(c.src)
	for u := int(s.lines[c.line].unit); u >= 0 && !w.shown[[2]int{c.src, u}]; u = s.units[u].Parent {
		w.shown[[2]int{c.src, u}] = true
		n += w.count(text[s.units[u].Start:s.units[u].End]) + 2
	}
	return n
}

// prose writes the sentences, message by message.
func (w *lineWriter) prose(picked []int) string {
	units := make(map[int][]int)
	for _, i := range picked {
		c := &w.p.list[i]
		s := &w.p.srcs[c.src]
		if !s.kind.prose() {
			continue
		}
		for u := int(s.lines[c.line].unit); u >= 0; u = s.units[u].Parent {
			units[c.src] = append(units[c.src], u)
		}
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(units)) {
		b.WriteString(w.head(&w.p.srcs[k], []int{k}))
		b.WriteString(excerpt(w.p.text(k), w.p.srcs[k].units, slices.Compact(slices.Sorted(slices.Values(units[k])))) +
			"\n")
	}
	return b.String()
}

// excerpt writes some of a text's units. Sentences of one paragraph share a line; an ellipsis
// marks what is left out before, between and after them.
func excerpt(txt string, units []text.ProseUnit, order []int) string {
	var b strings.Builder
	para, end := -1, 0
	for _, u := range order {
		un := &units[u]
		between := " "
		if len(order) > 1 && para != un.Para {
			between = "\n" + strings.Repeat("  ", 1+min(un.Depth, 3))
		}
		if says(txt[end:un.Start]) {
			between += "… "
		}
		b.WriteString(between + fence.Line(text.ClipAround(txt[un.Start:un.End], 0, 2*maxShown)))
		para, end = un.Para, un.End
	}
	if says(txt[end:]) {
		b.WriteString(" …")
	}
	return b.String()
}

// says reports whether a text has more than rules, fences and brackets.
func says(txt string) bool {
	for line := range strings.Lines(txt) {
		line = strings.Trim(line, " \t\r\n#-=*_|:─")
		if len(line) > 2 && !text.HasAnyPrefix(line, "```", "~~~") {
			return true
		}
	}
	return false
}

// head names where lines come from, with the handles: a message, or a file or command
// and what the calls did.
func (w *lineWriter) head(s *source, srcs []int) string {
	if !s.kind.prose() && s.kind != fromProgram {
		return w.callHead(s, srcs)
	}
	h := fmt.Sprintf("message %d%s", s.ref.Message+1, w.tag(s))
	switch s.kind {
	case fromSummary:
		h += ", an earlier summary"
	case fromAgent:
		h += fmt.Sprintf(", report of call %d (%s)", s.call, text.OneLine(s.about, 60))
	case fromProgram:
		h += ", put in by a program"
	}
	if s.answers >= 0 {
		h += fmt.Sprintf(", answering %d", s.answers+1)
	}
	return h + ":"
}

// maxHandles is the most handles that a heading names.
const maxHandles = 3

// callHead begins with the numbers of the calls: a path or a command may look like a heading.
func (w *lineWriter) callHead(s *source, srcs []int) string {
	e := w.p.in.Ledger().Entry(s.call)
	var b strings.Builder
	for n, k := range srcs {
		if n == maxHandles {
			b.WriteString("… ")
			break
		}
		fmt.Fprintf(&b, "#%d%s ", w.p.srcs[k].call, w.tag(&w.p.srcs[k]))
	}
	about := cmp.Or(strings.TrimPrefix(s.about, w.root), s.about)
	b.WriteString(fence.Line(ledger.CallLabel(&e)+" "+about) + ":")
	return b.String()
}

func (w *lineWriter) tag(s *source) string {
	if w.p.in.Recall == nil || s.handle == 0 {
		return ""
	}
	return " [" + s.handle.String() + "]"
}

// lineGroup is the picked lines of one origin.
type lineGroup struct{ lines, srcs []int }

// lines writes the plain lines, grouped by the file or command that they come from, in
// the order in which that was first seen.
func (w *lineWriter) lines(picked []int) string {
	picked = slices.DeleteFunc(slices.Clone(picked), func(i int) bool { return w.p.srcs[w.p.list[i].src].kind.prose() })
	slices.SortFunc(picked, func(a, b int) int {
		x, y := &w.p.list[a], &w.p.list[b]
		return cmp.Or(x.src-y.src, x.line-y.line)
	})
	var order []*lineGroup
	groups := make(map[int]*lineGroup)
	for _, i := range picked {
		c := &w.p.list[i]
		group := w.p.srcs[c.src].group
		g := groups[group]
		if g == nil {
			g = &lineGroup{}
			groups[group] = g
			order = append(order, g)
		}
		g.lines = append(g.lines, i)
		if !slices.Contains(g.srcs, c.src) {
			g.srcs = append(g.srcs, c.src)
		}
	}
	var b strings.Builder
	for _, g := range order {
		b.WriteString(w.head(&w.p.srcs[g.srcs[0]], g.srcs) + "\n")
		for _, i := range g.lines {
			b.WriteString("  " + fence.Line(w.clip(&w.p.list[i])) + "\n")
		}
	}
	return b.String()
}

// clip shortens a long line.
func (w *lineWriter) clip(c *keyLine) string {
	l := &w.p.srcs[c.src].lines[c.line]
	return text.ClipAround(w.p.text(c.src)[l.start:l.end], 0, maxShown)
}
