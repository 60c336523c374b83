package ledger_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// The session files of two agents say beside each call which files it really changed.
// The ledger, which sees only calls and results, must find all of them, and what it finds
// beyond must come from shell commands.
func TestLedgerCorpusChanges(t *testing.T) {
	truths, found, extra, files := 0, 0, 0, 0
	for _, file := range corpustest.Files(t) {
		if agent := filepath.Base(filepath.Dir(filepath.Dir(file))); agent != "claude-code" && agent != "codex" {
			continue
		}
		files++
		truth, l := recorded(t, file), ledger.Of(transcript.NewTranscript(corpustest.Read(t, file)...))
		changed := l.Changed()
		for path := range truth {
			truths++
			names := 0
			for _, s := range changed {
				if p := plainPath(s.Path); p == plainPath(path) ||
					!strings.ContainsAny(p[:min(2, len(p))], ":/") && samePath(p, path) {
					names++
				}
			}
			switch {
			case names == 0:
				t.Errorf("%s: %s was changed", filepath.Base(file), path)
			case names > 1:
				t.Errorf("%s: %s has %d names", filepath.Base(file), path, names)
			}
			found += min(names, 1)
		}
		for _, s := range changed {
			known := false
			for path := range truth {
				known = known || samePath(s.Path, path)
			}
			if known {
				continue
			}
			extra++
			if !slices.ContainsFunc(
				l.Select(ledger.Filter{Path: s.Path}),
				func(e ledger.Entry) bool { return e.Command != "" },
			) {
				t.Errorf("%s: %s was not changed by a file tool", filepath.Base(file), s.Path)
			}
		}
	}
	t.Logf("%d sessions: %d of %d changed files found, %d more by shell commands", files, found, truths, extra)
}

// samePath reports whether two spellings mean one file, in Windows' ways too: from the root,
// or the end of that.
func samePath(a, b string) bool {
	a, b = plainPath(a), plainPath(b)
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}

var drive = regexp.MustCompile(`^(?:/mnt/|/)?([a-zA-Z])(?::/|/)`)

func plainPath(p string) string {
	p = drive.ReplaceAllString(strings.ReplaceAll(p, `\`, "/"), "$1:/")
	if len(p) > 1 && p[1] == ':' {
		p = strings.ToLower(p)
	}
	return p
}

// recorded reads what the session files say beside calls: which files were really changed.
func recorded(t *testing.T, file string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	truth := map[string]bool{}
	for text := range strings.Lines(string(data)) {
		var line struct {
			ToolUseResult json.RawMessage
			Payload       struct {
				Type    string
				Success bool
				Changes map[string]struct {
					MovePath string `json:"move_path"`
				}
			}
		}
		if json.Unmarshal([]byte(text), &line) != nil {
			continue // lines of other kinds have other shapes
		}
		var result struct {
			FilePath        string
			StructuredPatch json.RawMessage
		}
		if json.Unmarshal(line.ToolUseResult, &result) == nil && result.StructuredPatch != nil {
			truth[result.FilePath] = true
		}
		if p := line.Payload; p.Type == "patch_apply_end" {
			for path, c := range p.Changes {
				truth[path] = truth[path] || p.Success
				truth[c.MovePath] = truth[c.MovePath] || p.Success
			}
		}
	}
	for path, ok := range truth {
		if !ok || path == "" {
			delete(truth, path)
		}
	}
	return truth
}
