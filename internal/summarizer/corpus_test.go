package summarizer_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/summarizer"
	"github.com/pleat-dev/pleat/transcript"
)

// Agents' own summaries, by strong models, of conversations that the session files have
// whole: nearly all of what they say is true, so nearly nothing of it may be struck.
func TestGateCorpus(t *testing.T) {
	summaries, sentences, struck := 0, 0, 0
	for _, path := range corpustest.Files(t) {
		msgs := corpustest.Read(t, path)
		for i, m := range msgs {
			if m.Origin() != transcript.OriginSummary || len(m.Text()) < 1_000 || i < 20 {
				continue
			}
			text := m.Text()
			if k := strings.Index(text, "If you need specific details from before compaction"); k > 0 {
				text = text[:k] // the client's own words about its files
			}
			_, findings, _ := summarizer.CheckDigest(msgs[:i], text)
			summaries++
			for line := range strings.Lines(text) {
				if len(strings.TrimSpace(line)) > 3 {
					sentences++
				}
			}
			for _, f := range findings {
				if f.Kind == digest.FoundInvented || f.Kind == digest.FoundNotSaid {
					struck++
				}
				t.Logf("%s %d: %v", filepath.Base(path), i, f)
			}
		}
	}
	t.Logf("%d summaries, %d lines, %d findings", summaries, sentences, struck)
	if struck*50 > sentences {
		t.Errorf("%d findings in %d lines of real summaries", struck, sentences)
	}
}
