package dash

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/recall"
)

// ledgerPage lists the files that a session touched, or the calls that touched one of them.
type ledgerPage struct {
	Path    string // of the file whose calls are listed; empty: the files are
	State   string // the handle of the file as it stands; empty if no call showed what is in it
	Show    string // "files" or "calls"
	Outcome string // only calls that ended so
	Files   []*fileRow
	Calls   []ledger.Entry
	Pager   pager
	AllCall int
	AllFile int
}

// fileRow is what was done to a file.
type fileRow struct {
	Path    string
	Reads   int
	Changes int
	Failed  int
	Last    int // number of the newest call
	LastTo  string
}

const ledgerRows = 100

func (h *Handler) ledger(r *http.Request, f *frame, s *pleat.Session) error {
	q := r.URL.Query()
	p := &ledgerPage{Path: q.Get("path"), Show: q.Get("show"), Outcome: q.Get("outcome")}
	calls := s.Ledger(ledger.Filter{})
	files := filesOf(calls)
	p.AllCall, p.AllFile = len(calls), len(files)
	at := func(from int) string {
		return link("ledger", "s", f.Item.ID, "path", p.Path, "show", p.Show, "outcome", p.Outcome, "from", from)
	}
	if p.Path != "" || p.Show == "calls" {
		calls = slices.DeleteFunc(calls, func(e ledger.Entry) bool {
			return p.Path != "" && !touches(&e, p.Path) || p.Outcome == "error" && e.Outcome != toolcall.Failed
		})
		slices.Reverse(calls)
		p.Calls, p.Pager = pageOf(calls, number(q.Get("from")), ledgerRows, at)
		if p.Path != "" {
			if u, err := s.Unfold(r.Context(), recall.UnfoldRequest{Handle: recall.PathPrefix + p.Path}); err == nil {
				p.State = u.Handle
			}
		}
	} else {
		p.Files, p.Pager = pageOf(files, number(q.Get("from")), ledgerRows, at)
	}
	f.Title, f.Body = "Ledger", p
	return nil
}

func touches(e *ledger.Entry, path string) bool {
	return slices.ContainsFunc(e.Paths, func(p toolcall.PathChange) bool { return p.Path == path })
}

// filesOf lists the files of calls, those with changes first, the newest first.
func filesOf(calls []ledger.Entry) (list []*fileRow) {
	m := make(map[string]*fileRow)
	for i := range calls {
		e := &calls[i]
		for _, p := range e.Paths {
			r := m[p.Path]
			if r == nil {
				r = &fileRow{Path: p.Path}
				m[p.Path] = r
				list = append(list, r)
			}
			switch {
			case e.Outcome == toolcall.Failed:
				r.Failed++
			case p.Change >= toolcall.CallCreate && p.Change <= toolcall.CallDelete:
				r.Changes++
			default:
				r.Reads++
			}
			r.Last, r.LastTo = e.Seq, p.Change.String()
		}
	}
	slices.SortStableFunc(list, func(a, b *fileRow) int {
		return cmp.Or(min(b.Changes, 1)-min(a.Changes, 1), b.Last-a.Last, strings.Compare(a.Path, b.Path))
	})
	return list
}
