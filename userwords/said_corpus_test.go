package userwords_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// TestCorpusUserWords reads real sessions, if there are any, and holds what must be true of
// every one of them. With -v it prints what was found, for reading.
func TestCorpusUserWords(t *testing.T) {
	for _, dir := range corpustest.Folders(t) {
		readFolder(t, dir)
	}
}

func readFolder(t *testing.T, dir string) {
	t.Helper()
	for _, glob := range []string{"claude-code", "codex", "opencode", "gemini-cli", "copilot-cli", "pi"} {
		files, _ := filepath.Glob(filepath.Join(dir, glob, "*", "*.json*"))
		for _, file := range files {
			t.Run(filepath.Join(glob, filepath.Base(file)), func(t *testing.T) { readWords(t, file) })
		}
	}
}

func readWords(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := sessionlog.Open(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	var w userwords.Words
	var msgs []transcript.Message
	blind := 0 // typed messages found by the text alone
	for rec, err := range log.Records() {
		if err != nil {
			t.Fatal(err)
		}
		w.Add(len(msgs), rec.Message)
		msgs = append(msgs, rec.Message)
		if _, ok := userwords.TypedText(rec.Message.WithOrigin(transcript.OriginUnknown)); ok {
			blind++
		}
	}
	typed := 0
	for _, s := range w.Said() {
		if s.Via == "" {
			typed++
		}
	}
	t.Logf(
		"messages %d, said %d (typed %d, by text alone %d), tasks %d",
		len(msgs),
		len(w.Said()),
		typed,
		blind,
		len(w.Tasks().Items),
	)
	for _, s := range w.Said() {
		if s.Short || s.Question != "" || s.Via != "" {
			t.Logf("said %d short=%v via=%s: %.200s\n   ? %s", s.Message, s.Short, s.Via, s.Text, s.Question)
		}
	}
}
