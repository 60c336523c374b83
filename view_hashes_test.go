package pleat_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/viewtest"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/transcript"
)

// TestViewHashes holds the views of random conversations to recorded hashes, under every
// policy: folded once, as "pleat compact" does, and turn by turn, as an agent does. A
// change that is not meant to change views must not change a hash; one that is meant to
// records them anew with -update.
func TestViewHashes(t *testing.T) {
	if testing.Short() {
		t.Skip("long: deterministic, and run without -short by go test work")
	}
	got := map[string]string{}
	for _, c := range []struct {
		name string
		make pleattest.Transcripts
		seed uint64
	}{
		{"legal-1", pleattest.Transcripts{Turns: 24, Huge: 12_000, Legal: true}, 1},
		{"legal-2", pleattest.Transcripts{Turns: 24, Huge: 12_000, Legal: true, NoThink: true}, 2},
		{"legal-3", pleattest.Transcripts{Turns: 12, Huge: 60_000, Legal: true}, 8},
		{"wild-4", pleattest.Transcripts{Turns: 24, Huge: 12_000}, 4},
		{"wild-5", pleattest.Transcripts{Turns: 24, Huge: 12_000, NoThink: true}, 5},
		{"wild-6", pleattest.Transcripts{Turns: 12, Huge: 60_000}, 6},
	} {
		viewtest.Add(t, got, "random/"+c.name, c.make.Make(c.seed))
	}
	viewtest.Compare(t, got, func(name string) bool { return strings.HasPrefix(name, "random/") })
}

// TestViewHashesCorpus does the same with real sessions, under the default policy: those
// of the folders that PLEAT_CORPUS lists, as far as they were recorded.
func TestViewHashesCorpus(t *testing.T) {
	folders := filepath.SplitList(os.Getenv("PLEAT_CORPUS"))
	if len(folders) == 0 {
		t.Skip("set PLEAT_CORPUS to folders of session files to run this test")
	}
	recorded := viewtest.Read(t)
	got := map[string]string{}
	unknown := 0
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if ext := filepath.Ext(path); err != nil || d.IsDir() || ext != ".json" && ext != ".jsonl" {
				return err
			}
			name, err := filepath.Rel(folder, path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if _, ok := recorded[name]; !ok && !*viewtest.Update {
				unknown++
				return nil
			}
			got[name] = corpusHashes(t, path)
			return nil
		})
		must(t, err)
	}
	if len(got) == 0 {
		t.Skip("no file in the folders of PLEAT_CORPUS has recorded hashes")
	}
	t.Logf("%d files compared, %d are not recorded", len(got), unknown)
	viewtest.Compare(t, got, func(name string) bool { _, ok := got[name]; return ok })
}

// corpusHashes are the hashes of a file, over all sessions in it: of what was read, and of
// the views at each budget.
func corpusHashes(t *testing.T, path string) string {
	t.Helper()
	p, err := policy.ByName("default")
	must(t, err)
	sessions, err := readAllSessions(path)
	if err != nil {
		return "unreadable"
	}
	read := viewtest.New()
	for _, msgs := range sessions {
		must(t, json.NewEncoder(read.Sum).Encode(msgs))
	}
	out := []string{read.String()}
	for _, budget := range []int{8_000, 20_000, 49_000} {
		h := viewtest.New()
		for _, msgs := range sessions {
			h.Fold(t, p, budget, msgs)
		}
		out = append(out, h.String())
	}
	return strings.Join(out, " ")
}

func readAllSessions(path string) (sessions [][]transcript.Message, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for n, all := 0, 1; n < all; n++ {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		log, err := sessionlog.Open(f, &sessionlog.Options{Session: n})
		if err != nil {
			return nil, err
		}
		all = log.Sessions()
		var msgs []transcript.Message
		for rec, err := range log.Records() {
			if err != nil {
				return nil, err
			}
			msgs = append(msgs, rec.Message)
		}
		sessions = append(sessions, msgs)
	}
	return sessions, nil
}
