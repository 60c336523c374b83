// Package corpustest gives tests the real sessions of other agents, which are never part of
// the repository: those in the folders that PLEAT_CORPUS names.
package corpustest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest/folders"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/transcript"
)

// Folders lists the folders that PLEAT_CORPUS names, which are separated as in PATH. The
// test is skipped if there are none.
var Folders = folders.List

// notRead are folders with other data, or in formats that pleat does not read.
var notRead = []string{"eval", "trail", "model", "gold", "questions", "LICENSES", "tau-bench", "swe-agent"}

// Files lists the session files in those folders.
func Files(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, folder := range Folders(t) {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && slices.Contains(notRead, d.Name()) {
				return fs.SkipDir
			}
			if ext := filepath.Ext(path); ext == ".json" || ext == ".jsonl" {
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Read reads the first conversation of a session file.
func Read(t testing.TB, path string) []transcript.Message {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := sessionlog.Open(f, nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var msgs []transcript.Message
	for rec, err := range log.Records() {
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		msgs = append(msgs, rec.Message)
	}
	return msgs
}
