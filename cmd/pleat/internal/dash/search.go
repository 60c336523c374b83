package dash

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/query"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/recall"
)

// searchPage is what a search found.
type searchPage struct {
	Found    []foundIn
	Searched int
	Left     int    // older sessions that were not searched
	Late     bool   // the time was over before all of them were searched: the search goes on at Older
	Older    string // address of the search in the sessions that are left
	Some     int    // sessions that have only some of the words
	Any      string // address of the search that shows those
	Problems int
	In       string // the session that is searched; empty: all
	Most     int    // places of a session that are shown
}

// foundIn is what was found in one session.
type foundIn struct {
	Info library.Info
	Hits []foundAt
	More bool // there may be weaker places
}

// foundAt is one place.
type foundAt struct {
	recall.SearchHit
	Has    int // of the words, if it is not all; 0: all, or none as they were typed
	Of     int // words
	Text   []stretch
	Folded bool
}

// stretch is a part of a text that is one of the words searched for, or has none.
type stretch struct {
	Text  string
	Found bool
}

// marker finds the words of a query in a line.
type marker struct {
	asked *regexp.Regexp // as they were typed
	parts *regexp.Regexp // their parts and other forms, for lines that match without those
}

func markerOf(q string) marker {
	q = strings.ToValidUTF8(q, "\uFFFD") // what a pattern must be
	asked := strings.FieldsFunc(q, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
	return marker{anyOf(asked), anyOf(strings.Fields(query.Read(q).Asked))}
}

// anyOf matches one of some words, the longest that is there.
func anyOf(words []string) *regexp.Regexp {
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	for i, w := range words {
		if words[i] = regexp.QuoteMeta(w); len(w) < 3 {
			words[i] = `\b` + words[i] + `\b`
		}
	}
	if len(words) == 0 {
		return regexp.MustCompile(`$^`) // a query of quotes alone
	}
	return regexp.MustCompile("(?i)" + strings.Join(words, "|"))
}

// mark cuts a line at the words. A line that does not match is near one that does.
func (m marker) mark(line string, match bool) (list []stretch) {
	words := m.asked
	if match && !words.MatchString(line) {
		words = m.parts
	}
	end := 0
	for _, at := range words.FindAllStringIndex(line, -1) {
		list = append(list, stretch{line[end:at[0]], false}, stretch{line[at[0]:at[1]], true})
		end = at[1]
	}
	return append(list, stretch{line[end:], false})
}

// The limits of one search.
const (
	// Of the first part; a part in which none could be searched gets twice as much.
	searchTime   = 700 * time.Millisecond
	searchHits   = 5  // of a session, if all are searched
	searchHitsIn = 24 // of a session that is searched alone
)

func (h *Handler) search(r *http.Request, f *frame) error {
	q := r.URL.Query()
	f.Title, f.Query = "Search", strings.TrimSpace(text.CutText(q.Get("q"), 400))
	p := &searchPage{In: q.Get("s"), Most: searchHits}
	f.Body = p
	if p.In != "" {
		info, s, err := h.open(r.Context(), p.In)
		if err != nil {
			return err
		}
		if f.Item, p.Most = &info, searchHitsIn; f.Query == "" {
			return nil
		}
		found, err := s.Search(r.Context(), p.request(f.Query))
		p.add(info, found, len(s.Report().Folds) > 0)
		return err
	}
	if f.Query == "" {
		return nil
	}
	from, try := max(number(q.Get("from")), 0), min(max(number(q.Get("try")), 0), 6)
	ctx, stop := context.WithTimeout(r.Context(), searchTime<<try)
	defer stop()
	found, err := h.o.Library.Search(ctx, library.Filter{Offset: from, Any: q.Has("any")}, p.request(f.Query))
	if err != nil && (r.Context().Err() != nil || ctx.Err() == nil) {
		return err
	}
	for _, in := range found.Found {
		p.add(in.Info, in.Result, false) // what is folded shows on its page
	}
	if found.Some > 0 {
		p.Some, p.Any = found.Some, link("search", "q", f.Query, "any", 1)
	}
	p.Searched, p.Problems, p.Left = from+found.Searched, len(found.Problems), found.Left+found.Unsearched
	done := found.Searched + p.Problems
	if done > 0 {
		try = -1
	}
	if p.Late = err != nil; p.Left > 0 {
		p.Older = link("search", "q", f.Query, "from", from+done, "try", try+1, "any", q.Get("any"))
	}
	return nil
}

func (p *searchPage) request(query string) recall.SearchRequest {
	quoted := strings.Contains(query, `"`)
	return recall.SearchRequest{Queries: []string{query}, Strict: quoted, Hits: p.Most, Budget: -1}
}

// add adds what was found in a session, and says of places whether they are folded if any is.
func (p *searchPage) add(info library.Info, r recall.SearchResult, folds bool) {
	in := foundIn{Info: info}
	for _, a := range r.Answers {
		in.More = in.More || a.Left+len(a.More) > 0 || len(a.Hits) == p.Most
		words, asked := markerOf(cmp.Or(a.Near, a.Query)), library.WordsOf(a.Query)
		for _, hit := range a.Hits {
			var shown []stretch
			for _, l := range hit.Shown {
				// A secret that is cut in two is still one.
				s := text.CutText(clean(text.CutText(l.Text, 64<<10)), 400) + "\n"
				shown = append(shown, words.mark(s, l.Match)...)
			}
			has := asked.Has(hit)
			if has == len(asked) {
				has = 0
			}
			in.Hits = append(in.Hits, foundAt{hit, has, len(asked), shown, folds && !hit.Visible})
		}
	}
	if len(in.Hits) > 0 {
		p.Found = append(p.Found, in)
	}
}
