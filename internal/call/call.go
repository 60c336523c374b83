// Package call asks model servers over HTTP: one request with its retries, its stream and
// its errors, the same for every wire format. The wire packages say what is sent and how an
// answer is read, see [Wire].
//
//   - The answer is streamed, because a stream shows that the server is alive: silence for
//     too long is an error, however long the whole answer takes.
//   - Failures that may pass are tried again: too many requests, overload, failures of the
//     server, broken connections. The server says when; otherwise the wait doubles from one
//     second on. An answer that broke off after the sink got pieces of it is not tried
//     again, because the sink would get them twice.
//   - Redirects are not followed.
//   - The key is never logged and in no error, not even where the server repeats it.
package call

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
)

// What the zero values of [model.ClientOptions] mean.
const (
	defaultRetries = 2
	defaultIdle    = 5 * time.Minute
)

const (
	firstWait = time.Second
	longWait  = 30 * time.Second // where the server does not say how long
	maxWait   = 2 * time.Minute  // beyond it the caller should decide
	lastWords = time.Second      // for the connection to end once the answer has
	// overhead is how many bytes of stream an answer's byte may take: each token comes in an
	// envelope of its own.
	overhead = 64
)

// caller sends requests to one server. It is safe for concurrent use.
type caller model.ClientOptions

// Post is a request to be sent.
type Post struct {
	URL    string
	Header http.Header
	Body   []byte // asks for a stream
}

// Wire reads the answers of a wire format.
type Wire struct {
	Decode func(body []byte) (model.Reply, error)
	Record func(sink func(model.Delta), limit int) model.Recorder
}

// failure says why a try failed and whether another may succeed.
type failure struct {
	err   error
	again bool
	wait  time.Duration // as the server asks; 0: it does not
}

// Ask fits a request to its model, has it written, sends it and returns the answer. If there
// is an error, the reply holds what arrived before it.
func Ask(ctx context.Context, o *model.ClientOptions, req *model.Request, w Wire, sink func(model.Delta),
	write func(*model.Request, model.Model) (Post, error),
) (model.Reply, error) {
	r, facts, err := Fit(req, o.Model)
	if err != nil {
		return model.Reply{}, fmt.Errorf("ask a model: %w", err)
	}
	r.Stream = true
	post, err := write(r, facts)
	if err != nil {
		return model.Reply{}, fmt.Errorf("ask %s: %w", r.Model, err)
	}
	if post.Body, err = WithMembers(post.Body, o.Extra); err != nil {
		return model.Reply{}, fmt.Errorf("ask %s: %w", r.Model, err)
	}
	c := caller(*o)
	if r.Once {
		c.Retries = -1
	}
	reply, err := c.do(ctx, post, w, sink)
	if err != nil {
		err = fmt.Errorf("ask %s: %w", r.Model, err)
	}
	return reply, err
}

// do sends the request and returns the answer. If there is an error, the reply holds what
// arrived before it.
func (c *caller) do(ctx context.Context, p Post, w Wire, sink func(model.Delta)) (model.Reply, error) {
	for try := 0; ; try++ {
		shown := false
		reply, fail := c.once(ctx, p, w, watch(sink, &shown))
		if fail == nil {
			return reply, nil
		}
		wait, ok := c.retry(ctx, fail, try)
		if !ok || shown {
			return reply, fail.err
		}
		if c.Logger != nil {
			c.Logger.InfoContext(ctx, "ask again", "try", try+2, "wait", wait, "because", fail.err)
		}
		if err := sleep(ctx, wait); err != nil {
			return reply, fmt.Errorf("wait to ask again: %w, after %w", err, fail.err)
		}
	}
}

// Header returns the header of a request for JSON, with the caller's own values in it.
func Header(own http.Header) http.Header {
	h := http.Header{}
	for name, values := range own {
		h[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	h.Set("Content-Type", "application/json")
	return h
}

// watch notes whether the sink was given anything.
func watch(sink func(model.Delta), shown *bool) func(model.Delta) {
	if sink == nil {
		return nil
	}
	return func(d model.Delta) {
		*shown = true
		sink(d)
	}
}

// retry decides whether to try again, and after how long.
func (c *caller) retry(ctx context.Context, f *failure, try int) (time.Duration, bool) {
	if !f.again || try >= cmp.Or(c.Retries, defaultRetries) || ctx.Err() != nil {
		return 0, false
	}
	wait := f.wait
	if wait <= 0 {
		wait = min(firstWait<<min(try, 10), longWait)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return 0, false // the deadline would pass first
	}
	return wait, wait <= maxWait
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *caller) once(ctx context.Context, p Post, w Wire, sink func(model.Delta)) (model.Reply, *failure) {
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := cmp.Or(max(c.Idle, 0), defaultIdle)
	silence := fmt.Errorf("the server sent nothing for %s: %w", idle, os.ErrDeadlineExceeded)
	timer := time.AfterFunc(idle, func() { cancel(silence) })
	defer timer.Stop()

	req, err := http.NewRequestWithContext(watched, http.MethodPost, p.URL, bytes.NewReader(p.Body))
	if err != nil {
		// Its words may quote a part of a password, where that has a #.
		return model.Reply{}, &failure{err: errors.New("make request: the server's address is none [hint: it looks like " +
			"https://HOST/v1; special characters of a password are %XX]")}
	}
	if p.Header != nil {
		req.Header = p.Header.Clone()
	}
	if req.Header.Get("Idempotency-Key") == "" {
		// It is not sent, but makes the transport use a new connection at once if the server
		// has closed an old one.
		req.Header["Idempotency-Key"] = []string{}
	}
	resp, err := noRedirects(c.HTTP).Do(req)
	if err != nil {
		return model.Reply{}, unsent(ctx, watched, req.URL.Host, err)
	}
	defer resp.Body.Close()
	a := &answer{c: c, resp: resp, wire: w, body: bufio.NewReaderSize(pulse{resp.Body, timer, idle}, 32<<10)}
	switch {
	case resp.StatusCode >= 400:
		return model.Reply{}, a.refusal()
	case resp.StatusCode >= 300:
		return model.Reply{}, a.redirect()
	}
	switch whole, ok := a.form(); {
	case !ok:
		return model.Reply{}, a.notAnAnswer()
	case whole:
		return a.whole(ctx, watched, sink)
	}
	return a.stream(ctx, watched, timer, sink)
}

// noRedirects returns the client without redirects: they would take the key and the
// conversation to a host that nobody named.
func noRedirects(hc *http.Client) *http.Client {
	own := *cmp.Or(hc, http.DefaultClient)
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

func (c *caller) limit() int { return cmp.Or(max(c.Limit, 0), wire.DefaultLimit) }

// pulse is a body whose bytes keep the request alive.
type pulse struct {
	r     io.Reader
	timer *time.Timer
	idle  time.Duration
}

func (p pulse) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if n > 0 {
		p.timer.Reset(p.idle)
	}
	return n, err
}

// Fit returns the request as its model takes it, and what is known about the model: own, if
// the request names it or no model, and own has more than an ID; else the table's row.
func Fit(req *model.Request, own model.Model) (*model.Request, model.Model, error) {
	r := *req
	if r.Model = cmp.Or(r.Model, own.ID); r.Model == "" {
		return nil, model.Model{}, errors.New("no model is named [hint: set the request's or the client's model]")
	}
	m := model.ClientOptions{Model: own}.DefaultModel()
	if r.Model != own.ID {
		m, _ = model.DefaultModels().Lookup(r.Model)
	}
	if m.Refuses.Temperature {
		r.Temperature = nil
	}
	if m.MaxOutput > 0 {
		r.MaxTokens = min(r.MaxTokens, m.MaxOutput)
	}
	return &r, m, nil
}

// WithMembers adds the members of a JSON object to the body, which is one.
func WithMembers(body []byte, extra json.RawMessage) ([]byte, error) {
	if len(bytes.TrimSpace(extra)) == 0 {
		return body, nil
	}
	if jsonspan.Value(extra).Valid(jsonspan.Object) != nil {
		return nil, fmt.Errorf("add members to the request: %q is no JSON object", extra)
	}
	for name, v := range jsonspan.Value(extra).Fields() {
		body = jsonspan.Value(body).Set(v, name)
	}
	return body, nil
}
