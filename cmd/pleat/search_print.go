package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/recall"
)

func (j *searchJSON) Print(p *term.Page) {
	if len(j.Sessions) == 0 {
		p.Line("nothing found in %s", term.Plural(j.Searched, "session"))
		if strings.Contains(j.Query, `"`) {
			p.Hang("", "what stands in quotes has to be there, all of it in one place: without them any of the words will do")
		}
	}
	defer j.printNext(p)
	words := library.WordsOf(j.Query)
	for i, f := range j.Sessions {
		if i > 0 {
			p.Line("")
		}
		if i == shownSessions && !p.Whole {
			more := term.Plural(len(j.Sessions)-i, "more session")
			p.Hang("", more+" found; --in NAME or --session NAME looks into one")
			return
		}
		p.Line("%s", p.Bold(p.Clip(cmp.Or(term.OneLine(f.Title), f.name, term.FileName(f.File)), p.Width)))
		if f.name != "" {
			about := fmt.Sprintf("%s · %s · %s", cmp.Or(f.Agent, "stored"),
				f.Last.Local().Format(time.DateOnly), f.name)
			p.Line("%s", p.Dim(p.ClipMiddle(about, p.Width)))
		}
		for _, h := range f.Hits {
			p.Line("")
			printHit(p, h, words)
		}
	}
}

// printNext says how a hit is shown whole.
func (j *searchJSON) printNext(p *term.Page) {
	if len(j.Sessions) > 0 {
		f := j.Sessions[0]
		next := "the whole first hit: pleat unfold " + f.Hits[0].Handle + " --in " + cmp.Or(f.name, f.File)
		if j.store != "" {
			next += " --store " + term.WithoutPassword(j.store)
		}
		p.Line("")
		if j.some > 0 {
			p.Hang("", term.Verb(j.some, "more session", "has", "have")+" some of the words: add --any")
		}
		p.Hang("", next)
		if slices.ContainsFunc(j.Sessions, func(f foundJSON) bool { return f.More }) {
			p.Hang("", fmt.Sprintf("there are more: --hits %d", 5*j.req.Hits))
		}
	}
}

// shownSessions is how many sessions a person is shown; programs get all.
const shownSessions = 10

func printHit(p *term.Page, h recall.SearchHit, words library.Words) {
	about := fmt.Sprintf("message %d, %s, handle %s", h.Message, term.Plural(h.Lines, "line"), h.Handle)
	if has := words.Has(h); has > 0 && has < len(words) {
		about += fmt.Sprintf(", %d of %d words", has, len(words))
	}
	if h.Stale != "" {
		about += ", " + term.OneLine(h.Stale)
	}
	p.Line("%s", p.ClipMiddle(term.OneLine(h.What), p.Width))
	p.Line("%s", p.Dim(p.Clip(about, p.Width)))
	last := 0
	for _, l := range h.Shown {
		if last > 0 && l.Number > last+1 {
			p.Line("%s", p.Dim("      …"))
		}
		last = l.Number
		number := fmt.Sprintf("%6d", l.Number)
		text := oneLineKeepIndent(l.Text)
		if !p.Whole {
			text = ansi.Wrap(text, p.Width-9, "")
		}
		for part := range strings.SplitSeq(text, "\n") {
			if l.Match {
				p.Line("%6s > %s", number, p.Bold(part))
			} else {
				p.Line("%6s   %s", number, part)
			}
			number = ""
		}
	}
}

// oneLineKeepIndent is oneLine for a line of code.
func oneLineKeepIndent(s string) string {
	body := strings.TrimLeft(s, " \t")
	indent := strings.ReplaceAll(s[:len(s)-len(body)], "\t", "    ")
	return indent + term.OneLine(body)
}
