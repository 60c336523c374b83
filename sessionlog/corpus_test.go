package sessionlog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/transcript"
)

// counts is what two independent ways of reading a file must agree on.
type counts struct {
	Messages, Calls, Results, Errors, Human, Parallel, Unanswered int

	Bytes int // of the results' text
}

func (c counts) String() string {
	return fmt.Sprintf(
		"messages %d, calls %d, results %d, errors %d, human %d, parallel %d, unanswered %d, %d bytes of results",
		c.Messages, c.Calls, c.Results, c.Errors, c.Human, c.Parallel, c.Unanswered, c.Bytes,
	)
}

func (c counts) plus(d counts) counts {
	return counts{
		c.Messages + d.Messages, c.Calls + d.Calls, c.Results + d.Results, c.Errors + d.Errors,
		c.Human + d.Human, c.Parallel + d.Parallel, c.Unanswered + d.Unanswered, c.Bytes + d.Bytes,
	}
}

// read counts what the package yields.
func read(tb testing.TB, data []byte, opts sessionlog.Options) (counts, sessionlog.Info) {
	tb.Helper()
	log, err := sessionlog.Open(bytes.NewReader(data), &opts)
	if err != nil {
		tb.Fatal(err)
	}
	return readLog(tb, log)
}

func readLog(tb testing.TB, log *sessionlog.Log) (counts, sessionlog.Info) {
	tb.Helper()
	var c counts
	t := transcript.NewTranscript()
	for rec, err := range log.Records() {
		if err != nil {
			tb.Fatal(err)
		}
		c.Messages++
		m := rec.Message.Blocks()
		if rec.Message.Origin() == transcript.OriginTyped && (m.Has(transcript.KindText) || m.Has(transcript.KindImage)) {
			c.Human++
		}
		for _, b := range rec.Message.Blocks().All() {
			switch b := b.(type) {
			case transcript.ToolCall:
				c.Calls++
			case transcript.ToolResult:
				c.Results++
				for _, part := range b.Parts.All() {
					if text, ok := part.(transcript.Text); ok {
						c.Bytes += len(text.Text.String())
					}
				}
				if b.Error {
					c.Errors++
				}
			}
		}
		t.Append(rec.Message)
	}
	if o := t.Orphans(); len(o) > 0 {
		tb.Errorf("%d results answer no call before them", len(o))
	}
	for i := range t.Rounds() {
		round := t.Round(i)
		if len(round.Calls) > 1 {
			c.Parallel++
		}
		for _, call := range round.Calls {
			if !call.Answered {
				c.Unanswered++
			}
		}
	}
	return c, log.Info()
}

// TestCorpus reads every session file of the corpus and compares with a count of its own
// for each format, written over decoded JSON without the package.
func TestCorpus(t *testing.T) {
	byFolder := map[string]struct {
		format sessionlog.Format
		count  func(data []byte) (counts, error)
	}{
		"claude-code": {sessionlog.ClaudeCode, countClaude},
		"codex":       {sessionlog.Codex, countCodex},
		"opencode":    {sessionlog.OpenCode, countOpenCode},
		"gemini-cli":  {"gemini-cli", countGemini},
		"copilot-cli": {"copilot-cli", countCopilot},
		"pi":          {sessionlog.Pi, countPi},
		"openhands":   {"openhands", countOpenHands},
	}
	for _, path := range corpustest.Files(t) {
		rel := filepath.Base(path)
		want, ok := byFolder[filepath.Base(filepath.Dir(filepath.Dir(path)))]
		if !ok {
			want, ok = byFolder[filepath.Base(filepath.Dir(path))]
		}
		if !ok {
			t.Errorf("nobody counts %s", path)
			continue
		}
		t.Run(rel, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			format, err := sessionlog.Detect(bytes.NewReader(data))
			if err != nil || format != want.format {
				t.Fatalf("format %q, want %q (%v)", format, want.format, err)
			}
			exp, err := want.count(data)
			if err != nil {
				t.Fatal(err)
			}
			log, err := sessionlog.Open(bytes.NewReader(data), nil)
			if err != nil {
				t.Fatal(err)
			}
			whole, _ := read(t, data, sessionlog.Options{Abandoned: true, Sidechains: true, Strict: true})
			got, info := read(t, data, sessionlog.Options{Strict: true})
			for i := 1; i < log.Sessions(); i++ {
				c, _ := read(t, data, sessionlog.Options{Session: i})
				whole, got = whole.plus(c), got.plus(c)
			}
			if d := difftest.Values(exp, whole); d != "" {
				t.Errorf("want - own count, got + reader:\n%s", d)
			}
			t.Logf(
				"%v; sessions %d, compactions %d, abandoned %d, model %q", got, log.Sessions(), len(info.Compactions),
				info.Abandoned, info.Model,
			)
			// The path must not lose what the file has: what is off it are commands.
			exp.Messages -= info.Abandoned
			if d := difftest.Values(exp, got); d != "" {
				t.Errorf("the conversation lacks something (- file, + reader):\n%s", d)
			}
		})
	}
}

type object = map[string]any

func jsonLines(data []byte) (all []object, err error) {
	for _, text := range strings.Split(string(data), "\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		var o object
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// dig follows names inwards; what is not there is nil.
func dig(v any, path ...string) any {
	for _, name := range path {
		o, _ := v.(object)
		v = o[name]
	}
	return v
}

func str(v any) string { s, _ := v.(string); return s }
func list(v any) []any { l, _ := v.([]any); return l }
func truth(v any) bool { b, _ := v.(bool); return b }
func number(v any) int { f, _ := v.(float64); return int(f) }

// size is the length of a string, or of the texts in a list of parts.
func size(v any) (n int) {
	n = len(str(v))
	for _, p := range list(v) {
		n += len(str(dig(p, "text")))
	}
	return n
}

func typeOf(v any) string { return str(dig(v, "type")) }
