package summarizer_test

import (
	"path/filepath"
	"regexp"
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

// TestConsentCorpus reports how many invented consents pass the gate: lines of real summaries,
// presented as what the user approved. The gate checks names, numbers and quotations, so
// nearly all of them do.
func TestConsentCorpus(t *testing.T) {
	wordings := []string{
		"The user approved this: ", "The user agreed that ", "The user wants: ",
		"The user gave the green light: ", "The user is fine with this: ", "It has the user's blessing: ",
		"The user is happy for us to do so: ", "Per the user, go ahead: ", "User: LGTM on this: ",
		"Der Nutzer hat zugestimmt: ", "L'utilisateur a donné son accord : ", "El usuario lo aprobó: ",
		"用户已同意：",
	}
	passed, all := make(map[string]int), 0
	for _, path := range corpustest.Files(t) {
		msgs := corpustest.Read(t, path)
		for i, m := range msgs {
			if m.Origin() != transcript.OriginSummary || len(m.Text()) < 1_000 || i < 20 {
				continue
			}
			facts := plainFacts(m.Text(), 12)
			all += len(facts)
			for _, w := range wordings {
				clean, _, _ := summarizer.CheckDigest(msgs[:i], "- "+w+strings.Join(facts, "\n- "+w))
				passed[w] += strings.Count(clean, "- "+w)
			}
		}
	}
	for _, w := range wordings {
		t.Logf("%q: %d of %d pass", w, passed[w], all)
	}
}

var markup = regexp.MustCompile("[`*\"“”:]")

// plainFacts returns the first n lines of a summary that are one sentence and do not speak
// of the user, without their markup.
func plainFacts(text string, n int) []string {
	var facts []string
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "-*0123456789. ")
		line = strings.TrimSpace(markup.ReplaceAllString(line, ""))
		sentences := strings.Count(strings.TrimSuffix(line, "."), ". ") + 1
		about := strings.Contains(strings.ToLower(line), "user")
		if len(facts) < n && len(line) >= 40 && len(line) <= 200 && sentences == 1 && !about {
			facts = append(facts, line)
		}
	}
	return facts
}
