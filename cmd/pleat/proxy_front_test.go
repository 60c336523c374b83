package main

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/dash"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// The dashboard checks its clients itself, also where the proxy's clients need a token; what
// is not its own goes to the proxy as before.
func TestFrontWithDashboard(t *testing.T) {
	const token = "0123456789abcdef0123"
	st := store.NewMemory()
	up := httptest.NewServer(http.NotFoundHandler())
	defer up.Close()
	to, err := url.Parse(up.URL)
	must(t, err)
	h := handlerOf(t, &proxy.Options{Store: st, Anthropic: to, Hosts: []string{"*"}})
	p := &term.Console{Getenv: func(string) string { return "" }}
	page, end, err := dashboard(p, library.Options{Store: st}, dash.Options{Token: token})
	must(t, err)
	defer end()
	f := &tally.Front{Proxy: h, Tally: tally.New(), Token: token, Store: st, Dash: page}
	for path, want := range map[string]int{
		"/": 401, "/dash/session?s=x": 401, "/dash/style.css": 200, "/pleat/status": 401, "/v1/messages": 401,
		"/t/" + token + "/pleat/status": 200, "/t/" + token + "/v1/models": 404,
	} {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if asked := strings.Contains(w.Body.String(), "This dashboard asks for its token"); w.Code != want ||
			asked != (want == 401 && dash.Has(strings.SplitN(path, "?", 2)[0])) {
			t.Errorf("%s: status %d, want %d: %.80s", path, w.Code, want, w.Body)
		}
	}
}

// Codex packs its requests with zstd; the proxy reads them.
func TestProxyReadsZstd(t *testing.T) {
	up := httptest.NewServer(newUpstream(upstreamtest.Options{}))
	defer up.Close()
	f := &proxyFlags{
		store: &stores.Flags{Path: filepath.Join(t.TempDir(), "pleat.db")}, policy: "default", recall: "off",
		openai: up.URL,
	}
	p := &term.Console{Stderr: io.Discard, Getenv: func(string) string { return "" }}
	o, done, err := f.options(t.Context(), p, slog.New(slog.DiscardHandler), tally.New())
	must(t, err)
	defer done()
	h := handlerOf(t, o)
	defer h.Close()
	w, _ := zstd.NewWriter(nil)
	body := w.EncodeAll([]byte(`{"model":"m","input":[{"role":"user","content":"Hello."}],"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]}`), nil)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/responses", bytes.NewReader(body))
	r.URL.Scheme, r.URL.Host = "", ""
	r.Header.Set("Content-Encoding", "zstd")
	got := httptest.NewRecorder()
	h.ServeHTTP(got, r)
	if got.Code != http.StatusOK || len(h.Sessions()) != 1 {
		t.Errorf("the client got %d %s; %d sessions are kept", got.Code, got.Body, len(h.Sessions()))
	}
}

// Sessions of a proxy keep plain copies in the folder of --dir, and none over another's.
func TestProxyKeepsFiles(t *testing.T) {
	dir := t.TempDir()
	keep, done, err := keepIn(dir)
	must(t, err)
	defer done()
	var names []string
	for _, text := range []string{"one", "two"} {
		name, err := keep(".task_outputs/tool-results/call_1.txt", []byte(text))
		must(t, err)
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s holds %q, want %q (%v)", name, got, text, err)
		}
		names = append(names, name)
	}
	if names[0] == names[1] {
		t.Errorf("files %v", names)
	}
	if keep, _, err := keepIn(""); err != nil || keep != nil {
		t.Errorf("without a folder files are kept: %v", err)
	}
}

// The keys of the store are not given to the programs that agents and clients run.
func TestStoreKeyStaysHere(t *testing.T) {
	t.Setenv("PLEAT_STORE_KEY", "secret")
	if env := strings.Join(stores.ChildEnv(), "\n"); strings.Contains(env, "secret") || env == "" {
		t.Errorf("programs get %s", env)
	}
}

// The proxy and the models that commands ask are reached through the web proxy of the environment.
func TestThroughWebProxy(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Host)
		mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, "{}", http.StatusTeapot)
	}))
	defer web.Close()
	t.Setenv("HTTP_PROXY", strings.Replace(web.URL, "http://", "http://me:hunter2@", 1))
	t.Setenv("NO_PROXY", "corp.example")
	store := filepath.Join(t.TempDir(), "pleat.db")
	cmd := exec.CommandContext(t.Context(), "pleat", "proxy", "--listen", "127.0.0.1:0", "--store", store,
		"--upstream-anthropic", "http://provider.example")
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	must(t, err)
	base := ""
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "provider.example is reached through "+web.URL) {
		if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
			base = url
		}
	}
	resp, err := http.Post(base+"/v1/messages", "application/json", strings.NewReader(
		`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`))
	must(t, err)
	_ = resp.Body.Close()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	said, _ := exec.CommandContext(t.Context(), "pleat", "run", "--store", store, "--model", "http://model.example/v1#m",
		"Work.").CombinedOutput()
	mu.Lock()
	defer mu.Unlock()
	if resp.StatusCode != http.StatusTeapot || !slices.Contains(asked, "provider.example") ||
		!slices.Contains(asked, "model.example") {
		t.Errorf("status %d; the web proxy was asked for %q\n%s", resp.StatusCode, asked, said)
	}
}

// A proxy is one person's only while no other machine can reach it and nothing says that others should.
func TestProxyForOne(t *testing.T) {
	for _, tt := range []struct {
		f              proxyFlags
		token, address string
		want           bool
	}{
		{proxyFlags{}, "", "127.0.0.1:4141", true},
		{proxyFlags{}, "", "localhost:0", true},
		{proxyFlags{}, "", "0.0.0.0:4141", false},
		{proxyFlags{}, "", ":4141", false},
		{proxyFlags{}, "0123456789abcdef0123", "127.0.0.1:4141", false},
		{proxyFlags{open: true}, "", "127.0.0.1:4141", false},
		{proxyFlags{hosts: []string{"llm.example"}}, "", "127.0.0.1:4141", false},
	} {
		if got := tt.f.forOne(tt.token, tt.address); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
}
