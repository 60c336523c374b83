package recall

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// A page has little room, and which place holds the answer nobody knows. So many places
// are shown, the best with what stands around them, the others with little more than the
// lines that match; what heads them is short and stands once for each source.
const (
	fullPlaces  = 4   // places that are shown with what stands around them
	namedPlaces = 6   // of so many best places, those without room are named, the others counted
	sameLines   = 0.7 // share of a place's lines that are on the page already, above which it adds nothing
	footRoom    = 24  // tokens kept to say that something is not shown
	callRoom    = 12  // tokens beside the call by which a place is named
)

// foundPlace is a window that was chosen, in the forms in which it can be shown: with
// the lines around it, its matches with the lines next to them, its matches.
type foundPlace struct {
	hit   SearchHit // without lines
	forms [3][]Line
	call  string // shows all of it
}

// lay puts places on the answer's page, best first, each in the largest form that there
// is room for, and returns how many tokens the page takes.
func (a *SearchAnswer) lay(places []foundPlace, room int, count func(string) int) int {
	used := count(a.headFor(len(places))) + footRoom
	known := make(map[string]string) // lines that are on the page, with the handle of their source
	shown := 0
	for i := range places {
		p := &places[i]
		if shown > 0 && p.repeats(known) {
			continue
		}
		cost, ok := a.place(p, shown, room-used, count)
		switch {
		case ok:
			used += cost
			shown++
			p.remember(known)
		case i < namedPlaces && used+count(p.name())+callRoom <= room:
			used += count(p.name()) + callRoom
			a.More = append(a.More, p.name())
		default:
			a.Left++
		}
	}
	return used
}

// place shows a place if it finds room. The first is shown in any case, by a line at
// least.
func (a *SearchAnswer) place(p *foundPlace, shown, room int, count func(string) int) (cost int, ok bool) {
	at := slices.IndexFunc(a.Hits, func(h SearchHit) bool { return h.Handle == p.hit.Handle })
	head := 0
	if at < 0 {
		head = count(p.hit.text())
	}
	forms := p.forms[:]
	if shown >= fullPlaces {
		forms = forms[1:]
	}
	for _, lines := range forms {
		if len(lines) == 0 || head >= room {
			continue
		}
		if cost = head + count(renderLines(lines)); cost <= room {
			a.show(at, p, lines)
			return cost, true
		}
	}
	if shown > 0 || len(p.forms[0]) == 0 {
		return 0, false
	}
	lines := p.forms[2]
	if len(lines) == 0 {
		lines = p.forms[0]
	}
	p.hit.Cut = p.call
	for len(lines) > 1 && head+count(renderLines(lines)) > room {
		lines = lines[:len(lines)-1]
	}
	a.show(at, p, lines)
	return head + count(renderLines(lines)), true
}

// show adds lines to the hit at a place, or a hit with them: what is in one source stands
// together.
func (a *SearchAnswer) show(at int, p *foundPlace, lines []Line) {
	if at < 0 {
		p.hit.Shown = lines
		a.Hits = append(a.Hits, p.hit)
		return
	}
	h := &a.Hits[at]
	h.Shown = joinLines(append(h.Shown[:len(h.Shown):len(h.Shown)], lines...))
	h.Same = max(h.Same, p.hit.Same)
}

// name is the call that shows a place, with what the place is.
func (p *foundPlace) name() string { return p.call + " (" + p.hit.What + ")" }

// repeats reports whether the page has most of the lines already, of another source: files
// are read more than once, edits quote them.
func (p *foundPlace) repeats(known map[string]string) bool {
	all, same := 0, 0
	for _, l := range p.forms[0] {
		if key := plainLines(l.Text); len(key) > 4 {
			all++
			if from, ok := known[key]; ok && from != p.hit.Handle {
				same++
			}
		}
	}
	return all > 0 && float64(same) >= sameLines*float64(all)
}

func (p *foundPlace) remember(known map[string]string) {
	for _, l := range p.forms[0] {
		known[plainLines(l.Text)] = p.hit.Handle
	}
}

// joinLines puts lines in order, each once; parts of a long line that touch become one.
func joinLines(lines []Line) []Line {
	slices.SortStableFunc(lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Column, b.Column))
	})
	out := lines[:0]
	for _, l := range lines {
		n := len(out)
		if n == 0 || out[n-1].Number != l.Number || l.Column > out[n-1].Column+len(out[n-1].Text) {
			out = append(out, l)
			continue
		}
		last := &out[n-1]
		last.Match = last.Match || l.Match
		if more := l.Column + len(l.Text) - last.Column - len(last.Text); more > 0 {
			last.Text += l.Text[len(l.Text)-more:]
			last.ended = l.ended
		}
	}
	return out
}

func renderLines(lines []Line) string {
	var b strings.Builder
	writeLines(&b, lines)
	return b.String()
}

// headFor is the line above an answer with so many hits.
func (a *SearchAnswer) headFor(hits int) string {
	if hits == 0 {
		return fmt.Sprintf("%ssearch %q: nothing has any of these words. Names are found whole and by their parts; try other words, or ledger() for calls and files.]\n", mark, a.Query)
	}
	return fmt.Sprintf("%ssearch %q: %s, best first]\n", mark, a.Query, text.Plural(hits, "hit"))
}

// foot says what is not shown.
func (a *SearchAnswer) foot() string {
	var parts []string
	if len(a.More) > 0 {
		parts = append(parts, "no room here for: "+strings.Join(a.More, "; "))
	}
	if a.Left > 0 {
		parts = append(parts, text.Plural(a.Left, "weaker hit")+" not shown; more words find better")
	}
	if len(parts) == 0 {
		return ""
	}
	return "[" + strings.Join(parts, "; ") + "]\n"
}

// text is a hit as a model reads it.
func (h *SearchHit) text() string {
	var b strings.Builder
	b.WriteByte('[')
	b.WriteString(h.brief())
	if h.Same > 0 {
		fmt.Fprintf(&b, "; the same in %s before", text.Plural(h.Same, "place"))
	}
	if h.Visible {
		b.WriteString("; you can see it")
	}
	b.WriteString("]\n")
	writeLines(&b, h.Shown)
	if h.Cut != "" {
		fmt.Fprintf(&b, "[more: %s]\n", h.Cut)
	}
	return b.String()
}

// brief names the source as short as it can be told from others.
func (s *Source) brief() string {
	place := fmt.Sprintf("message %d", s.Message)
	if s.Call > 0 {
		place = fmt.Sprintf("call %d", s.Call)
	}
	text := fmt.Sprintf("%s: %s, %s, %s", s.Handle, text.Clip(directories.ReplaceAllString(s.What, "…/$1"), 70), place, text.Plural(s.Lines, "line"))
	if s.Stale == "" {
		return text
	}
	by, _, _ := strings.Cut(s.Stale, " (")
	if i := strings.LastIndex(s.Stale, ", result "); i >= 0 {
		by += s.Stale[i:]
	}
	return text + "; " + by
}

// directories are those of a long path; the last is kept.
var directories = regexp.MustCompile(`/?(?:[\w.@~-]+/){2,}([\w.@~-]+/)`)

// Text tells the result to a model.
func (r SearchResult) Text() string {
	var b strings.Builder
	for i := range r.Answers {
		a := &r.Answers[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(a.headFor(len(a.Hits)))
		for j := range a.Hits {
			b.WriteString(a.Hits[j].text())
		}
		b.WriteString(a.foot())
	}
	return b.String()
}
