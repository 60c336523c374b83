package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
)

// Transport is an [http.RoundTripper] that keeps the conversations that pass through it
// inside their model's window: give it to the HTTP client of any SDK. Requests go where
// their URL says; those that are no conversation pass unchanged.
type Transport struct{ rw *rewriter }

// NewTransport makes a transport.
func NewTransport(o *Options) (*Transport, error) {
	rw, err := newRewriter(o)
	if err != nil {
		return nil, err
	}
	return &Transport{rw}, nil
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL == nil || r.Header == nil {
		return nil, errors.New("a request without a URL, or without a header, cannot be sent")
	}
	resp, err := t.trip(r)
	if err == nil {
		resp.Request = r // not the one that was rewritten
	}
	return resp, err
}

func (t *Transport) trip(r *http.Request) (*http.Response, error) {
	o := &t.rw.o
	named := slices.DeleteFunc([]*url.URL{o.Anthropic, o.OpenAI, o.Gemini}, func(u *url.URL) bool { return u == nil })
	if len(named) == 0 || slices.ContainsFunc(named, func(u *url.URL) bool { return u.Host == r.URL.Host }) {
		return t.rw.roundTrip(r)
	}
	return o.Transport.RoundTrip(r)
}

// Close ends what sessions do in the background and waits for it. Call it after the last
// request. It does not close the store.
func (t *Transport) Close() error { return t.rw.close() }

// Handler is an [http.Handler] that stands between clients and model providers: it
// forwards everything to the upstreams of its [Options], and keeps the conversations that
// pass through it inside their model's window.
type Handler struct {
	rw      *rewriter
	forward *httputil.ReverseProxy
}

// NewHandler makes a handler.
func NewHandler(o *Options) (*Handler, error) {
	rw, err := newRewriter(o)
	if err != nil {
		return nil, err
	}
	if rw.o.Anthropic == nil && rw.o.OpenAI == nil && rw.o.Gemini == nil {
		return nil, errors.New("set up proxy: no upstream: set Options.Anthropic, Options.OpenAI or Options.Gemini")
	}
	h := &Handler{rw: rw}
	h.forward = &httputil.ReverseProxy{
		Rewrite:       h.direct,
		Transport:     roundTripper(rw.roundTrip),
		FlushInterval: -1,
		BufferPool:    &replyChunks,
		ErrorHandler:  h.fail,
		ErrorLog:      slog.NewLogLogger(rw.o.Logger.Handler(), slog.LevelDebug),
	}
	return h, nil
}

// Close ends what sessions do in the background and waits for it. Call it after the server
// has been shut down. It does not close the store.
func (h *Handler) Close() error { return h.rw.close() }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect || r.URL.IsAbs():
		http.Error(w, "pleat forwards to its own upstreams only", http.StatusForbidden)
		return
	case !h.Knows(r.Host):
		http.Error(w, "pleat does not know the host name "+strconv.Quote(r.Host)+
			": call it by its address, or tell it the name (pleat proxy --host NAME)", http.StatusForbidden)
		return
	case !slices.Contains(h.rw.o.Hosts, "*") && new(http.CrossOriginProtection).Check(r) != nil:
		http.Error(w, "pleat takes no requests of web pages from elsewhere", http.StatusForbidden)
		return
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		// Clients of the Responses wire then use HTTP at once.
		w.Header().Set("Connection", "close")
		http.Error(w, "pleat takes requests over HTTP, not over a websocket", http.StatusUpgradeRequired)
		return
	case h.upstream(r) == nil:
		h.rw.once("a request was refused: no upstream is set up for it", r.URL.Path)
		http.Error(w, "pleat has no upstream for this request: "+unaddressed(r), http.StatusNotFound)
		return
	}
	if r.Body != nil && r.Body != http.NoBody {
		body := &timedBody{ReadCloser: r.Body, control: http.NewResponseController(w)}
		body.deadline(time.Now().Add(h.rw.o.Timeout))
		if r.ProtoMajor == 1 && body.control.EnableFullDuplex() == nil {
			w = early{w, body}
		}
		r = r.WithContext(r.Context()) // the server looks at the request's own body
		r.Body = body
	}
	h.forward.ServeHTTP(w, r)
}

// timedBody is a request's body with a deadline, so that a client that sends it slowly does
// not hold memory forever. The answer has no deadline. Its end stays its end when the server
// has closed it: transports read once more, and take an error there for a broken request.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	ended   atomic.Bool
}

func (b *timedBody) deadline(t time.Time) { _ = b.control.SetReadDeadline(t) } // not all writers can

func (b *timedBody) Read(p []byte) (int, error) {
	if b.ended.Load() {
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.ended.Store(true)
		b.deadline(time.Time{})
	}
	return n, err
}

// early writes an answer that may come before the request was read, which goes on meanwhile.
// What is left of a request must not be taken for the next one.
type early struct {
	http.ResponseWriter
	body *timedBody
}

func (w early) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w early) WriteHeader(status int) {
	if !w.body.ended.Load() {
		w.Header().Set("Connection", "close")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Knows reports whether a client may call the handler by that host; see [Options.Hosts].
// A page in a browser can make a name of its own point here, but not an address. Whatever
// is served beside the handler should check this too.
func (h *Handler) Knows(host string) bool {
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	name = strings.Trim(name, "[]")
	if _, err := netip.ParseAddr(name); err == nil || strings.EqualFold(name, "localhost") || name == "" {
		return true
	}
	return slices.ContainsFunc(h.rw.o.Hosts, func(n string) bool { return n == "*" || strings.EqualFold(n, name) })
}

// fail answers when there is no reply to pass on.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil || errors.Is(err, context.Canceled) {
		panic(http.ErrAbortHandler) // the client has gone
	}
	on := messages
	if p, _ := route(r); p != nil {
		on = p
	}
	var timeout net.Error
	late := errors.Is(err, errIdle) || errors.As(err, &timeout) && timeout.Timeout()
	body := on.Refuse("api_error", "pleat got no reply from "+cmp.Or(r.URL.Host, "the upstream")+cause(err))
	status, what := http.StatusBadGateway, "no reply from upstream"
	switch {
	case late:
		status = http.StatusGatewayTimeout
	case errors.Is(err, errUnread):
		status, what = http.StatusBadRequest, "a request broke off"
		body = on.Refuse("invalid_request_error", "pleat cannot read the request to its end")
	}
	h.rw.o.Logger.Warn(what, "path", r.URL.Path, "err", err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// cause says why there is no reply, if the network is to blame: other errors are nobody else's
// business.
func cause(err error) string {
	var e *url.Error
	if errors.As(err, &e) { // its URL may have a key
		err = e.Err
	}
	var network net.Error
	var unsafe *tls.CertificateVerificationError
	var plain tls.RecordHeaderError // the upstream speaks no TLS
	if errors.As(err, &network) || errors.As(err, &unsafe) || errors.Is(err, errIdle) || errors.Is(err, io.EOF) ||
		errors.As(err, &plain) {
		return ": " + err.Error()
	}
	return ""
}

// SessionStatus describes a session that a proxy has in memory, as of the last time that
// a request finished a step with it. Reading it never waits for a model or a store.
type SessionStatus struct {
	Key      store.SessionKey
	Model    string
	Recall   RecallMode
	Last     time.Time // when its last request came
	Messages int       // of the transcript
	Folds    int       // in force or not
	Snapshot fold.Snapshot
	Spent    float64 // USD, by the price list
}

// Drain lets conversations end: known ones continue as before, new ones pass unchanged
// and are not kept. A proxy that is stopped after that leaves no client with a history
// that no longer fits. It cannot be undone.
func (h *Handler) Drain() { h.rw.draining.Store(true) }

// Draining reports whether [Handler.Drain] was called.
func (h *Handler) Draining() bool { return h.rw.draining.Load() }

// Sessions lists the sessions in memory, the one used last first.
func (h *Handler) Sessions() []SessionStatus { return h.rw.pool.statuses() }
