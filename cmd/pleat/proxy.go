package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/telemetry"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/local"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/wire/gemini"
)

func proxyCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:       "proxy [start|stop|drain]",
		ValidArgs: []string{"start", "stop", "drain"},
		Short:     "forward an agent's requests to its provider, folded to fit the window",
		Long: `Receives the requests of agents and forwards them to their provider. Conversations that
outgrow their model's window are folded on the way. Nothing is lost: the model can get back
what it needs. Apart from the recall tools, which conversations with tools get from
their first request on, requests go out byte for byte until something is folded.
Point the agent at it:

  ANTHROPIC_BASE_URL=http://127.0.0.1:4141       Claude Code, Anthropic's SDKs
  OPENAI_BASE_URL=http://127.0.0.1:4141/v1       OpenAI's SDKs and most others
  GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:4141   Gemini CLI, Google's SDKs

"pleat wrap" starts it for one agent and ends with it. docs/start.md has recipes for
programs. Keys are passed on, and neither stored nor logged.

"pleat proxy start" runs it in the background with the flags that you give, now and when
you log in: as a user unit of systemd, an agent of launchd or a scheduled task of Windows.
"pleat proxy stop" ends that. "pleat status" shows its sessions and what they cost. "pleat
proxy drain" makes it fold no new conversations, so that it can be stopped later without
leaving one that no longer fits its window.

To serve other machines it needs a token: clients then add it to the address,
http://HOST:4141/t/TOKEN, or send it as the header X-Pleat-Token. Draining then needs a separate
token: --drain-token-file.`,
		Example: `# for everything on this machine
pleat proxy
# the same in the background, also after the next login
pleat proxy start
# a local model with a small window
pleat proxy --upstream-openai http://127.0.0.1:11434 --window 8k`,
	}
	fs := c.Flags()
	f := &proxyFlags{store: stores.Declare(fs)}
	f.declare(fs)
	f.declareServer(fs)
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		switch {
		case len(args) == 0:
			return f.serve(ctx, p)
		case len(args) == 1 && args[0] == "drain":
			return f.drain(ctx, p)
		case len(args) == 1 && args[0] == "start":
			return startService(ctx, p, f.listen, given(fs))
		case len(args) == 1 && args[0] == "stop":
			return stopService(ctx, p)
		}
		return term.UsageError(`proxy takes start, stop, drain, or nothing; "pleat status" shows what it did`)
	})
	return c
}

// declareServer declares how it listens, to whom, and what it says.
func (f *proxyFlags) declareServer(fs *pflag.FlagSet) {
	fs.StringVar(&f.listen, "listen", tally.Address, "listen on `ADDRESS`")
	fs.StringVar(&f.tokenFile, "token-file", "", "require the token in `FILE` from every client")
	fs.StringVar(&f.drainFile, "drain-token-file", "", "require the token in `FILE` to drain")
	fs.StringArrayVar(&f.hosts, "host", nil, "let clients call the proxy by `NAME` too; with a token, any name works")
	fs.BoolVar(&f.open, "open", false, "listen beyond this machine without a token")
	fs.BoolVar(&f.dash, "dash", false, "serve the dashboard too, at /, to this machine alone")
	fs.StringVar(&f.dashFile, "dash-token-file", "", "require the token in `FILE` for the dashboard, not clients'")
	f.index = stores.DeclareIndex(fs)
	fs.BoolVar(&f.quiet, "quiet", false, "log warnings and errors only")
	fs.BoolVar(&f.asJSON, "json", false, "log as JSON")
}

// proxyFlags are the flags of "pleat proxy"; "pleat wrap" has those that it declares.
type proxyFlags struct {
	store             *stores.Flags
	index             stores.Index
	anthropic, openai string
	gemini            string
	window            term.TokenCount
	memory            term.ByteCount
	policy            string
	recall, recallDir string
	dir               string
	digests           sessionfile.Digests
	otel              string

	listen              string
	tokenFile           string
	drainFile           string
	hosts               []string
	open, quiet, asJSON bool
	dash                bool
	dashFile            string
}

func (f *proxyFlags) declare(fs *pflag.FlagSet) {
	fs.StringVar(&f.anthropic, "upstream-anthropic", "https://api.anthropic.com", "forward Anthropic requests to `URL`")
	fs.StringVar(&f.openai, "upstream-openai", "https://api.openai.com", "forward OpenAI requests to `URL`")
	fs.StringVar(&f.gemini, "upstream-gemini", gemini.DefaultBaseURL, "forward Gemini requests to `URL`")
	fs.Var(&f.window, "window", "take `N` tokens as the window of models that the table lacks, and as a limit for the others")
	fs.Var(&f.memory, "memory",
		"hold at most about `SIZE` of requests, replies and sessions (default a quarter of the machine)")
	fs.StringVar(&f.policy, "policy", "default", sessionfile.PolicyUsage)
	fs.StringVar(&f.recall, "recall", "tools", "how a model gets things back: `tools`, file or off")
	fs.StringVar(&f.recallDir, "recall-dir", "", "with --recall file: write the files under `FOLDER`")
	fs.StringVar(&f.dir, "dir", "", "write the plain copies that some policies keep into `FOLDER`; none: no files")
	f.digests.Declare(fs)
	fs.StringVar(&f.otel, "otel", "", telemetry.Usage)
}

// options makes the proxy's options, and a function that closes what they opened.
func (f *proxyFlags) options(
	ctx context.Context, p *term.Console, log *slog.Logger, t *tally.Tally,
) (*proxy.Options, func() error, error) {
	o := &proxy.Options{
		Window: int(f.window), Recall: proxy.RecallMode(f.recall), Logger: log,
		Decoders: map[string]proxy.Decoder{"zstd": unzstd}, Memory: f.boundMemory(p.Getenv),
		Proxy: http.ProxyFromEnvironment,
	}
	if tenant := f.store.Tenant; tenant != "" {
		o.Principal = func(*http.Request, []byte) string { return tenant }
	}
	if err := f.complete(p, o); err != nil {
		return nil, nil, err
	}
	writer, err := f.digests.Open(ctx, p.Getenv)
	if err != nil {
		return nil, nil, err
	}
	tel, err := telemetry.Start(ctx, p, f.otel)
	if err != nil {
		return nil, nil, err
	}
	keep, closeDir, err := keepIn(f.dir)
	if err != nil {
		return nil, nil, err
	}
	o.Observe = tel.Session
	o.Session = func(key store.SessionKey, s *pleat.Options) {
		s.KeepFile = keep
		if writer.Generator != nil { // its calls are traced like others
			s.Digest.Generator = tel.Generator(writer.Generator, writer.Model.Provider, key.Session)
			s.Digest.Model = writer.Model
		}
	}
	o.Report = func(r proxy.Exchange) {
		t.Add(r)
		tel.Exchange(r)
		t.Log(log, f.asJSON, r)
	}
	f.store.Busy = 3 * time.Second // a client waits behind every write
	store, err := stores.Open(ctx, p, f.store)
	if err != nil {
		return nil, nil, errors.Join(err, closeDir())
	}
	o.Store = store
	return o, func() error { return errors.Join(tel.Close(), store.Close(), closeDir()) }, nil
}

// keepIn lets all sessions keep their plain copies in a folder. None is written over another.
func keepIn(dir string) (keep func(name string, data []byte) (string, error), end func() error, err error) {
	if dir == "" {
		return nil, func() error { return nil }, nil
	}
	w, err := agent.OpenWorkspace(dir)
	if err != nil {
		return nil, nil, err
	}
	return w.Keep, w.Close, nil
}

// complete sets the options whose flags can be wrong.
func (f *proxyFlags) complete(p *term.Console, o *proxy.Options) (err error) {
	if o.Policy, err = sessionfile.LoadPolicy(f.policy); err != nil {
		return err
	}
	if f.policy == "default" {
		o.Policy = fold.Policy{} // the proxy's own default, which also folds when that saves money
	}
	if !slices.Contains([]string{"tools", "file", "off"}, f.recall) {
		return term.UsageError(fmt.Sprintf("--recall %s: want tools, file or off", f.recall))
	}
	if f.recall == "file" {
		if o.RecallDir, err = recallFolder(p, f.recallDir); err != nil {
			return err
		}
	}
	for to, address := range map[**url.URL]string{
		&o.Anthropic: f.anthropic, &o.OpenAI: f.openai, &o.Gemini: f.gemini,
	} {
		if *to, err = upstreamURL(address); err != nil {
			return err
		}
	}
	return nil
}

// start makes the proxy and listens on an address. The returned function closes the proxy,
// its store and its telemetry.
func (f *proxyFlags) start(
	ctx context.Context, p *term.Console, log *slog.Logger, token, address string,
) (*tally.Front, net.Listener, func() error, error) {
	running := "a pleat proxy runs there already: \"pleat status" + tally.At(address) + "\" shows what it does"
	l, err := listenAt(ctx, address, running) // before anything is made for it
	if err != nil {
		return nil, nil, nil, err
	}
	t := tally.New()
	o, done, err := f.options(ctx, p, log, t)
	if err != nil {
		return nil, nil, nil, errors.Join(err, l.Close())
	}
	for _, to := range []*url.URL{o.Anthropic, o.OpenAI, o.Gemini} {
		if to != nil && leadsTo(l.Addr(), to) {
			err := term.UsageError(fmt.Sprintf("the upstream %s is this proxy itself: name the provider", to))
			return nil, nil, nil, errors.Join(err, l.Close(), done())
		}
	}
	if o.Principal == nil && f.forOne(token, address) {
		o.Principal = proxy.ByAccount
	}
	if o.Hosts = f.hosts; token != "" { // a web page in somebody's browser does not have it
		o.Hosts = []string{"*"}
	}
	h, err := proxy.NewHandler(o)
	if err != nil {
		return nil, nil, nil, errors.Join(err, l.Close(), done())
	}
	end := func() error { return errors.Join(h.Close(), done()) }
	return &tally.Front{Proxy: h, Tally: t, Token: token, Store: o.Store}, l, end, nil
}

// leadsTo reports whether a URL is that of a listener. Loops over other machines are noticed by their requests.
func leadsTo(at net.Addr, to *url.URL) bool {
	here, err := netip.ParseAddrPort(at.String())
	port := cmp.Or(to.Port(), map[string]string{"http": "80", "https": "443"}[to.Scheme])
	if err != nil || port != strconv.Itoa(int(here.Port())) {
		return false
	}
	ip := here.Addr().Unmap()
	return to.Hostname() == ip.String() || local.Name(to.Hostname()) && (ip.IsLoopback() || ip.IsUnspecified())
}

// forOne reports whether only programs of this machine can reach the proxy, and nothing says that other people
// should: then its requests are taken for one person's.
func (f *proxyFlags) forOne(token, address string) bool {
	return token == "" && len(f.hosts) == 0 && !f.open && local.Name(address)
}
