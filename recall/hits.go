package recall

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence"

	"github.com/pleat-dev/pleat/internal/text"
)

// Heading returns the line above an answer with that many hits.
func (a *SearchAnswer) Heading(hits int) string {
	if hits == 0 {
		return fmt.Sprintf("%ssearch %q: nothing has any of these words. Names are found whole and by their parts; "+
			"try other words, or %sledger() for calls and files.]\n", fence.Answer, a.Query, a.Prefix)
	}
	query := strconv.Quote(a.Query)
	if a.Near != "" {
		query = "nothing has the words of " + query + ", but for " + strconv.Quote(text.Clip(a.Near, 80))
	}
	return fmt.Sprintf("%ssearch %s: %s, best first]\n", fence.Answer, query, text.Plural(hits, "hit"))
}

func (a *SearchAnswer) foot() string {
	var notes []string
	if len(a.More) > 0 {
		notes = append(notes, "no room here for: "+strings.Join(a.More, "; "))
	}
	if a.Left > 0 {
		notes = append(notes, text.Plural(a.Left, "weaker hit")+" not shown; more words find better")
	}
	return noteLine(notes)
}

// Text is what a model reads of the hit.
func (h *SearchHit) Text() string {
	var b strings.Builder
	b.WriteString("[" + h.brief())
	if h.Same > 0 {
		fmt.Fprintf(&b, "; the same in %s before", text.Plural(h.Same, "place"))
	}
	if h.Visible {
		b.WriteString("; you can see it")
	}
	b.WriteString("]\n" + TextOf(h.Shown))
	if h.Cut != "" {
		fmt.Fprintf(&b, "[more: %s]\n", h.Cut)
	}
	return b.String()
}

// brief names the source, shorter than String.
func (s *Source) brief() string {
	what := text.Clip(directories.ReplaceAllString(s.What, "…/$1"), 70)
	if s.Call > 0 {
		what = fmt.Sprintf("%s, call %d", what, s.Call)
	} else {
		what = fmt.Sprintf("%s, message %d", what, s.Message)
	}
	if s.Stale != "" {
		by, _, _ := strings.Cut(s.Stale, " (")
		what += "; " + by
	}
	return s.Handle + ": " + what
}

// directories are those of a long path; the last is kept.
var directories = regexp.MustCompile(`/?(?:[\w.@~-]+/){2,}([\w.@~-]+/)`)

// Text is what a model reads.
func (r SearchResult) Text() string {
	var b strings.Builder
	for i := range r.Answers {
		a := &r.Answers[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(a.Heading(len(a.Hits)))
		for j := range a.Hits {
			b.WriteString(a.Hits[j].Text())
		}
		b.WriteString(a.foot())
	}
	return b.String()
}
