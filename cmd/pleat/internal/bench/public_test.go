package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

func TestPublicCorpus(t *testing.T) {
	files, asked := PublicCorpus()
	if len(files) < 20 {
		t.Fatalf("got %d files", len(files))
	}
	book, err := openQuestions(t.TempDir())
	must(t, err)
	for _, f := range asked {
		if n := len(book.about(f.Path)); n != 18 {
			t.Errorf("got %d questions about %s, want 18", n, f.Path)
		}
	}
	for _, f := range append(files, asked...) {
		if len(f.SHA256) != 64 || len(f.Blob) != 40 || f.Bytes <= 0 || f.Licence == "" ||
			!strings.Contains(f.Repository, "/") ||
			f.Commit == "" ||
			!filepath.IsLocal(f.Path) {
			t.Errorf("%+v is not complete", f)
		}
	}
}

// TestFetch gets files from a server of its own: once, with a wrong one refused.
func TestFetch(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Accept") != "application/vnd.github.raw+json" {
			t.Errorf("got Accept %q", r.Header.Get("Accept"))
		}
		fmt.Fprint(w, "content of "+r.URL.Path)
	}))
	defer server.Close()
	good := PublicFile{
		Path:       "a/one.jsonl",
		Repository: "o/r",
		Blob:       "b1",
		Bytes:      100,
		SHA256:     transcript.HashOf("content of /repos/o/r/git/blobs/b1").String(),
	}
	dir, f := t.TempDir(), Fetcher{Base: server.URL}
	for range 2 {
		must(t, f.Fetch(t.Context(), dir, []PublicFile{good}))
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a", "one.jsonl")); err != nil ||
		string(got) != "content of /repos/o/r/git/blobs/b1" {
		t.Errorf("got %q, %v", got, err)
	}
	if asked != 1 {
		t.Errorf("the server was asked %d times, want once", asked)
	}
	bad := good
	bad.Path, bad.Blob = "a/two.jsonl", "b2"
	if err := f.Fetch(t.Context(), dir, []PublicFile{bad}); err == nil ||
		!strings.Contains(err.Error(), "another hash") {
		t.Errorf("got %v, want an error about the hash", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a", "two.jsonl")); err == nil {
		t.Error("a file with another hash was kept")
	}
}
