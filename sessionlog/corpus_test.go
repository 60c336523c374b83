package sessionlog_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/transcript"
)

// TestCorpus reads every session file of the corpus strictly, by the format that its folder
// names: every result has its call before it, and what the conversation leaves out was abandoned.
// (TestViewHashesCorpus at the root holds every message to recorded hashes.)
func TestCorpus(t *testing.T) {
	for _, path := range corpustest.Files(t) {
		data, err := os.ReadFile(path)
		must(t, err)
		format, err := sessionlog.Detect(bytes.NewReader(data))
		if err != nil || !strings.Contains(path, string(filepath.Separator)+string(format)+string(filepath.Separator)) {
			t.Errorf("%s: format %q, %v", path, format, err)
		}
		for session, sessions := 0, 1; session < sessions; session++ {
			opts := sessionlog.Options{Session: session, Strict: true}
			var said int
			said, sessions = readCorpus(t, path, data, opts)
			opts.Abandoned = true
			all, _ := readCorpus(t, path, data, opts)
			t.Logf("%s, session %d: %d messages, %d abandoned", path, session, said, all-said)
		}
	}
}

// readCorpus returns how many messages a session of a file has, and how many sessions the file.
func readCorpus(t *testing.T, path string, data []byte, opts sessionlog.Options) (messages, sessions int) {
	t.Helper()
	log, err := sessionlog.Open(bytes.NewReader(data), &opts)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	tr, abandoned := transcript.NewTranscript(), 0
	for rec, err := range log.Records() {
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if rec.Abandoned {
			abandoned++
		}
		tr.Append(rec.Message)
	}
	if o := tr.Orphans(); len(o) > 0 {
		t.Errorf("%s: %d results answer no call before them", path, len(o))
	}
	if opts.Abandoned && abandoned != log.Info().Abandoned {
		t.Errorf("%s: %d messages are abandoned, the log says %d", path, abandoned, log.Info().Abandoned)
	}
	return tr.Len(), log.Sessions()
}
