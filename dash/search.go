package dash

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/library"
	"github.com/pleat-dev/pleat/recall"
)

// searchPage is what a search found.
type searchPage struct {
	Found    []foundIn
	Searched int
	Left     int    // older sessions that were not searched
	Late     bool   // the time was over before all of these were searched
	Older    string // address of the search in those
	Problems int
	In       string // the session that is searched; empty: all
}

// foundIn is what was found in one session.
type foundIn struct {
	Info library.Info
	Hits []foundAt
}

// foundAt is one place.
type foundAt struct {
	recall.SearchHit
	Text   string
	Folded bool
}

// A search looks into so many sessions at a time, and so long.
const (
	searchSessions = 100
	searchTime     = 10 * time.Second
	searchHits     = 5 // of a session, if all are searched
)

func (h *Handler) search(r *http.Request, f *frame) error {
	q := r.URL.Query()
	f.Title, f.Query = "Search", strings.TrimSpace(cut(q.Get("q"), 400))
	p := &searchPage{In: q.Get("s")}
	f.Body = p
	if p.In != "" {
		info, s, err := h.open(r.Context(), p.In)
		if err != nil {
			return err
		}
		if f.Item = &info; f.Query == "" {
			return nil
		}
		found, err := s.Search(r.Context(), recall.SearchRequest{Queries: []string{f.Query}, Budget: -1})
		p.Searched = 1
		p.add(info, found, len(s.Report().Folds) > 0)
		return err
	}
	if f.Query == "" {
		return nil
	}
	ctx, stop := context.WithTimeout(r.Context(), searchTime)
	defer stop()
	from := max(number(q.Get("from")), 0)
	found, err := h.o.Library.Search(ctx, library.Filter{Offset: from, Limit: searchSessions}, recall.SearchRequest{Queries: []string{f.Query}, Hits: searchHits, Budget: -1})
	if err != nil && (r.Context().Err() != nil || ctx.Err() == nil) {
		return err
	}
	for _, in := range found.Found {
		p.add(in.Info, in.Result, false) // what is folded shows on its page
	}
	p.Searched, p.Problems, p.Left = found.Searched, len(found.Problems), found.Left+found.Unsearched
	p.Late = err != nil
	if done := p.Searched + p.Problems; p.Left > 0 && done > 0 {
		p.Older = link("search", "q", f.Query, "from", from+done)
	}
	return nil
}

// add adds what was found in a session, and says of places whether they are folded if any is.
func (p *searchPage) add(info library.Info, r recall.SearchResult, folds bool) {
	in := foundIn{Info: info}
	for _, a := range r.Answers {
		for _, hit := range a.Hits {
			var b strings.Builder
			for _, l := range hit.Shown {
				b.WriteString(cut(clean(cut(l.Text, 64<<10)), 400)) // a secret that is cut in two is still one
				b.WriteByte('\n')
			}
			in.Hits = append(in.Hits, foundAt{hit, b.String(), folds && !hit.Visible})
		}
	}
	if len(in.Hits) > 0 {
		p.Found = append(p.Found, in)
	}
}
