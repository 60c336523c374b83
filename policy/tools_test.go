package policy_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// results returns the results that a policy shows of a tool that was called n times, perhaps with a command
// after its name.
func results(t *testing.T, p fold.Policy, tool, output string, n int) []string {
	t.Helper()
	s := open(t, store.NewMemory(), &pleat.Options{Policy: p})
	msgs := []transcript.Message{transcript.User("Build it.")}
	name, command, _ := strings.Cut(tool, " ")
	command = cmp.Or(command, "make")
	for i := range n {
		id := string(rune('a' + i))
		msgs = append(msgs, transcript.Assistant(transcript.Call(id, name, `{"command":"`+command+`","path":"`+id+`"}`)),
			transcript.Results(transcript.Result(id, output)))
	}
	add(t, s, msgs...)
	var out []string
	for _, m := range view(t, s) {
		for _, b := range m.Blocks().All() {
			if r, ok := b.(transcript.ToolResult); ok {
				out = append(out, r.Text())
			}
		}
	}
	return out
}

// A tool is treated the same whatever its agent calls it.
func TestToolsOfAllAgents(t *testing.T) {
	long := strings.Repeat("a line of output\n", 2_400) // 40,800 characters: between the limits
	for tool, spilled := range map[string]bool{
		"Bash": true, "bash": true, "execute_command": true, "run_terminal_cmd": true, "shell_command": true,
		"run_in_terminal": true, "read_file": false, "query": false,
	} {
		got := results(t, policy.Default(), tool, long, 1)
		if len(got) != 1 || (got[0] != long) != spilled {
			t.Errorf("%s: a result of %d characters is shown with %d", tool, len(long), len(strings.Join(got, "")))
		}
	}
	output := strings.Repeat("a line of output\n", 20)
	for tool, masked := range map[string]bool{
		"read_file": false,
		"Read":      false,
		"view":      false,
		"Bash":      true,
		"grep":      true,

		"mcp__fs__read_file": false, "mcp__fs__query": true,
		"str_replace_editor view": false, "str_replace_editor create": true,
	} {
		got := results(t, named(t, "four-lever"), tool, output, 5)
		if len(got) != 5 || (got[0] != output) != masked {
			t.Errorf("%s: the oldest of five results is shown as %q", tool, got[0])
		}
	}
}
