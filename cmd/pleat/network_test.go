package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

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
