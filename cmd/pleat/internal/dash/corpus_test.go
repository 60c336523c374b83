package dash

import (
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/store"
)

// Every page of every real session answers, with its session folded to a small window, and
// says nothing that a browser would run.
func TestCorpusPages(t *testing.T) {
	slow, pages := time.Duration(0), 0
	for _, file := range corpustest.Files(t) {
		msgs := corpustest.Read(t, file)
		if len(msgs) == 0 {
			continue
		}
		st := store.NewMemory()
		s, err := pleat.OpenSession(
			t.Context(), st, pleat.Key{Session: filepath.Base(file)},
			&pleat.Options{Budget: pleat.Budget{Window: 32_000}},
		)
		must(t, err)
		must(t, s.Append(t.Context(), msgs...))
		if _, err := s.View(t.Context(), pleat.Turn{}); err != nil {
			t.Logf("%s: %v", filepath.Base(file), err) // its system messages alone may be too large
		}
		h := newDash(t, st, "")
		for _, page := range somePages(s) {
			began := time.Now()
			w := get(h, page)
			if took := time.Since(began); took > slow {
				slow = took
				t.Logf("%v for %.60s of %s, %d messages", took.Round(time.Millisecond), page,
					filepath.Base(file), len(msgs))
			}
			if pages++; w.Code != http.StatusOK {
				t.Errorf("%s of %s: status %d: %.300s", page, file, w.Code, w.Body)
			}
			checkHTML(t, page+" of "+file, w.Body.String())
		}
	}
	t.Logf("%d pages", pages)
}

// somePages are all kinds of pages, with a few folds and files.
func somePages(s *pleat.Session) []string {
	q := "?s=" + url.QueryEscape(s.Key().Session)
	pages := []string{
		"/",
		"/dash/session" + q,
		"/dash/plan" + q,
		"/dash/ledger" + q,
		"/dash/ledger" + q + "&show=calls",
		"/dash/search" + q + "&q=error+test",
		"/dash/search?q=error",
	}
	folds := s.Report().Folds
	for i := 0; i < len(folds); i += max(len(folds)/4, 1) {
		pages = append(pages, "/dash/fold"+q+"&handle="+folds[i].Handle)
	}
	for _, f := range filesOf(s.Ledger(pleat.LedgerFilter{}))[:min(3, len(filesOf(s.Ledger(pleat.LedgerFilter{}))))] {
		pages = append(pages, "/dash/ledger"+q+"&path="+url.QueryEscape(f.Path))
	}
	return pages
}
