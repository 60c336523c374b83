package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/anthropic"
	"github.com/pleat-dev/pleat/sqlite"
)

var demoCommand = command{
	name:    "demo",
	summary: "watch a long session stay inside a small window",
	help: `Plays a made-up session of 40 steps (files read, commands run, a file changed) through the
engine with a window of 8,000 tokens and a real store in a temporary folder. You see the
meter rise and fall, every fold, a legal request at each step, and at the end an early
result that was folded long ago, found by search and given back byte for byte.

No model, no key and no server are involved; the session is a script.`,
	run: func(ctx context.Context, p *program, args []string) error {
		if len(args) > 0 {
			return usageError{"demo takes no arguments"}
		}
		dir, err := os.MkdirTemp("", "pleat-demo-")
		if err != nil {
			return fmt.Errorf("make a temporary folder: %w", err)
		}
		defer os.RemoveAll(dir)
		store, err := sqlite.Open(filepath.Join(dir, "pleat.db"), nil)
		if err != nil {
			return err
		}
		defer store.Close()
		return demo(ctx, p, store)
	},
}

const demoTask = "Find out why uploads fail and fix it. Never change anything under legacy/: it is frozen for the audit."

func demo(ctx context.Context, p *program, store pleat.Store) error {
	folds := 0
	s, err := pleat.OpenSession(ctx, store, pleat.SessionKey{Session: "demo"}, &pleat.Options{
		Budget: pleat.Budget{Window: 8_000, Output: pleat.Tokens(1_000), Yellow: pleat.Share(0.6), Red: pleat.Share(0.8)},
		System: "You are a careful engineer. You work in the current folder.",
		Check:  anthropic.Checker(pleat.Model{}),
		Observe: func(e pleat.Event) {
			switch e.Kind {
			case pleat.EventFold, pleat.EventDigest:
				folds++
				fmt.Fprintf(p.stdout, "    folded by %-9s %6d → %4d tokens   unfold %s\n", e.Fold.Lever, e.Fold.Before, e.Fold.After, e.Fold.Handle)
			}
		},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "A scripted session in a window of 8,000 tokens.\n\nuser: %s\n\n", demoTask)
	if err := s.Append(ctx, pleat.User(demoTask)); err != nil {
		return err
	}
	for i, step := range demoSteps() {
		id := fmt.Sprintf("call_%d", i+1)
		err := s.Append(ctx,
			pleat.Assistant(pleat.Say(step.say), pleat.Call(id, step.tool, step.input)),
			pleat.Results(pleat.Result(id, step.result)))
		if err != nil {
			return err
		}
		before := s.Snapshot()
		meter(p, i+1, step, before)
		if _, err := s.View(ctx, pleat.Turn{}); err != nil {
			return err
		}
		if after := s.Snapshot(); after.Epoch > before.Epoch {
			meter(p, i+1, demoStep{say: "after folding"}, after)
		}
	}
	return demoEnd(ctx, p, s, folds)
}

func meter(p *program, n int, step demoStep, snap pleat.Snapshot) {
	filled := min(int(snap.Utilization*30), 30)
	bar := strings.Repeat("█", filled) + strings.Repeat("░", 30-filled)
	fmt.Fprintf(p.stdout, "%3d [%s] %3.0f%% %-6s %s\n", n, bar, 100*snap.Utilization, snap.State, step.say)
}

// demoEnd shows what the model would be sent now, and gets an early result back.
func demoEnd(ctx context.Context, p *program, s *pleat.Session, folds int) error {
	v, err := s.View(ctx, pleat.Turn{})
	if err != nil {
		return err
	}
	msgs, err := v.Resolve(s.Message)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\nThe page that stands for the folded turns:\n\n")
	for _, m := range msgs {
		if m.Origin() == pleat.OriginInjected {
			fmt.Fprintln(p.stdout, indent(m.Text()))
		}
	}
	found, err := s.Search(ctx, pleat.SearchRequest{Queries: []string{"upload size limit bytes"}, Hits: 1})
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\nsearch(\"upload size limit bytes\"):\n%s\n", indent(found.Text()))
	r := s.Report()
	exact := 0
	for _, f := range r.Folds {
		u, err := s.Unfold(ctx, pleat.UnfoldRequest{Handle: f.Handle})
		if err != nil {
			return err
		}
		if pleat.HashOf(u.Whole()) == f.Hash {
			exact++
		}
	}
	fmt.Fprintf(p.stdout, "\n%d messages, %d tokens in all; %d shown. %d folds made in %d epochs; %d of the %d in force unfolded, byte for byte.\n",
		r.Messages, r.Whole, r.Snapshot.Tokens, folds, len(r.Epochs), exact, len(r.Folds))
	return nil
}

func indent(s string) string {
	return "  │ " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  │ ")
}

// demoStep is one round of the script.
type demoStep struct{ say, tool, input, result string }

func demoSteps() []demoStep {
	steps := []demoStep{
		{"I start with the configuration.", "read_file", `{"path":"config/server.toml"}`, "[server]\nport = 8081\nupload_limit_bytes = 1048576   # the upload size limit\nworkers = 4\n" + filler("config", 40)},
		{"Now the handler.", "read_file", `{"path":"src/upload.go"}`, filler("upload handler", 120)},
		{"I run the tests.", "bash", `{"command":"go test ./..."}`, filler("test output", 30) + "--- FAIL: TestLargeUpload (0.02s)\n    upload_test.go:41: got status 413, want 201\nFAIL\nexit status 1\n"},
	}
	for i := range 30 {
		name := fmt.Sprintf("src/part%02d.go", i)
		steps = append(steps, demoStep{"Looking at " + name + ".", "read_file", `{"path":"` + name + `"}`, filler(name, 60+i*7%50)})
	}
	return append(steps,
		demoStep{"The limit is the cause: 1 MB, while the test sends 5 MB. I raise it, because the client allows 10 MB.", "edit_file", `{"path":"config/server.toml","old":"upload_limit_bytes = 1048576","new":"upload_limit_bytes = 10485760"}`, "edited config/server.toml"},
		demoStep{"I run the tests again.", "bash", `{"command":"go test ./..."}`, "ok  \texample/upload\t0.41s\n"},
		demoStep{"Done: uploads up to 10 MB work and the tests pass.", "bash", `{"command":"git diff --stat"}`, " config/server.toml | 2 +-\n"},
	)
}

func filler(about string, lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%4d\t// %s, line %d: nothing here is about the failure\n", i+1, about, i+1)
	}
	return b.String()
}
