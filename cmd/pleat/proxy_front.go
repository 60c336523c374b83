package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/dash"
	"github.com/pleat-dev/pleat/internal/local"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// front serves requests before the proxy does: it checks the token, and has the pages for
// the operator.
type front struct {
	proxy *proxy.Handler
	tally *tally
	token string // empty: none is required
	// the token that draining requires; empty: only clients on this machine may drain, if no token is
	// required
	drain string
	store store.Store
	dash  http.Handler // checks its clients itself; nil: there is none
}

const tokenHeader = "X-Pleat-Token"

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" { // has no secrets
		_, _ = w.Write([]byte("ok\n"))
		return
	}
	if f.dash != nil && dash.Has(r.URL.Path) {
		f.dash.ServeHTTP(w, r)
		return
	}
	r, given := f.admit(r)
	ok := f.token == "" || sameToken(given, f.token) || f.drain != "" && sameToken(given, f.drain)
	if !ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w,
			`{"type":"error","error":{"type":"authentication_error","message":"this pleat proxy demands a token: `+
				`add /t/TOKEN to its address, or send the header X-Pleat-Token"}}`)
		return
	}
	if !f.proxy.Knows(r.Host) {
		f.proxy.ServeHTTP(w, r) // perhaps a web page in a browser: the proxy refuses it
		return
	}
	switch r.URL.Path {
	case "/readyz":
		f.ready(w, r)
	case "/metrics":
		f.tally.metrics.ServeHTTP(w, r)
	case "/pleat/status":
		f.status(w, r)
	case "/pleat/drain":
		f.drained(w, r, given)
	default:
		f.proxy.ServeHTTP(w, r)
	}
}

func (f *front) status(w http.ResponseWriter, r *http.Request) {
	s, err := readStatus(r.Context(), f.proxy)
	if err != nil {
		http.Error(w, "the store cannot be read", http.StatusServiceUnavailable)
		return
	}
	s.Observing = f.tally.observed
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s)
}

// drained begins to drain, for those who may: with the token for it, or without any on this
// machine. The token that clients share does not make anybody an operator.
func (f *front) drained(w http.ResponseWriter, r *http.Request, given string) {
	switch {
	case r.Method != http.MethodPost:
		http.Error(w, "use POST to drain", http.StatusMethodNotAllowed)
	case new(http.CrossOriginProtection).Check(r) != nil,
		f.drain == "" && (f.token != "" || !local.From(r) || local.Forwarded(r)),
		f.drain != "" && !sameToken(given, f.drain):
		http.Error(w,
			"draining needs a token of its own: start the proxy with --drain-token-file, and name the file with "+
				"drain", http.StatusForbidden)
	default:
		f.proxy.Drain()
		_, _ = w.Write([]byte("draining\n"))
	}
}

func sameToken(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// admit removes the token from the request, so that no provider sees it, and returns it.
func (f *front) admit(r *http.Request) (*http.Request, string) {
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

// draining is what /readyz answers while the proxy drains.
const draining = "draining"

// ready reports whether new requests should come here: not while draining, and not while
// the store cannot be read, or cannot be written: it needs a key, or is a file that another process keeps
// locked or has deleted.
func (f *front) ready(w http.ResponseWriter, r *http.Request) {
	if f.proxy.Draining() {
		http.Error(w, draining, http.StatusServiceUnavailable)
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), 2*time.Second)
	defer stop()
	if _, err := f.store.Find(ctx, "", store.EntryPrefix, "readyz"); err != nil && !errors.Is(err, store.ErrNotFound) {
		http.Error(w, "the store cannot be read: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	// Nothing is added, but in the way of all that is.
	_, err := f.store.Append(ctx, store.SessionKey{Session: "readyz"}, 0)
	if err != nil && !errors.Is(err, store.ErrConflict) {
		http.Error(w, "the store cannot be written: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ready\n"))
}
