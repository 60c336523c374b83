package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/recall"
)

// rank puts the sessions first whose hits have most of the words, in one line or next to each other
// before others; the newest of equals.
func (j *searchJSON) rank() {
	words := library.WordsOf(j.Query)
	slices.SortStableFunc(j.Sessions, func(a, b foundJSON) int {
		return cmp.Or(cmp.Compare(words.Fit(b.Hits...), words.Fit(a.Hits...)), b.Last.Compare(a.Last))
	})
}

// hasWords reports whether a file may have one of the words, in any case.
func hasWords(file string, words library.Words) (bool, error) {
	in, err := library.OpenFile(file)
	if err != nil {
		return false, err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	return err == nil && words.MayBeIn(bytes.ToLower(data)), err
}

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
		next := "all of the first: pleat unfold " + f.Hits[0].Handle + " --in " + cmp.Or(f.name, f.File)
		if j.store != "" {
			next += " --store " + term.WithoutPassword(j.store)
		}
		p.Line("")
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
