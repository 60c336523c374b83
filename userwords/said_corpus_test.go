package userwords_test

import (
	"path/filepath"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// TestCorpusUserWords reads real sessions, if there are any. With -v it prints what was found, for reading.
func TestCorpusUserWords(t *testing.T) {
	for _, file := range corpustest.Files(t) {
		t.Run(filepath.Base(file), func(t *testing.T) { readWords(t, file) })
	}
}

func readWords(t *testing.T, file string) {
	var w userwords.Words
	blind := 0 // typed messages found by the text alone
	msgs := corpustest.Read(t, file)
	for i, m := range msgs {
		w.Add(i, m)
		if _, ok := userwords.TypedText(m.WithOrigin(transcript.OriginUnknown)); ok {
			blind++
		}
	}
	typed := 0
	for _, s := range w.Said() {
		if s.Via == "" {
			typed++
		}
	}
	t.Logf("messages %d, said %d (typed %d, by text alone %d), tasks %d",
		len(msgs), len(w.Said()), typed, blind, len(w.Tasks().Items))
	for _, s := range w.Said() {
		if s.Question != "" || s.Via != "" {
			t.Logf("said %d via=%s: %.200s\n   ? %s", s.Message, s.Via, s.Text, s.Question)
		}
	}
}
