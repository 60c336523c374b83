package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/recall"
)

var savedTo = regexp.MustCompile(`Full output saved to: (\S+)`)

// The file that a marker names is in the workspace and read_file reads it, in a sub-agent
// too. Its calls may have the same ids: nobody's file is overwritten.
func TestPersistedOutputIsReadBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := workspace(t, dir)
	marker := func(req *model.Request) string {
		m := savedTo.FindStringSubmatch(requestText(req))
		if m == nil {
			t.Errorf("no marker in\n%.500s", requestText(req))
			return "none"
		}
		return m[1]
	}
	var files []string
	gen := model.GeneratorFunc(func(_ context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
		child := req.Messages[0].Text() == "child"
		first := map[bool]int{true: 700_000, false: 500_000}[child]
		switch len(req.Messages) {
		case 1:
			return pleattest.Use(call("same", "bash", `{"command":"seq %d %d"}`, first, first+5_000)).Reply, nil
		case 3:
			files = append(files, marker(req))
			return pleattest.Use(
				call("read", "read_file", `{"path":%q,"offset":5000,"limit":1}`, files[len(files)-1]),
			).Reply, nil
		case 5:
			if got := fmt.Sprint(first + 4_999); !strings.Contains(requestText(req), got) {
				t.Errorf("the file lacks line 5000, %s", got)
			}
			if !child {
				return pleattest.Use(call("task", "task", `{"prompt":"child"}`)).Reply, nil
			}
		}
		return pleattest.Say("done").Reply, nil
	})
	a := newAgent(t, &agent.Options{
		Generator: gen, Tools: agent.StandardTools(w, nil), Permit: agent.AllowAll,
		Session: pleat.Options{Policy: named(t, "four-lever"), KeepFile: w.Keep},
	})
	if res, err := a.Run(t.Context(), "parent"); err != nil || res.Text != "done" {
		t.Fatalf("%+v, %v", res, err)
	}
	want := []string{".task_outputs/tool-results/same.txt", ".task_outputs/tool-results/same-2.txt"}
	if fmt.Sprint(files) != fmt.Sprint(want) {
		t.Fatalf("files %q, want %q", files, want)
	}
	for i, first := range []string{"500000\n", "700000\n"} {
		if data, err := os.ReadFile(filepath.Join(dir, want[i])); err != nil ||
			!strings.HasPrefix(string(data), first) {
			t.Errorf("%s begins with %.10q, %v", want[i], data, err)
		}
	}
}

// Keep does not follow links out of the workspace.
func TestKeepStaysInside(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, ".transcripts")); err != nil {
		t.Skip(err)
	}
	w := workspace(t, dir)
	if name, err := w.Keep(".transcripts/a.jsonl", []byte("x")); err == nil {
		t.Errorf("it wrote %s through a link", name)
	}
}

// The model can snip by itself where its policy snips.
func TestSnipTool(t *testing.T) {
	t.Parallel()
	n := 0
	gen := model.GeneratorFunc(func(_ context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
		n++
		switch {
		case n <= 12:
			return pleattest.Use(call(fmt.Sprint("c", n), "calc", `{"expression":"%d+1"}`, n)).Reply, nil
		case n == 13:
			return pleattest.Use(call("s", "snip", `{"keep":4}`)).Reply, nil
		}
		if got := requestText(req); !strings.Contains(got, "messages from conversation middle]") ||
			!strings.Contains(got, "[snipped: ") ||
			len(req.Messages) > 12 {
			t.Errorf("after the snip the request has %d messages:\n%s", len(req.Messages), got)
		}
		return pleattest.Say("done").Reply, nil
	})
	b := newBench(t, agent.Options{Generator: gen, Session: pleat.Options{Policy: named(t, "four-layer")}})
	run(t, b.Agent, "Count.")
	for _, p := range []fold.Policy{policy.Default(), policy.Book()} {
		for _, d := range newBench(t, agent.Options{Session: pleat.Options{Policy: p}}).Tools() {
			if d.Name == "snip" {
				t.Errorf("%s has the tool snip", p.Name)
			}
		}
	}
}

// Files come back beside a summary as they are in the workspace then, without secrets; a file that was only read can
// be unfolded by its path.
func TestRestoredFromWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) { must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	write("edited.txt", "port = 1\nhost = a\n")
	write("other.txt", "old text\n")
	write("removed.txt", "to be removed\n")
	w := workspace(t, dir)
	pad := strings.Repeat("I think about it, and write what I think. ", 2_000)
	steps := []pleattest.Step{
		pleattest.Use(
			call("1", "read_file", `{"path":"edited.txt"}`), call("2", "read_file", `{"path":"other.txt"}`),
			call("3", "read_file", `{"path":"removed.txt"}`)),
		pleattest.Use(call("4", "edit_file", `{"path":"edited.txt","old":"port = 1","new":"port = 8081"}`)),
		pleattest.Use(call("5", "compact", `{}`)),
		pleattest.Say("done"),
	}
	var last string
	gen := model.GeneratorFunc(func(_ context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
		if len(req.Tools) == 0 {
			return pleattest.Say("<summary>edited.txt, other.txt and removed.txt were read.</summary>").Reply, nil
		}
		step := steps[0]
		if steps = steps[1:]; len(steps) == 1 {
			write("other.txt", "new text\nkey AKIAIOSFODNN7EXAMPLE\n")
			must(t, os.Remove(filepath.Join(dir, "removed.txt")))
		}
		last = requestText(req)
		return step.Reply, nil
	})
	a := newAgent(t, &agent.Options{
		Generator: gen, Tools: agent.StandardTools(w, nil), Permit: agent.AllowAll,
		Session: pleat.Options{
			Policy: named(t, "four-layer"), Digest: digest.Options{Generator: gen, NoBackground: true},
		},
	})
	run(t, a, "Read. "+pad)
	for _, want := range []string{
		"with the changes up to call 4)\n", "port = 8081\nhost = a\n", "this is how it is now)\n", "new text\nkey [",
		"it is no longer there)",
	} {
		if !strings.Contains(last, want) {
			t.Errorf("beside the summary is no %q:\n%s", want, last)
		}
	}
	for path, want := range map[string]string{"path:edited.txt": "port = 8081", "path:other.txt": "old text"} {
		got, err := a.Session().Unfold(t.Context(), recall.UnfoldRequest{Handle: path})
		if err != nil || !strings.Contains(fmt.Sprint(got.Shown), want) {
			t.Errorf("%s unfolds to %v, %v", path, got.Shown, err)
		}
	}
}
