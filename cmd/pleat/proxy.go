package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

var proxyCommand = command{
	name:    "proxy",
	args:    "[status|drain]",
	summary: "stand between an agent and its provider, and keep it inside its window",
	help: `Listens for requests of agents and forwards them to their provider. Conversations that
outgrow their model's window are folded on the way; nothing is lost, and the model gets
back what it wants to see again. Until something is folded requests go out byte for byte.
Point the agent at it:

  ANTHROPIC_BASE_URL=http://127.0.0.1:4141            Claude Code, Anthropic's SDKs
  OPENAI_BASE_URL=http://127.0.0.1:4141/v1            OpenAI's SDKs and most others

"pleat wrap" starts it for one agent and ends with it. docs/proxy.md has a recipe for each
client. Keys are passed on and neither kept nor logged.

"pleat proxy status" shows the sessions of a running proxy and what they cost; "pleat
proxy drain" has it take no new conversations, so that it can be stopped without leaving
one behind that no longer fits. Listening anywhere but on this machine needs a token:
clients then add it to the address, http://HOST:4141/t/TOKEN, or send it as the header
X-Pleat-Token.`,
	examples: `# for everything on this machine
pleat proxy
# change nothing, and see what it would do
pleat proxy --observe
# a local model with a small window
pleat proxy --upstream-openai http://127.0.0.1:11434 --window 8k`,
	flags: func(fs *flag.FlagSet) runFunc {
		f := &proxyFlags{store: declareStore(fs)}
		f.declare(fs)
		fs.StringVar(&f.listen, "listen", "127.0.0.1:4141", "listen on `ADDRESS`")
		fs.StringVar(&f.tokenFile, "token-file", "", "demand the token in `FILE` of every client")
		fs.Var(&f.hosts, "host", "let clients call the proxy by `NAME` too, beside addresses and localhost; with a token any name will do")
		fs.BoolVar(&f.open, "open", false, "listen beyond this machine without a token")
		fs.BoolVar(&f.quiet, "quiet", false, "log warnings and errors only")
		fs.BoolVar(&f.asJSON, "json", false, "with status: print one JSON object; else: log as JSON")
		return func(ctx context.Context, p *program, args []string) error {
			switch {
			case len(args) == 0:
				return f.serve(ctx, p)
			case len(args) == 1 && args[0] == "status":
				return f.status(ctx, p)
			case len(args) == 1 && args[0] == "drain":
				return f.drain(ctx, p)
			}
			return usageError{"proxy takes status, drain, or nothing"}
		}
	},
}

// proxyFlags are the flags of "pleat proxy"; "pleat wrap" has those that it declares.
type proxyFlags struct {
	store             *storeFlags
	anthropic, openai string
	window            tokenCount
	policy            string
	recall, recallDir string
	digest            string
	observe           bool
	otel              string

	listen, tokenFile   string
	hosts               texts
	open, quiet, asJSON bool
}

func (f *proxyFlags) declare(fs *flag.FlagSet) {
	fs.StringVar(&f.anthropic, "upstream-anthropic", "https://api.anthropic.com", "forward Anthropic requests to `URL`")
	fs.StringVar(&f.openai, "upstream-openai", "https://api.openai.com", "forward OpenAI requests to `URL`, which may be any server that speaks the format")
	fs.Var(&f.window, "window", "the window, in `N` tokens, of models that the table does not know, and a bound for those it does")
	fs.StringVar(&f.policy, "policy", "default", "fold as `POLICY` says: a name that \"pleat policies\" lists, or a JSON file")
	fs.StringVar(&f.recall, "recall", "tools", "how a model gets things back: `tools`, file or off")
	fs.StringVar(&f.recallDir, "recall-dir", "", "with --recall file: write the files under `FOLDER`; none: \"recall\" beside the default store")
	fs.StringVar(&f.digest, "digest-model", "", "let `MODEL` write the digests, with a key of your own; none: they are written by code")
	fs.BoolVar(&f.observe, "observe", false, "change nothing on the wire; report what would have been done")
	fs.StringVar(&f.otel, "otel", "", otelUsage)
}

// options makes the proxy's options, and what is to be closed in the end.
func (f *proxyFlags) options(ctx context.Context, p *program, log *slog.Logger, t *tally) (*proxy.Options, func() error, error) {
	policy, err := loadPolicy(f.policy)
	if err != nil {
		return nil, nil, err
	}
	if f.policy == "default" {
		policy = fold.Policy{} // the proxy's own default, which also folds when that pays
	}
	if !slices.Contains([]string{"tools", "file", "off"}, f.recall) {
		return nil, nil, usageError{fmt.Sprintf("--recall %s: want tools, file or off", f.recall)}
	}
	o := &proxy.Options{
		Window: int(f.window), Policy: policy, Recall: proxy.RecallMode(f.recall), RecallDir: f.recallDir,
		ObserveOnly: f.observe, Logger: log, Decoders: map[string]proxy.Decoder{"zstd": unzstd},
	}
	if f.recall == "file" {
		if o.RecallDir, err = recallFolder(f.recallDir, p.getenv); err != nil {
			return nil, nil, err
		}
	}
	if o.Anthropic, err = upstreamURL(f.anthropic); err != nil {
		return nil, nil, err
	}
	if o.OpenAI, err = upstreamURL(f.openai); err != nil {
		return nil, nil, err
	}
	if tenant := f.store.tenant; tenant != "" {
		o.Principal = func(*http.Request, []byte) string { return tenant }
	}
	if f.digest != "" {
		writer, err := openProvider(ctx, f.digest, p.getenv)
		if err != nil {
			return nil, nil, err
		}
		o.Session = func(_ store.SessionKey, s *pleat.Options) { digestWith(s, writer.Generator, writer.Model) }
	}
	tel, err := p.telemetry(ctx, f.otel)
	if err != nil {
		return nil, nil, err
	}
	o.Observe = func(key store.SessionKey, e pleat.Event) { tel.session(context.Background(), key.Session)(e) }
	o.Report = func(r proxy.Report) {
		t.add(r)
		tel.exchange(r)
		logExchange(log, r)
	}
	store, err := p.openStore(ctx, f.store)
	if err != nil {
		return nil, nil, err
	}
	o.Store = store
	return o, func() error { return errors.Join(tel.close(), store.Close()) }, nil
}

// unzstd decodes zstd, which Codex packs its requests with.
func unzstd(packed io.Reader) (io.ReadCloser, error) {
	r, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		return nil, err
	}
	return r.IOReadCloser(), nil
}

// recallFolder is where the files of recall by file are written. It is absolute: stubs
// name them to clients that work elsewhere.
func recallFolder(named string, getenv func(string) string) (string, error) {
	if named == "" {
		data := dataFolder(runtime.GOOS, getenv)
		if data == "" {
			return "", usageError{"--recall file: there is no home folder to keep the files in: name one with --recall-dir"}
		}
		named = filepath.Join(data, "pleat", "recall")
	}
	dir, err := filepath.Abs(named)
	if err != nil {
		return "", fmt.Errorf("find the folder of --recall-dir: %w", err)
	}
	return dir, nil
}

func upstreamURL(s string) (*url.URL, error) {
	if s == "" {
		return nil, nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usageError{fmt.Sprintf("%q is no address of a provider (want https://HOST)", s)}
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1") // clients add it themselves
	return u, nil
}

// logExchange logs what happened to a request, without a word of what was said.
func logExchange(log *slog.Logger, r proxy.Report) {
	if r.Session.Session == "" && r.Err == nil {
		return // passed on as it was
	}
	attrs := []any{
		"session", r.Session.Session, "wire", string(r.Format), "model", r.Model, "status", r.Status,
		"messages", r.Messages, "tokens", r.Snapshot.Tokens, "state", r.Snapshot.State.String(),
		"added", r.Added.Round(10 * time.Microsecond), "took", r.Took.Round(time.Millisecond),
	}
	if r.Folded {
		attrs = append(attrs, "whole", r.Snapshot.Whole, "epochs", r.Epochs)
	}
	if r.Hidden > 0 {
		attrs = append(attrs, "hidden", r.Hidden)
	}
	if r.Retried {
		attrs = append(attrs, "retried", true)
	}
	if r.Err != nil {
		log.Warn("request", append(attrs, "err", r.Err)...)
		return
	}
	log.Info("request", attrs...)
}

// serve runs the proxy until it is told to stop, then lets streams end.
func (f *proxyFlags) serve(ctx context.Context, p *program) error {
	token, err := f.token()
	if err != nil {
		return err
	}
	if err := f.mayListen(token); err != nil {
		return err
	}
	t := newTally()
	o, done, err := f.options(ctx, p, f.logger(p), t)
	if err != nil {
		return err
	}
	o.Hosts = f.hosts
	if token != "" { // a page in somebody's browser does not have it
		o.Hosts = []string{"*"}
	}
	h, err := proxy.NewHandler(o)
	if err != nil {
		return errors.Join(err, done())
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return errors.Join(fmt.Errorf("listen: %w (choose another address with --listen)", err), h.Close(), done())
	}
	fmt.Fprintf(p.stderr, "pleat: listening on http://%s\n", l.Addr())
	err = serveUntilDone(ctx, l, &front{proxy: h, tally: t, token: token, store: o.Store}, o.Logger)
	return errors.Join(err, h.Close(), done())
}

// drainTime is how long streams may go on after the proxy was told to stop.
const drainTime = time.Minute

func serveUntilDone(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 20 * time.Second, IdleTimeout: 5 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stop() // a second signal ends the program at once
	log.Info("stopping: waiting for open streams")
	end, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := server.Shutdown(end)
	if err != nil {
		err = errors.Join(fmt.Errorf("stop: streams were still open after %v: %w", drainTime, err), server.Close())
	}
	<-failed
	return err
}

func (f *proxyFlags) logger(p *program) *slog.Logger {
	o := &slog.HandlerOptions{}
	if f.quiet {
		o.Level = slog.LevelWarn
	}
	if f.asJSON {
		return slog.New(slog.NewJSONHandler(p.stderr, o))
	}
	return slog.New(slog.NewTextHandler(p.stderr, o))
}

func (f *proxyFlags) token() (string, error) {
	if f.tokenFile == "" {
		return "", nil
	}
	data, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < 16 {
		return "", fmt.Errorf("read token %s: it has fewer than 16 characters (make one with: openssl rand -hex 24)", f.tokenFile)
	}
	return token, nil
}

// mayListen refuses to be open to others by accident.
func (f *proxyFlags) mayListen(token string) error {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return usageError{fmt.Sprintf("--listen %s: %v (want HOST:PORT)", f.listen, err)}
	}
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() || token != "" || f.open {
		return nil
	}
	return usageError{"--listen " + f.listen + " can be reached from other machines: demand a token with --token-file, or say --open if the network is safe"}
}
