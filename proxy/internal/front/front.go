// Package front takes requests of clients, refuses those that are not meant for a provider, and
// hands the others to an [Exchanger] with the address of their upstream.
package front

import (
	"cmp"
	"context"
	"crypto/rand"
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

	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// Exchanger sends requests to where their URLs say, and returns what the client gets.
type Exchanger interface {
	RoundTrip(r *http.Request) (*http.Response, error)
	WarnOnce(what, path string) // logs something about a path the first time it happens
}

// Options sets up a [Handler].
type Options struct {
	Anthropic, OpenAI, Gemini *url.URL      // nil if requests of that provider are refused
	Hosts                     []string      // names by which clients may call, besides localhost and addresses; "*" is any
	Timeout                   time.Duration // longest time to read a request
	Logger                    *slog.Logger
}

// Handler takes the requests of clients, refuses what is not for a provider, and forwards the rest.
type Handler struct {
	to      Exchanger
	o       Options
	id      string // in the header [hops] of what it forwards
	forward *httputil.ReverseProxy
}

// hops is a header that names the handlers that a request went through.
const hops = "Pleat-Hops"

// New makes a handler.
func New(to Exchanger, o Options) *Handler {
	h := &Handler{to: to, o: o, id: rand.Text()}
	h.forward = &httputil.ReverseProxy{
		Rewrite:       h.direct,
		Transport:     to,
		FlushInterval: -1,
		ErrorHandler:  h.fail,
		ErrorLog:      slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	return h
}

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
	case !slices.Contains(h.o.Hosts, "*") && new(http.CrossOriginProtection).Check(r) != nil:
		http.Error(w, "pleat takes no requests of web pages from elsewhere", http.StatusForbidden)
		return
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		// Clients of the Responses wire then use HTTP at once.
		w.Header().Set("Connection", "close")
		http.Error(w, "pleat takes requests over HTTP, not over a websocket", http.StatusUpgradeRequired)
		return
	case slices.Contains(r.Header.Values(hops), h.id):
		http.Error(w, "pleat's upstream leads back to it: let --upstream-"+string(addressee(r))+" name the provider",
			http.StatusLoopDetected)
		return
	case h.upstream(r) == nil:
		h.to.WarnOnce("a request was refused: no upstream is set up for it", r.URL.Path)
		http.Error(w, "pleat has no upstream for this request: "+unaddressed(r), http.StatusNotFound)
		return
	}
	if r.Body != nil && r.Body != http.NoBody {
		body := &timedBody{ReadCloser: r.Body, control: http.NewResponseController(w)}
		body.deadline(time.Now().Add(h.o.Timeout))
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
// is served next to the handler should check this too.
func (h *Handler) Knows(host string) bool {
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	name = strings.Trim(name, "[]")
	if _, err := netip.ParseAddr(name); err == nil || strings.EqualFold(name, "localhost") || name == "" {
		return true
	}
	return slices.ContainsFunc(h.o.Hosts, func(n string) bool { return n == "*" || strings.EqualFold(n, name) })
}

// fail answers when there is no reply to pass on.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil || errors.Is(err, context.Canceled) {
		panic(http.ErrAbortHandler) // the client has gone
	}
	on := protocol.Messages
	if p, _ := protocol.Route(r); p != nil {
		on = p
	}
	var timeout net.Error
	late := errors.Is(err, httpbody.ErrIdle) || errors.As(err, &timeout) && timeout.Timeout()
	body := on.Refuse("api_error", "pleat got no reply from "+cmp.Or(r.URL.Host, "the upstream")+cause(err))
	status, what := http.StatusBadGateway, "no reply from upstream"
	switch {
	case late:
		status = http.StatusGatewayTimeout
	case errors.Is(err, httpbody.ErrUnread):
		status, what = http.StatusBadRequest, "a request broke off"
		body = on.Refuse("invalid_request_error", "pleat cannot read the request to its end")
	}
	h.o.Logger.Warn(what, "path", r.URL.Path, "err", err)
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
	if errors.As(err, &network) || errors.As(err, &unsafe) || errors.Is(err, httpbody.ErrIdle) || errors.Is(err, io.EOF) ||
		errors.As(err, &plain) {
		return ": " + err.Error()
	}
	return ""
}
