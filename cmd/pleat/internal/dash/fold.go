package dash

import (
	"fmt"
	"mime"
	"net/http"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/secrets"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/tokens"
)

// foldPage shows what a handle stands for: what was said, and what the model sees instead.
type foldPage struct {
	Handle  string
	Budget  int // of the plan that it is in; 0: it is the session as it stands
	Source  recall.Source
	Hash    string
	Fold    *foldRow // nil: it is not folded
	InForce bool
	Before  string // what was said, or its beginning
	After   string // what the window shows instead
	More    string // address of all of it; empty: all is shown
	Cut     bool   // it is too long for a page
	Hidden  bool   // Before lacks secrets
}

// How many bytes of the original a page shows at first, and at most.
const firstBytes, mostBytes = 20 << 10, 2 << 20

func (h *Handler) fold(r *http.Request, f *frame, s *pleat.Session) error {
	budget := number(r.URL.Query().Get("budget"))
	if budget > 0 {
		f.Live = ""
	}
	return h.planned(r.Context(), f.Item, s, budget, func(s *pleat.Session, _ *tokens.Tokenizer, _ error) error {
		return h.foldIn(r, f, s, budget)
	})
}

func (h *Handler) foldIn(r *http.Request, f *frame, s *pleat.Session, budget int) error {
	q := r.URL.Query()
	p := &foldPage{Handle: q.Get("handle"), Budget: budget}
	u, err := s.Unfold(r.Context(), recall.UnfoldRequest{Handle: p.Handle})
	if err != nil {
		return fmt.Errorf("handle %s: %w", line(p.Handle, 40), err)
	}
	p.Source, p.Hash = u.Source, u.Hash.String()
	whole, room := u.Content(), firstBytes
	if q.Get("all") != "" {
		room = mostBytes
	}
	// Redacted before it is cut: a secret that is cut in two is still one.
	shown := text.CutText(whole, room+64<<10)
	p.Hidden = secrets.Redact(shown) != shown
	p.Before = text.CutText(clean(shown), room)
	if len(whole) > room {
		if p.Cut = room == mostBytes; !p.Cut {
			p.More = link("fold", "s", f.Item.ID, "handle", p.Handle, "budget", budget, "all", "1")
		}
	}
	p.find(s)
	f.Title, f.Body = "Fold "+line(p.Handle, 40), p
	return nil
}

// find finds the fold of a handle, the newest if there are several, and says whether it is in force.
func (p *foldPage) find(s *pleat.Session) {
	var found *fold.Fold
	for _, f := range s.Folds() {
		if f.Handle == p.Handle {
			found = library.Told(s, f, library.Piece(s))
		}
	}
	for _, f := range library.Report(s).Folds {
		if f.Handle == p.Handle {
			found, p.InForce = f, true
		}
	}
	if found != nil {
		p.Fold = &foldRows([]*fold.Fold{found}, s)[0]
		p.After = p.Fold.Stub
	}
}

// bytes sends exactly what a handle stands for, as a file. It holds what pages leave out, so
// it takes a form of this site to ask for it.
func (h *Handler) bytes(w http.ResponseWriter, r *http.Request) {
	info, s, err := h.open(r.Context(), r.PostFormValue("s"))
	var u recall.Unfolded
	if err == nil {
		budget := number(r.PostFormValue("budget"))
		err = h.planned(r.Context(), &info, s, budget, func(s *pleat.Session, _ *tokens.Tokenizer, _ error) (err error) {
			u, err = s.Unfold(r.Context(), recall.UnfoldRequest{Handle: r.PostFormValue("handle")})
			return err
		})
	}
	if err != nil {
		h.fail(w, err)
		return
	}
	name := "pleat-" + line(r.PostFormValue("handle"), 40) + ".txt"
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	_, _ = w.Write([]byte(u.Whole))
}
