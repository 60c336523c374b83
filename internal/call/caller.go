package call

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/pleat-dev/pleat/model"
)

// What the zero values of a [Caller] mean.
const (
	DefaultRetries = 2
	DefaultIdle    = 5 * time.Minute
	DefaultLimit   = 64 << 20
)

const (
	firstWait = time.Second
	longWait  = 30 * time.Second // where the server does not say how long
	maxWait   = 2 * time.Minute  // beyond it the caller should decide
	lastWords = time.Second      // for the end of the connection behind the end of the answer
	// overhead bounds the bytes of a stream by those of its answer: each token comes in an
	// envelope of its own.
	overhead = 64
)

// Caller sends requests to one server. It is safe for concurrent use.
type Caller struct {
	HTTP    *http.Client  // nil: http.DefaultClient
	Retries int           // tries after the first; 0: [DefaultRetries], negative: none
	Idle    time.Duration // how long the server may be silent; 0: [DefaultIdle], twice that where the answer is not streamed
	Limit   int           // bytes of an answer; 0: [DefaultLimit]
	Logger  *slog.Logger  // nil: nothing is logged
	Secret  string        // taken out of whatever the server says
}

// Post is a request to be sent.
type Post struct {
	URL    string
	Header http.Header
	Body   []byte
	Stream bool // the body asks for a stream
}

// Wire reads the answers of a wire format.
type Wire struct {
	Decode func(body []byte) (model.Reply, error)
	Record func(sink func(model.Delta), limit int) Recording
}

// Recording is an answer that is being put together from its stream.
type Recording interface {
	io.Writer // never fails
	Reply() (model.Reply, error)
	Done() bool // the server has said all it will say
}

// failure is why a try failed and whether another may pass.
type failure struct {
	err   error
	again bool
	wait  time.Duration // as the server asks; 0: it does not
}

func (f *failure) Error() string { return f.err.Error() }

// Do sends the request and returns the answer. With an error the reply holds what had
// arrived.
func (c *Caller) Do(ctx context.Context, p Post, w Wire, sink func(model.Delta)) (model.Reply, error) {
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
		c.log(ctx, "ask again", "try", try+2, "wait", wait, "because", fail.err)
		if err := sleep(ctx, wait); err != nil {
			return reply, fmt.Errorf("wait to ask again: %w, after %w", err, fail.err)
		}
	}
}

// Ask fits a request to its model, has it written, sends it and returns the answer. With an
// error the reply holds what had arrived.
func (c *Caller) Ask(ctx context.Context, req *model.Request, own model.Model, stream bool, w Wire, sink func(model.Delta),
	write func(*model.Request, model.Model) (Post, error),
) (model.Reply, error) {
	r, facts, err := Fit(req, own)
	if err != nil {
		return model.Reply{}, fmt.Errorf("ask a model: %w", err)
	}
	r.Stream = stream
	post, err := write(r, facts)
	if err != nil {
		return model.Reply{}, fmt.Errorf("ask %s: %w", r.Model, err)
	}
	post.Stream = stream
	reply, err := c.Do(ctx, post, w, sink)
	if err != nil {
		return reply, fmt.Errorf("ask %s: %w", r.Model, err)
	}
	return reply, nil
}

// Header is the header of a request for JSON, with the caller's own values in it.
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
func (c *Caller) retry(ctx context.Context, f *failure, try int) (time.Duration, bool) {
	retries := c.Retries
	if retries == 0 {
		retries = DefaultRetries
	}
	if !f.again || try >= retries || ctx.Err() != nil {
		return 0, false
	}
	wait := f.wait
	if wait <= 0 {
		wait = min(firstWait<<min(try, 10), longWait)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return 0, false // waiting in vain helps nobody
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

// once sends the request one time.
func (c *Caller) once(ctx context.Context, p Post, w Wire, sink func(model.Delta)) (model.Reply, *failure) {
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := c.idle(p.Stream)
	timer := time.AfterFunc(idle, func() { cancel(silence(idle)) })
	defer timer.Stop()

	req, err := http.NewRequestWithContext(watched, http.MethodPost, p.URL, bytes.NewReader(p.Body))
	if err != nil {
		return model.Reply{}, &failure{err: fmt.Errorf("make request: %w", err)}
	}
	if p.Header != nil {
		req.Header = p.Header.Clone()
	}
	if req.Header.Get("Idempotency-Key") == "" {
		// Not sent: it tells the transport to use a new connection at once when an old one
		// turns out to have been closed meanwhile.
		req.Header["Idempotency-Key"] = []string{}
	}
	resp, err := noRedirects(c.HTTP).Do(req)
	if err != nil {
		return model.Reply{}, c.unsent(ctx, watched, err)
	}
	defer resp.Body.Close()
	a := &answer{c: c, resp: resp, wire: w, body: bufio.NewReaderSize(pulse{resp.Body, timer, idle}, 32<<10)}
	switch {
	case resp.StatusCode >= 400:
		return model.Reply{}, a.refusal()
	case resp.StatusCode >= 300:
		return model.Reply{}, a.redirect()
	}
	switch a.form(p.Stream) {
	case streamed:
		return a.stream(ctx, watched, timer, sink)
	case whole:
		return a.whole(ctx, watched, sink)
	}
	return model.Reply{}, a.notAnAnswer()
}

// noRedirects is the client with redirects left to us.
func noRedirects(hc *http.Client) *http.Client {
	if hc == nil {
		hc = http.DefaultClient
	}
	own := *hc
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

func (c *Caller) idle(stream bool) time.Duration {
	switch {
	case c.Idle > 0:
		return c.Idle
	case stream:
		return DefaultIdle
	}
	return 2 * DefaultIdle
}

func (c *Caller) limit() int {
	if c.Limit > 0 {
		return c.Limit
	}
	return DefaultLimit
}

func (c *Caller) log(ctx context.Context, msg string, args ...any) {
	if c.Logger != nil {
		c.Logger.InfoContext(ctx, msg, args...)
	}
}

// silence is an idle timeout. It is a [context.Cause], so that it can be told from the
// caller's own deadline.
type silence time.Duration

func (s silence) Error() string {
	return fmt.Sprintf("the server sent nothing for %s", time.Duration(s))
}

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

// asSilence returns the idle timeout that ended the context, if one did.
func asSilence(ctx context.Context) (silence, bool) {
	return errors.AsType[silence](context.Cause(ctx))
}
