package dash

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/store"
)

// compactedFile is a session as Claude Code leaves it that has compacted itself after so many rounds.
func compactedFile(t *testing.T, home string, rounds int) {
	t.Helper()
	var b strings.Builder
	entry := func(format string, args ...any) {
		fmt.Fprintf(&b, `{"version":"2.0.0","cwd":"/calc","timestamp":"2026-01-02T10:00:00.000Z",`+format+"\n", args...)
	}
	entry(`"type":"user","uuid":"u0","sessionId":"s","message":{"role":"user","content":"Mend the parser."}}`)
	for i := range rounds {
		entry(`"parentUuid":"u%d","type":"assistant","uuid":"a%d","sessionId":"s","message":{"role":"assistant",`+
			`"content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"cat %d.go"}}]}}`, i, i, i, i)
		entry(`"parentUuid":"a%d","type":"user","uuid":"u%d","sessionId":"s","message":{"role":"user","content":`+
			`[{"type":"tool_result","tool_use_id":"t%d","content":"first of %d %s last of %d"}]}}`,
			i, i+1, i, i, strings.Repeat("words of a file ", 200), i)
	}
	entry(`"type":"system","subtype":"compact_boundary","uuid":"b1",` +
		`"compactMetadata":{"trigger":"auto","preTokens":12345}}`)
	entry(`"parentUuid":"b1","isCompactSummary":true,"type":"user","uuid":"b2","sessionId":"s",` +
		`"message":{"role":"user","content":"The parser was <b>mended</b>."}}`)
	dir := filepath.Join(home, ".claude", "projects", "-calc")
	must(t, os.MkdirAll(dir, 0o700))
	name := filepath.Join(dir, "compacted-1.jsonl")
	must(t, os.WriteFile(name, []byte(b.String()), 0o600))
	long := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(name, long, long))
}

// Each row of what would be folded opens the text that would go and what would stand instead, and sends
// its exact bytes; beside it stands what the agent's own compaction left.
func TestPlanOpens(t *testing.T) {
	home, st := t.TempDir(), store.NewMemory()
	compactedFile(t, home, 20)
	lib := library.New(library.Options{Store: st, Home: home})
	defer lib.Close()
	h, err := New(Options{Library: lib, Store: st})
	must(t, err)
	defer h.Close()
	page := get(h, "/dash/plan?s=compacted-1&budget=3900").Body.String()
	for _, want := range []string{"12,345", "The parser was &lt;b&gt;mended", "What would go"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q:\n%s", want, page)
		}
	}
	checkHTML(t, "plan", page)
	stretches := 0
	links := regexp.MustCompile(`<th scope="row" class="name"><a href="([^"]*)"`).FindAllStringSubmatch(page, -1)
	for _, m := range links {
		address, err := url.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
		must(t, err)
		w := get(h, address.String())
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "would be folded at 3,900 tokens") ||
			!strings.Contains(w.Body.String(), "would show instead") {
			t.Errorf("%s: status %d:\n%s", address, w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), "<dt>Messages</dt>") {
			stretches++
		}
		form := address.Query()
		form.Set("form", h.guard.form())
		r := httptest.NewRequest("POST", "http://127.0.0.1:4242/dash/bytes", strings.NewReader(form.Encode()))
		r.RemoteAddr = "127.0.0.1:5555"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		file := httptest.NewRecorder()
		h.ServeHTTP(file, r)
		if file.Code != http.StatusOK || !strings.Contains(file.Body.String(), "last of ") {
			t.Errorf("%s: the file: status %d, %d bytes", address, file.Code, file.Body.Len())
		}
	}
	if len(links) == 0 || stretches == 0 {
		t.Errorf("%d rows, %d of them of several messages: of both at least one is wanted", len(links), stretches)
	}
	if _, s, err := h.open(t.Context(), "compacted-1"); err != nil || len(s.Folds()) > 0 {
		t.Errorf("looking at what would be folded has folded something, or failed: %v", err)
	}
}
