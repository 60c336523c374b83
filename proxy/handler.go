package proxy

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/pleat-dev/pleat/proxy/internal/exchange"
	"github.com/pleat-dev/pleat/proxy/internal/front"
)

// Transport is an [http.RoundTripper] that keeps the conversations that pass through it
// inside their model's window: give it to the HTTP client of any SDK. Requests go where
// their URL says; those that are no conversation pass unchanged.
type Transport struct {
	rw *exchange.Rewriter
	to http.RoundTripper
	of []*url.URL // upstreams that are meant, all if empty
}

// NewTransport makes a transport.
func NewTransport(o *Options) (*Transport, error) {
	x, err := o.exchange()
	if err != nil {
		return nil, err
	}
	return &Transport{exchange.New(x), x.Transport, slices.DeleteFunc(
		[]*url.URL{o.Anthropic, o.OpenAI, o.Gemini}, func(u *url.URL) bool { return u == nil })}, nil
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL == nil || r.Header == nil {
		return nil, errors.New("a request without a URL, or without a header, cannot be sent")
	}
	send := t.to.RoundTrip
	if len(t.of) == 0 || slices.ContainsFunc(t.of, func(u *url.URL) bool { return u.Host == r.URL.Host }) {
		send = t.rw.RoundTrip
	}
	resp, err := send(r)
	if err == nil {
		resp.Request = r // not the one that was rewritten
	}
	return resp, err
}

// Close ends what sessions do in the background and waits for it. Call it after the last
// request. It does not close the store.
func (t *Transport) Close() error { return t.rw.Close() }

// Handler is an [http.Handler] that sits between clients and model providers: it
// forwards everything to the upstreams of its [Options], and keeps the conversations that
// pass through it inside their model's window.
type Handler struct {
	rw    *exchange.Rewriter
	front *front.Handler
}

// NewHandler makes a handler.
func NewHandler(o *Options) (*Handler, error) {
	x, err := o.exchange()
	if err != nil {
		return nil, err
	}
	if o.Anthropic == nil && o.OpenAI == nil && o.Gemini == nil {
		return nil, errors.New("set up proxy: no upstream: set Options.Anthropic, Options.OpenAI or Options.Gemini")
	}
	rw := exchange.New(x)
	return &Handler{rw, front.New(rw, front.Options{
		Anthropic: o.Anthropic, OpenAI: o.OpenAI, Gemini: o.Gemini, Hosts: o.Hosts,
		Timeout: x.Timeout, Logger: x.Logger,
	})}, nil
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.front.ServeHTTP(w, r) }

// Knows reports whether a client may call the handler by that host; see [Options.Hosts].
// A page in a browser can make a name of its own point here, but not an address. Whatever
// is served next to the handler should check this too.
func (h *Handler) Knows(host string) bool { return h.front.Knows(host) }

// Close ends what sessions do in the background and waits for it. Call it after the server
// has been shut down. It does not close the store.
func (h *Handler) Close() error { return h.rw.Close() }

// Drain lets conversations end: known ones continue as before, new ones pass unchanged
// and are not kept. A proxy that is stopped after that leaves no client with a history
// that no longer fits. It cannot be undone.
func (h *Handler) Drain() { h.rw.Drain() }

// Draining reports whether [Handler.Drain] was called.
func (h *Handler) Draining() bool { return h.rw.Draining() }

// Sessions lists the sessions in memory, the one used last first. It never waits for a model or a
// store.
func (h *Handler) Sessions() []SessionStatus { return h.rw.Statuses() }
