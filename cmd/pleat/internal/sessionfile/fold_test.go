package sessionfile

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

// compacted is a Claude Code session whose agent compacted it before its last request, with a request of a sub-agent.
func compacted(rounds int) string {
	var b strings.Builder
	line := func(kind, id, parent, more, content string) {
		fmt.Fprintf(&b, `{"type":%q,"sessionId":"s","cwd":"/shop","uuid":%q,"parentUuid":%s,`+
			`"timestamp":"2026-01-02T10:00:00Z","message":{%s"role":%q,"content":%s}}`+"\n", kind, id, parent, more, kind, content)
	}
	asked := func(id string, input int) string {
		return fmt.Sprintf(`"id":%q,"model":"claude-sonnet-4-5","usage":{"input_tokens":%d,"output_tokens":10},`, id, input)
	}
	line("user", "u", "null", "", `"Mend the parsers."`)
	last := `"u"`
	for i := range rounds {
		id, prompt := fmt.Sprint(i), 20_000+1_000*i
		if i == rounds-1 {
			prompt = 25_000
		}
		line("assistant", "a"+id, last, asked("m"+id, prompt),
			`[{"type":"tool_use","id":"t`+id+`","name":"Read","input":{"file_path":"/shop/`+id+`.go"}}]`)
		line("user", "r"+id, `"a`+id+`"`, "", `[{"type":"tool_result","tool_use_id":"t`+id+`","content":"`+
			strings.Repeat("func parse"+id+"() error { return nil }; ", 100)+`"}]`)
		last = `"r` + id + `"`
	}
	fmt.Fprintf(&b, `{"type":"assistant","isSidechain":true,"sessionId":"s","uuid":"side","parentUuid":null,`+
		`"timestamp":"2026-01-02T10:00:00Z","message":{%s"role":"assistant",`+
		`"content":[{"type":"text","text":"Found."}]}}`+"\n", asked("side", 500_000))
	return b.String()
}

// What a fold takes from requests is measured by the newest one, and a session costs the same at every door, with what
// its sub-agents did.
func TestFiguresOfRequests(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".claude", "projects", "-shop", "s.jsonl")
	difftest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	difftest.Must(t, os.WriteFile(path, []byte(compacted(30)), 0o600))
	var told bytes.Buffer
	env := map[string]string{"HOME": home}
	p := &term.Console{Stdout: &told, Stderr: &told, Getenv: func(v string) string { return env[v] }}
	f, err := Read(t.Context(), p, path, Flags{})
	difftest.Must(t, err)
	o, err := Overview(f, 5, p.Progress())
	difftest.Must(t, err)
	if o.Messages.All != 61 || o.Messages.Sidechain != 1 {
		t.Errorf("%+v", o.Messages)
	}
	lib := library.New(library.Options{Home: home})
	defer lib.Close()
	page, err := lib.List(t.Context(), library.Filter{Count: true})
	if err != nil || len(page.Sessions) != 1 || math.Abs(page.Sessions[0].USD-o.Recorded) > 1e-9 || o.Recorded < 1.5 {
		t.Errorf("listed %+v, %v; show says that it cost %v", page.Sessions, err, o.Recorded)
	}
	r, err := f.Fold(t.Context(), p.Progress(), store.NewMemory(), FoldFlags{Budget: 4_000, Policy: "default"})
	difftest.Must(t, err)
	// Its first request had 20,000 tokens, nearly all beside the messages.
	if got, want := r.Report.Cache.Removed+r.Tokens().After, 5_000; got < want || got > want+20 {
		t.Errorf("%d tokens fewer than in the newest request, to %d; whole %d", r.Report.Cache.Removed,
			r.Tokens().After, r.Report.Whole)
	}
}

// A session that several fold at once, to budgets and with pins of their own, gives each the bytes that it would get
// alone, whatever was folded before, and all handles work.
func TestFoldAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	difftest.Must(t, os.WriteFile(path, []byte(compacted(30)), 0o600))
	p := &term.Console{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	fold := func(st *store.Memory, i int) (string, error) {
		f, err := Read(t.Context(), p, path, Flags{})
		if err != nil {
			return "", err
		}
		flags := FoldFlags{Budget: []term.TokenCount{4_000, 6_000, 100_000}[i%3], Policy: "default"}
		if i%2 == 0 {
			flags.pins = []string{fmt.Sprint("Ticket ", i)}
		}
		r, err := f.Fold(t.Context(), p.Progress(), st, flags)
		if err != nil {
			return "", err
		}
		var out strings.Builder
		if err = r.Write(&out); err == nil {
			err = r.DropEmpty(t.Context(), st)
		}
		for _, f := range r.Report.Folds {
			if _, failed := r.Session.Unfold(t.Context(), recall.UnfoldRequest{Handle: f.Handle}); err == nil {
				err = failed
			}
		}
		return out.String(), err
	}
	const at = 6
	var alone [at]string
	for i := range at {
		var err error
		alone[i], err = fold(store.NewMemory(), i)
		difftest.Must(t, err)
	}
	st := store.NewMemory()
	for range 3 {
		var all sync.WaitGroup
		for i := range at {
			all.Go(func() {
				got, err := fold(st, i)
				if err != nil {
					t.Error(err)
				}
				difftest.Equal(t, alone[i], got, i)
			})
		}
		all.Wait()
	}
}
