package tally

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/dash"
	"github.com/pleat-dev/pleat/internal/local"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// Front serves requests before the proxy does: it checks the token, and has the pages for
// the operator.
type Front struct {
	Proxy *proxy.Handler
	Tally *Tally
	Token string // empty: none is required
	// Drain is the token that draining requires; empty: only clients on this machine may drain, if no
	// token is required.
	Drain string
	Store store.Store
	Dash  http.Handler // checks its clients itself; nil: there is none
}

const tokenHeader = "X-Pleat-Token"

func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" { // has no secrets
		_, _ = w.Write([]byte("ok\n"))
		return
	}
	if f.Dash != nil && dash.Has(r.URL.Path) {
		f.Dash.ServeHTTP(w, r)
		return
	}
	r, given := f.admit(r)
	ok := f.Token == "" || sameToken(given, f.Token) || f.Drain != "" && sameToken(given, f.Drain)
	if !ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w,
			`{"type":"error","error":{"type":"authentication_error","message":"this pleat proxy demands a token: `+
				`add /t/TOKEN to its address, or send the header X-Pleat-Token"}}`)
		return
	}
	if !f.Proxy.Knows(r.Host) {
		f.Proxy.ServeHTTP(w, r) // perhaps a web page in a browser: the proxy refuses it
		return
	}
	switch r.URL.Path {
	case "/readyz":
		f.ready(w, r)
	case "/metrics":
		f.Tally.metrics.ServeHTTP(w, r)
	case "/pleat/status":
		f.status(w, r)
	case "/pleat/drain":
		f.drained(w, r, given)
	default:
		f.Proxy.ServeHTTP(w, r)
	}
}

func (f *Front) status(w http.ResponseWriter, r *http.Request) {
	s, err := readStatus(r.Context(), f.Proxy)
	if err != nil {
		http.Error(w, "the store cannot be read", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s)
}

// drained begins to drain, for those who may: with the token for it, or without any on this
// machine. The token that clients share does not make anybody an operator.
func (f *Front) drained(w http.ResponseWriter, r *http.Request, given string) {
	switch {
	case r.Method != http.MethodPost:
		http.Error(w, "use POST to drain", http.StatusMethodNotAllowed)
	case new(http.CrossOriginProtection).Check(r) != nil,
		f.Drain == "" && (f.Token != "" || !local.From(r) || local.Forwarded(r)),
		f.Drain != "" && !sameToken(given, f.Drain):
		http.Error(w,
			"draining needs a token of its own: start the proxy with --drain-token-file, and name the file with "+
				"drain", http.StatusForbidden)
	default:
		f.Proxy.Drain()
		_, _ = w.Write([]byte("draining\n"))
	}
}

// ReadToken reads the token in a file; no file has none.
func ReadToken(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < 16 {
		return "", fmt.Errorf("read token %s: it has fewer than 16 characters (make one with: openssl rand -hex 24)",
			file)
	}
	return token, nil
}

func sameToken(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// admit removes the token from the request, so that no provider sees it, and returns it.
func (f *Front) admit(r *http.Request) (*http.Request, string) {
	given := r.Header.Get(tokenHeader)
	r = r.Clone(r.Context())
	r.Header.Del(tokenHeader)
	if rest, inPath := strings.CutPrefix(r.URL.Path, "/t/"); inPath {
		token, path, _ := strings.Cut(rest, "/")
		given, r.URL.Path, r.URL.RawPath = token, "/"+path, ""
		r.RequestURI = r.URL.RequestURI()
	}
	return r, given
}

// Draining is what /readyz answers while the proxy drains.
const Draining = "draining"

// ready reports whether new requests should come here: not while draining, and not while
// the store cannot be read, or cannot be written: it needs a key, or is a file that another process keeps
// locked or has deleted.
func (f *Front) ready(w http.ResponseWriter, r *http.Request) {
	if f.Proxy.Draining() {
		http.Error(w, Draining, http.StatusServiceUnavailable)
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), 2*time.Second)
	defer stop()
	if _, err := f.Store.Find(ctx, "", store.EntryPrefix, "readyz"); err != nil && !errors.Is(err, store.ErrNotFound) {
		http.Error(w, "the store cannot be read: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	// Nothing is added, but in the way of all that is.
	_, err := f.Store.Append(ctx, store.SessionKey{Session: "readyz"}, 0)
	if err != nil && !errors.Is(err, store.ErrConflict) {
		http.Error(w, "the store cannot be written: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ready\n"))
}
