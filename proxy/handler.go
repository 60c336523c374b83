package proxy

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/proxy/internal/exchange"
	"github.com/pleat-dev/pleat/proxy/internal/front"
	"github.com/pleat-dev/pleat/store"
)

// Transport is an [http.RoundTripper] that keeps the conversations that pass through it
// inside their model's window: give it to the HTTP client of any SDK. Requests go where
// their URL says; those that are no conversation pass unchanged.
type Transport struct {
	rw *exchange.Rewriter
	to http.RoundTripper
	of []*url.URL // upstreams that are meant, all if empty
}

// CloseIdleConnections closes unused connections to providers. [http.Client.CloseIdleConnections] calls it.
func (t *Transport) CloseIdleConnections() { (&http.Client{Transport: t.to}).CloseIdleConnections() }

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

// Exchange is what happened to one request of a client: its Session, zero if it was passed on unchanged; its
// Format, empty if the path belongs to no wire; whether it was not understood and Passed on; the Model; when it
// Began, what it Took until the reply was over, Added of that by the proxy before the request went out, and
// FirstAt, until the first byte of the reply; the reply's Status; BytesIn, decompressed, and BytesOut; requests
// Sent for it; the client's Messages; whether folds were in force (Folded); its results Stored at once because
// they were too large to show; Epochs that it opened; Hidden rounds; whether the provider refused the first view
// as too long (Retried), or the conversation left the one it was known by (Forked); why its model cannot ask for what is
// folded (NoRecall); a Snapshot of the view; the
// Usage of all requests Sent, what they cost in USD by the price list, and about what the client's own request
// would have cost Without; and Err, why it failed, or could not be folded although it was answered.
type Exchange = exchange.Report

// Bill is what a proxy's requests used and cost: All is the sum, and Rows has a row for each
// session, the newest first.
type Bill = bill.Bill

// BillRow is the [Tally] of one session, with its Tenant, Session, Model and the time of its
// Last request.
type BillRow = bill.Row

// Tally counts Requests of clients and those Sent, those Folded, results Stored at once, Epochs,
// Hidden rounds, BytesIn and BytesOut, the tokens Prompt, CacheRead, CacheWrite and Output, and
// money: USD, and about what it would have been Without folds; Unpriced requests are in neither.
type Tally = bill.Tally

// Bill reads from the store what requests used and cost.
func (h *Handler) Bill(ctx context.Context) (Bill, error) { return h.rw.Bill(ctx) }

// ReadBill reads the bill that the proxies of a store keep in it.
func ReadBill(ctx context.Context, st store.Store) (Bill, error) {
	return (&bill.Book{Store: st}).Bill(ctx)
}

// SessionStatus describes a session that a proxy has in memory, as of the last time that a request
// finished a step with it: its Key, the Model, how it gets folded content back (Recall), why not at all
// (NoRecall), when its
// Last request came, the number of Messages in its transcript and of Folds, in force or not, the
// Snapshot of its view, and what was Spent, in USD by the price list.
type SessionStatus = exchange.Status

// Memory is how many bytes a handler holds, by its own count, and how many it may.
type Memory struct {
	Used  int64 `json:"used"`
	Limit int64 `json:"limit"`
}

// Memory returns what the handler holds; see [Options.Memory].
func (h *Handler) Memory() Memory {
	used, limit := h.rw.Memory()
	return Memory{used, limit}
}
