package ledger_test

import (
	"bufio"
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
		tr, truth := readCorpus(t, file)
		l := ledger.Of(tr)
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

type corpusBlock struct {
	Type, ID, Name string
	Input, Content json.RawMessage
	ToolUseID      string `json:"tool_use_id"`
	IsError        bool   `json:"is_error"`
}

type corpusLine struct {
	Type          string
	Message       struct{ Content json.RawMessage }
	ToolUseResult json.RawMessage
	Payload       struct {
		Type, Name, Arguments, Input string
		CallID                       string `json:"call_id"`
		Output                       json.RawMessage
		Success                      bool
		Changes                      map[string]struct {
			MovePath string `json:"move_path"`
		}
	}
}

func readCorpus(t *testing.T, file string) (*transcript.Transcript, map[string]bool) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr, truth := transcript.NewTranscript(), map[string]bool{}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var line corpusLine
		if json.Unmarshal(sc.Bytes(), &line) != nil {
			continue // lines of other kinds have other shapes
		}
		var blocks []corpusBlock
		_ = json.Unmarshal(line.Message.Content, &blocks)
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				tr.Append(transcript.Assistant(transcript.Call(b.ID, b.Name, string(b.Input))))
			case "tool_result":
				r := transcript.Result(b.ToolUseID, corpusText(b.Content))
				r.Error = b.IsError
				tr.Append(transcript.Results(r))
			}
		}
		var result struct {
			FilePath        string
			StructuredPatch json.RawMessage
		}
		if json.Unmarshal(line.ToolUseResult, &result) == nil && result.StructuredPatch != nil {
			truth[result.FilePath] = true
		}
		switch p := line.Payload; p.Type {
		case "function_call":
			tr.Append(transcript.Assistant(transcript.Call(p.CallID, p.Name, p.Arguments)))
		case "custom_tool_call":
			tr.Append(transcript.Assistant(transcript.Call(p.CallID, p.Name, p.Input)))
		case "function_call_output", "custom_tool_call_output":
			tr.Append(transcript.Results(transcript.Result(p.CallID, corpusText(p.Output))))
		case "patch_apply_end":
			for path, c := range p.Changes {
				truth[path] = truth[path] || p.Success
				if c.MovePath != "" {
					truth[c.MovePath] = truth[c.MovePath] || p.Success
				}
			}
		}
	}
	for path, ok := range truth {
		if !ok || path == "" {
			delete(truth, path)
		}
	}
	return tr, truth
}

// corpusText reads a result's text, which is a string or a list of text blocks.
func corpusText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(raw, &parts)
	for _, p := range parts {
		s += p.Text
	}
	return s
}
