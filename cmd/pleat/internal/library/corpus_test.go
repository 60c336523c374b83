package library_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
)

// Every real session opens with the messages that its file has, and its handoff fits.
func TestCorpus(t *testing.T) {
	const budget = 8_000
	h := newHome(t)
	counter := tokens.NewTokenizer(model.Model{}, nil)
	files := corpustest.Files(t)
	for i, file := range files {
		data, err := os.ReadFile(file)
		h.must(err)
		copied := h.put(fmt.Sprintf(".claude/projects/p%d/s.jsonl", i), string(data), day)
		id := h.find(copied)
		s, err := h.Open(t.Context(), id)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if want := len(corpustest.Read(t, file)); s.Len() != want {
			t.Errorf("%s: %d messages, the file has %d", file, s.Len(), want)
		}
		began := time.Now()
		text, err := h.Handoff(t.Context(), id, budget)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		n := counter.CountText(text)
		t.Logf("%s: %d messages, handoff of %d tokens in %v", file, s.Len(), n,
			time.Since(began).Round(time.Millisecond))
		if n > budget {
			t.Errorf("%s: %d tokens", file, n)
		}
	}
	page, err := h.List(t.Context(), library.Filter{})
	h.must(err)
	if page.Total != len(files) {
		t.Errorf("%d of %d sessions are listed", page.Total, len(files))
	}
}
