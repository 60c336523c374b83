package agent_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/transcript"
)

// Ways out of the workspace, all of them refused for reading and for writing.
func TestEscapesAreRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need rights there")
	}
	b := newBench(t, agent.Options{Permit: agent.AllowAll})
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.txt")
	write(t, secret, "the secret\n")
	link := func(to, name string) {
		must(t, os.Symlink(to, filepath.Join(b.dir, name)))
	}
	b.file(t, "in/side.txt", "inside\n")
	link(secret, "file-link")
	link(outside, "dir-link")
	link(filepath.Join("..", filepath.Base(outside), "secret.txt"), "relative-link")
	link("dir-link", "link-to-link")
	link(filepath.Join(outside, "not-there-yet"), "dangling")
	link("loop", "loop")
	link(filepath.Join(b.dir, "in"), "absolute-but-inside")
	rel, err := filepath.Rel(b.dir, secret)
	must(t, err)
	for _, path := range []string{
		secret, rel, "../" + filepath.Base(b.dir) + "/../x", "in/../../x", "/etc/passwd", "..", "file-link",
		"dir-link/secret.txt", "dir-link/new.txt",
		"relative-link", "link-to-link/secret.txt", "dangling", "dangling/x", "loop", "dir-link",
		"in/../dir-link/secret.txt", "", "a\x00b",
	} {
		for _, c := range []transcript.ToolCall{
			call("", "read_file", `{"path":%q}`, path), call("", "write_file", `{"path":%q,"content":"x"}`, path),
			call("", "edit_file", `{"path":%q,"old":"secret","new":"x"}`, path),
		} {
			c.Input = transcript.Plain(strings.ReplaceAll(c.Input.String(), `\x00`, `\u0000`))
			if r := b.do(t, c)[0]; !r.Error || strings.Contains(r.Text(), "the secret") {
				t.Errorf("%s %q was answered with %q", c.Name, path, r.Text())
			}
		}
	}
	wants(t, b.do(t, call("", "read_file", `{"path":"dir-link/secret.txt"}`))[0], true,
		"a symbolic link in it leads outside of the workspace")
	wants(t, b.do(t, call("", "read_file", `{"path":"/etc/passwd"}`))[0], true, "outside of the workspace ("+b.dir)
	wants(t, b.do(t, call("", "grep", `{"pattern":"secret"}`))[0], false, "no line matches")
	wants(t, b.do(t, call("", "glob", `{"pattern":"**"}`))[0], false, "in/side.txt\n")
	wants(t, b.do(t, call("", "grep", `{"pattern":"x","path":".."}`))[0], true, "outside of the workspace")
	// What is inside may be reached by any name.
	for _, path := range []string{
		"in/side.txt", "./in/../in/side.txt", filepath.Join(b.dir, "in/side.txt"), "absolute-but-inside/side.txt",
	} {
		r := b.do(t, call("", "read_file", `{"path":%q}`, path))[0]
		if r.Error || !strings.Contains(r.Text(), "in/side.txt") {
			t.Errorf("%s was answered with %q", path, r.Text())
		}
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside there are %v, %v", entries, err)
	}
	if data, _ := os.ReadFile(secret); string(data) != "the secret\n" {
		t.Errorf("the secret is now %q", data)
	}
}

func TestOtherFoldersMayBeAllowed(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	write(t, filepath.Join(other, "a.txt"), "other\n")
	w := workspace(t, dir, other)
	b := &bench{script: &pleattest.Script{}}
	o := agent.Options{
		Generator: b.script,
		Tools:     agent.StandardTools(w, nil),
		Permit:    agent.Rules{Allow: []string{"write_file(src/**)"}}.Permit(nil),
	}
	b.Agent = newAgent(t, &o)
	wants(t, b.do(t, call("", "read_file", `{"path":%q}`, filepath.Join(other, "a.txt")))[0], false, "other\n")
	wants(t, b.do(t, call("", "write_file", `{"path":%q,"content":"x"}`, filepath.Join(other, "b.txt")))[0], true,
		"[denied]")
	wants(t, b.do(t, call("", "write_file", `{"path":"src/b.txt","content":"x"}`))[0], false, "[wrote src/b.txt")
	if runtime.GOOS == "windows" {
		return
	}
	// A link within the workspace does not carry a rule to where it does not apply.
	must(t, os.MkdirAll(filepath.Join(dir, "private"), 0o755))
	must(t, os.Symlink("../private", filepath.Join(dir, "src", "door")))
	wants(t, b.do(t, call("", "write_file", `{"path":"src/door/b.txt","content":"x"}`))[0], true, "[denied]")
	if _, err := agent.OpenWorkspace(filepath.Join(dir, "none")); err == nil {
		t.Error("a workspace that is not there was opened")
	}
}

// What a call would change follows from its tool, not from the arguments that happen to be
// there, and nothing outside of the workspace is read for it.
func TestChange(t *testing.T) {
	t.Parallel()
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret.txt")
	for path, text := range map[string]string{filepath.Join(dir, "a.txt"): "one\n", secret: "the secret\n"} {
		write(t, path, text)
	}
	w := workspace(t, dir)
	for _, c := range []struct {
		tool, input string
		want        agent.Change
		ok          bool
	}{
		{
			"write_file", `{"path":"a.txt","content":"two\n","old":"x","new":"y","all":true}`,
			agent.Change{Before: "one\n", After: "two\n"},
			true,
		},
		{"write_file", `{"path":"new.txt","content":""}`, agent.Change{}, true},
		{
			"write_file", `{"path":"` + filepath.ToSlash(secret) + `","content":"two\n"}`,
			agent.Change{After: "two\n"},
			true,
		},
		{"write_file", `{"path":"a.txt","old":"x","new":"y"}`, agent.Change{}, false},
		{
			"edit_file", `{"path":"a.txt","old":"one","new":"rm","all":true,"content":"one\n"}`,
			agent.Change{Before: "one", After: "rm", All: true},
			true,
		},
		{"edit_file", `{"path":"a.txt","content":"two\n"}`, agent.Change{}, false},
		{"bash", `{"command":"rm a.txt","path":"a.txt","content":"one\n"}`, agent.Change{}, false},
	} {
		if got, ok := w.Change(agent.Call{Name: c.tool, Input: c.input}); got != c.want || ok != c.ok {
			t.Errorf("%s %s: %+v, %v", c.tool, c.input, got, ok)
		}
	}
}
