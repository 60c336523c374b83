package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/dash"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/webproxy"
	"github.com/pleat-dev/pleat/internal/local"
)

// unzstd decodes zstd, with which Codex compresses its requests.
func unzstd(packed io.Reader) (io.ReadCloser, error) {
	r, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		return nil, err
	}
	return r.IOReadCloser(), nil
}

// recallFolder is where recall by file writes its files. It is absolute, because stubs name
// the files to clients that work in other folders.
func recallFolder(p *term.Console, named string) (string, error) {
	if named = cmp.Or(named, dataFolder(p, "recall")); named == "" {
		return "", term.UsageError(
			"--recall file: there is no home folder to keep the files in; name a folder with --recall-dir")
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
		const want = "%q is not the address of a provider (want https://HOST or http://HOST:PORT)"
		return nil, term.UsageError(fmt.Sprintf(want, s))
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// serve runs the proxy until it is told to stop, then waits for streams to end.
func (f *proxyFlags) serve(ctx context.Context, p *term.Console) error {
	token, err := tally.ReadToken(f.tokenFile)
	drain, err2 := tally.ReadToken(f.drainFile)
	dashToken, err3 := tally.ReadToken(f.dashFile)
	if err = cmp.Or(err, err2, err3); err == nil {
		err = mayListen(f.listen, token, f.open, ", or say --open if the network is safe")
	}
	switch {
	case err != nil:
		return err
	case f.dash && token != "" && (dashToken == "" || dashToken == token):
		return term.UsageError(
			"--dash shows every session, and clients share the token in --token-file: require another " +
				"with --dash-token-file")
	case dashToken != "" && !f.dash:
		return term.UsageError("--dash-token-file goes with --dash")
	}
	log := tally.Logger(p.Stderr, f.asJSON, f.quiet)
	front, l, end, err := f.start(ctx, p, log, token, f.listen)
	if err != nil {
		return err
	}
	front.Drain = drain
	p.Note("pleat: listening on http://%s\n", l.Addr())
	for _, line := range webproxy.For(f.anthropic, f.openai, f.gemini) {
		p.Note("pleat: %s\n", line)
	}
	if f.dash {
		of := library.Options{Tenant: f.store.Tenant, Store: front.Store.(library.Store)} // as [stores.Open] opens it
		if of.Index, err = f.index.Path(p, f.store); err != nil {
			return errors.Join(err, l.Close(), end())
		}
		h, closeDash, err := dashboard(p, of, dash.Options{Token: dashToken, Window: int(f.window), Logger: log})
		if err != nil {
			return errors.Join(err, l.Close(), end())
		}
		defer closeDash()
		front.Dash = h
		p.Note("pleat: dashboard on http://%s/\n", l.Addr())
	}
	return errors.Join(serveUntilDone(ctx, l, front, log), end())
}

// drainTime is how long streams may go on after the proxy was told to stop.
const drainTime = time.Minute

// serveUntilDone serves until ctx ends, which the first signal does; a second one ends the program at once.
func serveUntilDone(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
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
	log.Info("stopping; replies that are under way may end first")
	end, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := server.Shutdown(end)
	if err != nil {
		err = errors.Join(fmt.Errorf("stop: streams were still open after %v: %w", drainTime, err), server.Close())
	}
	<-failed
	return err
}

// listenAt listens on an address. Where a proxy runs there already, the error says more of that.
func listenAt(ctx context.Context, address, running string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	hint := "choose another address with --listen"
	if tally.Runs(ctx, "http://"+address) {
		hint = running + "; " + hint
	}
	return nil, fmt.Errorf("listen: %w (%s)", err, hint)
}

// mayListen refuses to open an address to other machines by accident.
func mayListen(address, token string, open bool, hint string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return term.UsageError(fmt.Sprintf("--listen %s: %v (want HOST:PORT)", address, err))
	}
	if local.Name(host) || token != "" || open {
		return nil
	}
	return term.UsageError("--listen " + address +
		" can be reached from other machines: require a token with --token-file" + hint)
}

// leastMemory is what a proxy may hold at least, where nobody said how much.
const leastMemory = 256 << 20

// boundMemory says how much the proxy may hold: as much as the flag says, else a quarter of the
// machine's memory or of what the container may use. The garbage collector is told, so that
// what is let go is free soon.
func (f *proxyFlags) boundMemory(getenv func(string) string) int64 {
	limit := int64(f.memory)
	if limit == 0 {
		limit = max(machineMemory()/4, leastMemory)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit + limit/4)
	}
	return limit
}

// machineMemory is how much memory this process can have; 0: that is not known.
func machineMemory() int64 {
	var least int64
	note := func(n int64, err error) {
		if err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if data, err := os.ReadFile(name); err == nil {
			note(strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64))
		}
	}
	data, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(data)) {
		var kilobytes int64
		_, err := fmt.Sscanf(line, "MemTotal: %d kB", &kilobytes)
		note(kilobytes<<10, err)
	}
	return least
}
