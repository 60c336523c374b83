package proxy

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/pleat-dev/pleat/proxy/internal/exchange"
	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/store"
)

// RecallMode says how a model gets back what was folded.
type RecallMode = lineage.RecallMode

// The modes. A session keeps the one it began with.
const (
	// RecallByTools adds pleat's recall tools to the client's own from the first request
	// on and answers their calls inside the proxy; the client never sees them.
	RecallByTools = lineage.RecallByTools
	// RecallByFile names files in stubs, which the client's own file tool can read.
	RecallByFile = lineage.RecallByFile
	// RecallOff makes stubs without handles.
	RecallOff = lineage.RecallOff
)

// Options set up a [Handler] or a [Transport]. Store is needed, and for a Handler at least
// one upstream; everything else works at its zero value. Negative numbers are refused.
type Options struct {
	Store store.Store // where conversations and folds are kept

	// Anthropic, OpenAI and Gemini are where requests of each wire go, nil if requests of that wire are refused.
	// A [Transport] leaves requests where they go: it rewrites those to the hosts given
	// here, or all if none is given.
	Anthropic, OpenAI, Gemini *url.URL

	Window int           // for models the table does not know, and a bound for those it does; the table's if 0
	Policy fold.Policy   // if zero "default", which here also folds when that pays
	Models *model.Models // if nil the built-in table

	Recall    RecallMode // tools if empty
	RecallDir string     // for [RecallByFile]: the folder that files are written under

	// Principal names whom a request speaks for, so that different people never share a session; if nil
	// the hash of its API key or token; see also [ByAccount]. The body is the request's, decompressed, and may not be kept.
	Principal func(r *http.Request, body []byte) string
	// Session may change the options that a session is opened with, such as its digests
	// or hooks. It is called whenever one is opened.
	Session func(key store.SessionKey, o *pleat.Options)

	// Report gets every exchange when it is over. It must not block.
	Report func(Exchange)
	// Observe gets what happens inside sessions. It must not block.
	Observe func(ctx context.Context, key store.SessionKey, e pleat.Event)

	Transport http.RoundTripper // reaches the upstreams; if nil, the proxy makes one
	Hosts     []string          // names by which clients may call a Handler, besides localhost and addresses; "*" is any
	Logger    *slog.Logger      // nil if nothing is logged; content and credentials never are
	Now       func() time.Time  // time.Now if nil

	// Proxy says through which web proxy a request goes to its upstream, as in [http.Transport]; nil if none.
	// A Transport that is given has its own. Programs pass [http.ProxyFromEnvironment].
	Proxy func(*http.Request) (*url.URL, error)

	// Decoders undo content encodings by their names in lower case. Gzip is always there.
	// Conversations in other encodings are refused with status 415.
	Decoders map[string]Decoder

	// Memory is how many bytes requests and replies under way, sessions and what is kept of
	// earlier requests may take together, 1 GiB if 0. Sessions leave it first, those used least
	// recently; where that is not enough, requests are refused with status 503.
	Memory   int64
	MaxBody  int64         // largest request body in bytes, decompressed; 256 MiB if 0
	MaxEvent int           // largest event of a stream in bytes, and largest reply that is read as a whole; 64 MiB if 0
	Sessions int           // sessions kept in memory; 256 if 0
	Rounds   int           // most hidden rounds of a request that look something up, before one that says no more; 8 if 0
	Timeout  time.Duration // longest silence of an upstream, and longest time to read a request; 10 minutes if 0
	Ping     time.Duration // how often a waiting client hears something while the proxy works; 10 seconds if 0
	Patience time.Duration // how long errors that pass are waited out in the hidden rounds of a request; 2 minutes if 0
}

// ByAccount is an [Options.Principal] for a proxy that one person alone can reach. It keeps the sessions of a
// login whose token is renewed: such a request speaks for the account that it names. As nobody checks that
// name, whoever else can send requests could get at the person's sessions.
func ByAccount(r *http.Request, body []byte) string { return lineage.ByAccount(r, body) }

// Decoder undoes an HTTP content encoding. The proxy limits how much it reads from it.
type Decoder = func(packed io.Reader) (io.ReadCloser, error)

func gunzip(packed io.Reader) (io.ReadCloser, error) { return gzip.NewReader(packed) }

// exchange checks the options and fills in their defaults.
func (o *Options) exchange() (x exchange.Options, err error) {
	o = cmp.Or(o, &Options{})
	if fault.IsNil(o.Store) {
		return x, errors.New("set up proxy: Options.Store is needed: folds must be kept somewhere")
	}
	if err := o.check(); err != nil {
		return x, fmt.Errorf("set up proxy: %w", err)
	}
	x = exchange.Options{
		Report: o.Report,
		Store:  o.Store, Transport: o.Transport, Models: cmp.Or(o.Models, model.DefaultModels()), Window: o.Window,
		Policy: o.Policy, Recall: cmp.Or(o.Recall, RecallByTools), RecallDir: o.RecallDir,
		Principal: o.Principal, Session: o.Session, Observe: o.Observe,
		Logger: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), Now: o.Now,
		Decoders: httpbody.Decoders{"gzip": gunzip, "x-gzip": gunzip},
		Memory:   cmp.Or(o.Memory, 1<<30), MaxBody: cmp.Or(o.MaxBody, 256<<20), MaxEvent: cmp.Or(o.MaxEvent, 64<<20),
		Sessions: cmp.Or(o.Sessions, 256), Rounds: cmp.Or(o.Rounds, 8), Timeout: cmp.Or(o.Timeout, 10*time.Minute),
		Ping: cmp.Or(o.Ping, 10*time.Second), Patience: cmp.Or(o.Patience, 2*time.Minute),
	}
	switch x.Recall {
	case RecallByTools, RecallOff:
	case RecallByFile:
		if o.RecallDir == "" {
			return x, errors.New("set up proxy: recall by file needs Options.RecallDir, a folder that the client can read")
		}
	default:
		return x, errors.New("set up proxy: Options.Recall is none of tools, file, off")
	}
	if x.Policy.IsZero() {
		x.Policy = policy.Pays(policy.Default())
	}
	if x.Principal == nil {
		x.Principal = lineage.Principal
	}
	if x.Now == nil {
		x.Now = time.Now
	}
	if x.Transport == nil {
		x.OwnTransport = true
		x.Transport = newTransport(x.Timeout, o.Proxy)
	}
	maps.Copy(x.Decoders, o.Decoders)
	return x, nil
}

// check refuses what sessions would refuse one by one, and what means nothing.
func (o *Options) check() error {
	for name, n := range map[string]int64{
		"Memory": o.Memory, "MaxBody": o.MaxBody, "MaxEvent": int64(o.MaxEvent), "Sessions": int64(o.Sessions),
		"Rounds": int64(o.Rounds), "Timeout": int64(o.Timeout), "Ping": int64(o.Ping), "Patience": int64(o.Patience),
	} {
		if n < 0 {
			return fmt.Errorf("option %s is negative: leave it zero for the default", name)
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
