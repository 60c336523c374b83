package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Options set up a [Handler] or a [Transport]. Store is needed, and for a Handler at least
// one upstream; everything else works at its zero value. Negative numbers are refused.
type Options struct {
	Store store.Store // where conversations and folds are kept

	// Anthropic, OpenAI and Gemini are where requests of each wire go; nil: that wire is refused.
	// A [Transport] leaves requests where they go: it rewrites those to the hosts given
	// here, or all if none is given.
	Anthropic, OpenAI, Gemini *url.URL

	Window int           // for models the table does not know, and a bound for those it does; 0: from the table
	Policy fold.Policy   // zero: "default", which here also folds when that pays
	Models *model.Models // nil: the built-in table

	Recall    RecallMode // zero: tools
	RecallDir string     // for [RecallByFile]: the folder that files are written under

	// Principal names whom a request speaks for, so that different people never share a session;
	// nil: the hash of its API key, or the account that a client with a renewed token names. The
	// body is the request's, decompressed, and may not be kept.
	Principal func(r *http.Request, body []byte) string
	// Session may change the options that a session is opened with, such as its digests
	// or hooks. It is called whenever one is opened.
	Session func(key store.SessionKey, o *pleat.Options)

	// ObserveOnly passes every body on as it came. Sessions are kept and folds planned,
	// and reports say what would have been done.
	ObserveOnly bool
	// Report gets every exchange when it is over. It must not block.
	Report func(Exchange)
	// Observe gets what happens inside sessions. It must not block.
	Observe func(ctx context.Context, key store.SessionKey, e pleat.Event)

	Transport http.RoundTripper // reaches the upstreams; nil: a transport of its own
	Hosts     []string          // names by which clients may call a Handler, beside localhost and addresses; "*": any
	Logger    *slog.Logger      // nil: nothing is logged. Content and credentials never are
	Now       func() time.Time  // nil: time.Now

	// Proxy says through which web proxy a request goes to its upstream, as in [http.Transport]; nil: none.
	// A Transport that is given has its own. Programs pass [http.ProxyFromEnvironment].
	Proxy func(*http.Request) (*url.URL, error)

	// Decoders undo content encodings by their names in lower case. Gzip is always there.
	// Conversations in other encodings are refused with status 415.
	Decoders map[string]Decoder

	// Memory is how many bytes requests and replies under way, sessions and what is kept of
	// earlier requests may take together; 0: 1 GiB. Sessions leave it first, those used least
	// recently; where that is not enough, requests are refused with status 503.
	Memory   int64
	MaxBody  int64         // largest request body in bytes, decompressed; 0: 256 MiB
	MaxEvent int           // largest event of a stream in bytes, and largest reply that is read as a whole; 0: 64 MiB
	Sessions int           // sessions kept in memory; 0: 256
	Rounds   int           // most hidden rounds of a request that look something up, before one that says no more; 0: 8
	Timeout  time.Duration // longest silence of an upstream, and longest time to read a request; 0: 10 minutes
	Ping     time.Duration // how often a waiting client hears something while the proxy works; 0: 10 seconds
	Patience time.Duration // how long errors that pass are waited out in the hidden rounds of a request; 0: 2 minutes
}

func (o *Options) fill() error {
	if fault.IsNil(o.Store) {
		return errors.New("set up proxy: Options.Store is needed: folds must be kept somewhere")
	}
	if err := o.check(); err != nil {
		return fmt.Errorf("set up proxy: %w", err)
	}
	o.Recall = cmp.Or(o.Recall, RecallByTools)
	switch o.Recall {
	case RecallByTools, RecallOff:
	case RecallByFile:
		if o.RecallDir == "" {
			return errors.New("set up proxy: recall by file needs Options.RecallDir, a folder that the client can read")
		}
	default:
		return errors.New("set up proxy: Options.Recall is none of tools, file, off")
	}
	if o.Policy.IsZero() {
		o.Policy = policy.Pays(policy.Default())
	}
	o.Models = cmp.Or(o.Models, model.DefaultModels())
	if o.Principal == nil {
		o.Principal = principal
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	decoders := map[string]Decoder{"gzip": gunzip, "x-gzip": gunzip}
	maps.Copy(decoders, o.Decoders)
	o.Decoders = decoders
	o.MaxBody = cmp.Or(o.MaxBody, 256<<20)
	o.Memory = cmp.Or(o.Memory, 1<<30)
	o.MaxEvent = cmp.Or(o.MaxEvent, 64<<20)
	o.Sessions = cmp.Or(o.Sessions, 256)
	o.Rounds = cmp.Or(o.Rounds, 8)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Minute)
	o.Ping = cmp.Or(o.Ping, 10*time.Second)
	o.Patience = cmp.Or(o.Patience, 2*time.Minute)
	if o.Transport == nil {
		o.Transport = newTransport(o.Timeout, o.Proxy)
	}
	o.Transport = strict{o.Transport}
	return nil
}

// check refuses what sessions would refuse one by one, and what means nothing.
func (o *Options) check() error {
	for _, field := range []struct {
		name string
		n    int64
	}{
		{"Memory", o.Memory},
		{"MaxBody", o.MaxBody},
		{"MaxEvent", int64(o.MaxEvent)},
		{"Sessions", int64(o.Sessions)},
		{"Rounds", int64(o.Rounds)},
		{"Timeout", int64(o.Timeout)},
		{"Ping", int64(o.Ping)},
		{"Patience", int64(o.Patience)},
	} {
		if field.n < 0 {
			return fmt.Errorf("option %s is negative: leave it zero for the default", field.name)
		}
	}
	if err := (fold.Budget{Window: o.Window}).Check(); err != nil {
		return fmt.Errorf("option Window: %w", err)
	}
	if o.Policy.IsZero() {
		return nil
	}
	return o.Policy.Check(lever.All()...)
}

// strict holds a transport to what http.RoundTripper asks of it.
type strict struct{ http.RoundTripper }

func (t strict) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	switch {
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, fmt.Errorf("option Transport (%T) returned neither a response nor an error", t.RoundTripper)
	case resp.Body == nil:
		resp.Body = http.NoBody
	}
	return resp, nil
}

func newTransport(silence time.Duration, via func(*http.Request) (*url.URL, error)) http.RoundTripper {
	return &http.Transport{
		Proxy:             via,
		DialContext:       (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2: true, DisableCompression: true, // replies pass as they come
		MaxIdleConns: 512, MaxIdleConnsPerHost: 128, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second, ResponseHeaderTimeout: silence,
		WriteBufferSize: 64 << 10, // most requests are written at once, and through no buffer of their own
	}
}

// model returns a model's row of the table, and the window it gets here; 0: its own.
func (o *Options) model(name string) (m model.Model, window int) {
	m, known := o.Models.Lookup(name)
	if !known && name != "" { // what is learnt of one that the table lacks is not of all of them
		m.ID = name
	}
	if o.Window > 0 && (!known || o.Window < m.Window) {
		window = o.Window
	}
	return m, window
}

// Exchange is what happened to one request of a client.
type Exchange struct {
	Session  store.SessionKey  // zero: the request was passed on as it was
	Format   transcript.Format // empty: the path belongs to no wire
	Passed   bool              // the request was not understood, passed on and not compacted
	Model    string
	Began    time.Time
	Took     time.Duration // until the reply was over
	Added    time.Duration // of that, the proxy's own work before the request went out
	FirstAt  time.Duration // until the first byte of the reply
	Status   int           // of the reply
	BytesIn  int           // the client's request, decompressed
	BytesOut int           // the requests that went out for it
	Sent     int           // requests that went out for it
	Messages int           // the client's
	Folded   bool          // folds were in force
	Stored   int           // its results that were too large to show, and stored at once
	Epochs   int           // opened by this request
	Hidden   int           // rounds answered inside the proxy
	Retried  bool          // the provider refused the first view as too long
	Forked   bool          // the conversation left the one it was known by
	Snapshot fold.Snapshot
	Usage    model.Usage // of all requests that went out for it
	USD      float64     // what they cost, by the price list
	Without  float64     // about what the client's own request would have cost
	Err      error       // why it failed, or could not be folded although it was answered
}

// failed reports whether the client got no answer, or an error.
func (e Exchange) failed() bool { return e.Status == 0 || e.Status >= 400 }

// errIdle ends requests whose upstream fell silent.
var errIdle = errors.New("the upstream was silent for too long")
