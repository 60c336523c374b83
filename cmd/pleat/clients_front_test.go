package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// proxies are programs on one store, behind an address that does not change: a load
// balancer, which sends a request once more if a proxy breaks off before it answers.
type proxies struct {
	t    *testing.T
	args []string
	pick func() int // which of them gets the next request

	answered func() // called when a request was

	mu  sync.Mutex
	all []*proxyProgram
}

type proxyProgram struct {
	cmd *exec.Cmd
	url string
}

// newProxies starts n proxies between the client and the server.
func newProxies(t *testing.T, d drive, n int) *proxies {
	server := httptest.NewServer(d.server)
	t.Cleanup(server.Close)
	p := &proxies{t: t, pick: func() int { return 0 }, answered: func() {}, args: []string{
		"proxy", "--listen", "127.0.0.1:0", "--quiet", "--store", filepath.Join(t.TempDir(),
			"pleat.db"), "--window", strconv.Itoa(d.window),
		"--upstream-anthropic", server.URL, "--upstream-openai", server.URL, "--upstream-gemini", server.URL,
	}}
	for range n {
		p.all = append(p.all, p.start())
	}
	t.Cleanup(func() {
		for _, one := range p.all {
			one.kill()
		}
	})
	return p
}

// start starts a proxy and waits until it listens.
func (p *proxies) start() *proxyProgram {
	cmd := exec.Command("pleat", p.args...)
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Errorf("start proxy: %v", err)
		return &proxyProgram{cmd: cmd}
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if _, url, ok := strings.Cut(strings.TrimSpace(line), "listening on "); ok {
			go io.Copy(io.Discard, lines) //nolint:errcheck // it ends with the program
			return &proxyProgram{cmd, url}
		}
		if err != nil {
			p.t.Errorf("the proxy does not listen: %s", line)
			return &proxyProgram{cmd: cmd}
		}
	}
}

// kill ends a proxy by SIGKILL.
func (one *proxyProgram) kill() {
	if one.cmd.Process != nil {
		_ = one.cmd.Process.Kill()
		_ = one.cmd.Wait()
	}
}

// killAndStart ends a proxy and puts another one in its place.
func (p *proxies) killAndStart(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[i].kill()
	p.all[i] = p.start()
}

func (p *proxies) url(i int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[i].url
}

// ServeHTTP passes a request on, once more if the proxy was killed before it answered.
func (p *proxies) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	i := p.pick()
	var resp *http.Response
	for range 2 {
		req, err := http.NewRequestWithContext(r.Context(), r.Method,
			p.url(i)+r.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			break
		}
		req.Header = r.Header.Clone()
		if resp, err = http.DefaultTransport.RoundTrip(req); err == nil {
			break
		}
	}
	if resp == nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(flushing{w, http.NewResponseController(w)}, resp.Body)
	p.answered()
}

// flushing sends on at once what is written.
type flushing struct {
	http.ResponseWriter
	c *http.ResponseController
}

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.ResponseWriter.Write(b)
	_ = f.c.Flush()
	return n, err
}

func (p *proxies) serve() string {
	s := httptest.NewServer(p)
	p.t.Cleanup(s.Close)
	return s.URL
}

// turnFront is the address of two proxies that get requests in turn.
func turnFront(t *testing.T, d drive) string {
	p := newProxies(t, d, 2)
	var n atomic.Int64
	p.pick = func() int { return int(n.Add(1)) % 2 }
	return p.serve()
}

// killedFront is the address of a proxy that is killed while the server answers its request
// after step 5, and as soon as it has answered its eighth.
func killedFront(t *testing.T, d drive) string {
	p := newProxies(t, d, 1)
	var once sync.Once
	d.server.Asked(func(x upstreamtest.Exchange) {
		if x.Step == 5 && !x.Side {
			once.Do(func() { p.killAndStart(0) })
		}
	})
	var n atomic.Int64
	p.answered = func() {
		if n.Add(1) == 8 {
			p.killAndStart(0)
		}
	}
	return p.serve()
}

// versionFront is the address of a proxy whose upstream's names a version of its own.
func versionFront(t *testing.T, d drive) string {
	mux := http.NewServeMux()
	for _, path := range []string{"/chat/completions", "/responses", "/models"} {
		mux.Handle("/api/paas/v4"+path, d.server)
	}
	server := httpServer(t, mux) + "/api/paas/v4"
	return d.inProcess(t, server, server)
}

// keyFront is the address of a proxy before two servers, of which only Anthropic's may be asked.
func keyFront(t *testing.T, d drive) string {
	return d.inProcess(t, httpServer(t, d.server), httpServer(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the key reached another provider: %s %s", r.Method, r.URL.Path)
	})))
}

// clearsFront is a proxy before which the client's requests show that it clears results, and behind which
// the server's do not.
func clearsFront(t *testing.T, d drive) string {
	counts := func(next http.Handler, n *atomic.Int32) string {
		return httpServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if strings.Contains(string(body), "[Old tool result content cleared]") ||
				strings.Contains(string(body), "tool_output_masked") {
				n.Add(1)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		}))
	}
	var sent, got atomic.Int32
	server := counts(d.server, &got)
	to, err := url.Parse(d.inProcess(t, server, server))
	must(t, err)
	t.Cleanup(func() {
		if sent.Load() == 0 || got.Load() > 0 {
			t.Errorf("the client cleared results in %d requests, %d of which the server got", sent.Load(), got.Load())
		}
	})
	return counts(httputil.NewSingleHostReverseProxy(to), &sent)
}
