package dash

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/internal/local"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
)

//go:embed assets
var assets embed.FS

// A Library has the sessions that the dashboard shows; [library.Library] is one.
type Library interface {
	List(context.Context, library.Filter) (library.Page, error)
	Find(ctx context.Context, id string) (library.Info, error)
	Copies(context.Context, library.Info) ([]library.Info, error)
	Bring(context.Context, library.Info) (store.SessionKey, error)
	Reader(context.Context, store.SessionKey, pleat.Options) (*pleat.Session, error)
	Counter(model.Model) *tokens.Tokenizer
	Counted(s library.Info, tokens int)
	Search(context.Context, library.Filter, recall.SearchRequest) (library.Results, error)
	Spent(ctx context.Context, since time.Time) ([]library.Spent, error)
	Window(ctx context.Context, s library.Info, tokens func(message int) int) (library.Window, error)
}

// Options set up a dashboard. Library and Store are needed; everything else works at its
// zero value.
type Options struct {
	Library Library
	Store   store.Store // the library's, which alone writes to it

	// Window bounds the windows of the models that sessions talk to, as a proxy may; 0: it
	// is the models' own.
	Window int

	// Token is required of every client, who types it into a form once. Without one, only
	// clients on this machine are answered.
	Token string

	Logger *slog.Logger     // nil: nothing is logged
	Now    func() time.Time // nil: time.Now
}

// Handler is the dashboard. Close it in the end.
type Handler struct {
	o     Options
	guard guard
	mux   *http.ServeMux
	pages map[string]*template.Template

	scratch scratch

	listed recent[[]library.Info]
	billed recent[bill.Bill]

	mu     sync.Mutex
	sums   *sums         // of all sessions; nil: there are none yet
	adding chan struct{} // closed when newer ones are there or have failed; nil: none are being made

	ctx  context.Context // of what goes on in the background
	stop context.CancelFunc
	work sync.WaitGroup
}

// Close ends what goes on in the background, and waits for it. No request may come after it.
func (h *Handler) Close() error {
	h.stop()
	h.work.Wait()
	return nil
}

// New makes a dashboard.
func New(o Options) (*Handler, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &Handler{
		o: o, guard: guard{[]byte(rand.Text()), o.Token, &local.Tokens{Now: o.Now}},
		mux: http.NewServeMux(), pages: make(map[string]*template.Template),
	}
	h.ctx, h.stop = context.WithCancel(context.Background())
	layout, err := template.New("layout.html").Funcs(funcs).
		ParseFS(assets, "assets/layout.html", "assets/parts.html")
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields("overview session fold plan ledger search problem login") {
		if h.pages[name], err = template.Must(layout.Clone()).ParseFS(assets, "assets/"+name+".html"); err != nil {
			return nil, err
		}
	}
	h.routes()
	return h, nil
}

func (h *Handler) routes() {
	page := func(path, name string, make func(*http.Request, *frame) error) {
		h.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			f := h.frame(name)
			if err := make(r, f); err != nil {
				h.fail(w, err)
				return
			}
			h.render(w, http.StatusOK, f)
		})
	}
	page("/{$}", "overview", h.overview)
	page("/dash/session", "session", h.ofSession(h.session))
	page("/dash/fold", "fold", h.ofSession(h.fold))
	page("/dash/plan", "plan", h.ofSession(h.plan))
	page("/dash/ledger", "ledger", h.ofSession(h.ledger))
	page("/dash/search", "search", h.search)
	h.mux.HandleFunc("POST /dash/bytes", h.bytes)
	h.mux.HandleFunc("GET /dash/live", h.live)
	for _, file := range []string{"style.css", "script.js", "icon.svg"} {
		h.mux.HandleFunc("GET /dash/"+file, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, assets, "assets/"+file)
		})
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { h.fail(w, errNoPage) })
}

// Has reports whether a path is the dashboard's.
func Has(path string) bool {
	return path == "/" || strings.HasPrefix(path, "/dash/")
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	headers(w.Header())
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10) // forms are small
	if why := h.guard.refuse(r); why != "" {
		h.problem(w, http.StatusForbidden, why)
		return
	}
	if !h.guard.known(r) && r.URL.Path != "/dash/style.css" && r.URL.Path != "/dash/icon.svg" {
		h.askToken(w, r)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// askToken shows the form for the token, and takes it.
func (h *Handler) askToken(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		switch ok, wait := h.guard.logIn(w, r); {
		case wait > 0:
			h.problem(w, http.StatusTooManyRequests, local.TooMany(w.Header(), wait))
			return
		case ok:
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
	}
	f := h.frame("login")
	f.Title, f.Body = "Token", r.Method == http.MethodPost
	h.render(w, http.StatusUnauthorized, f)
}

// frame is what every page has around its body.
type frame struct {
	Name  string // of the template
	Title string
	Item  *library.Info // the session that the page is about; nil: none
	Live  string        // the address that says when the page is out of date
	Form  string        // what forms send back
	Query string        // what is searched for
	Body  any
}

func (h *Handler) frame(name string) *frame { return &frame{Name: name, Form: h.guard.form()} }

func (h *Handler) render(w http.ResponseWriter, status int, f *frame) {
	var b bytes.Buffer
	if err := h.pages[f.Name].ExecuteTemplate(&b, "layout.html", f); err != nil {
		h.o.Logger.Error("a page could not be made", "page", f.Name, "err", err)
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

var (
	errNoPage    = errors.New("there is no such page")
	errNoSession = errors.New("there is no such session")
)

func (h *Handler) problem(w http.ResponseWriter, status int, what string) {
	f := h.frame("problem")
	f.Title, f.Body = http.StatusText(status), what
	h.render(w, status, f)
}

// fail says what went wrong. Errors name files and handles, which may hold anything.
func (h *Handler) fail(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, errNoPage), errors.Is(err, errNoSession), errors.Is(err, store.ErrNotFound):
		h.problem(w, http.StatusNotFound, sentence(err))
	case errors.Is(err, context.Canceled):
		h.problem(w, http.StatusServiceUnavailable, "The request was cancelled.")
	default:
		h.o.Logger.Warn("a page could not be made", "err", err)
		h.problem(w, http.StatusInternalServerError, sentence(err))
	}
}
