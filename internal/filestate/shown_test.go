package filestate

import (
	"testing"

	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

func TestShown(t *testing.T) {
	rough := shown{1, "a\nb\n", true, "it may have left out empty lines at the beginning and the end"}
	tests := []struct {
		name, tool, input, result string
		want                      shown
		ok                        bool
	}{
		{
			"Claude Code", "Read", `{"file_path":"x"}`,
			"     1→a\n     2→\tb\n     3→\n\n<system-reminder>\nWhenever you read\n</system-reminder>\n",
			shown{First: 1, Text: "a\n\tb\n", Ended: true},
			true,
		},
		{
			"Claude Code, a part",
			"Read",
			`{"file_path":"x","offset":8,"limit":2}`,
			"     8→a\n     9→",
			shown{First: 8, Text: "a\n\n"},
			true,
		},
		{
			"Claude Code, tabs",
			"Read",
			`{"file_path":"x","offset":8,"limit":9}`,
			"8\ta\n9\tb\n",
			shown{First: 8, Text: "a\nb\n", Ended: true},
			true,
		},
		{"Claude Code, from line 0", "Read", `{"file_path":"x","offset":0}`, "0\ta\n1\tb\n", shown{}, false},
		{
			"Claude Code, past the end",
			"Read",
			`{"file_path":"x","offset":80}`,
			"<system-reminder>Warning: the file exists but is shorter than the provided offset (80).</system-reminder>",
			shown{},
			false,
		},
		{
			"opencode", "read", `{"filePath":"x"}`,
			"<path>x</path>\n<type>file</type>\n<content>\n1: a\n2: \n\n(End of file - total 2 lines)\n</content>",
			shown{First: 1, Text: "a\n", Ended: true},
			true,
		},
		{
			"opencode, a part", "read", `{"filePath":"x","offset":3,"limit":2}`,
			"<path>x</path>\n<type>file</type>\n<content>\n3: a\n4: b\n\n(Showing lines 3-4 of 9. Use offset=5 to continue.)\n</content>",
			shown{First: 3, Text: "a\nb\n"},
			true,
		},
		{
			"Copilot CLI is not read", "view", `{"path":"x","view_range":[1,260]}`,
			"1. a\n2. b\n\n[Output truncated. Use view_range=[3, ...] to continue reading.]",
			shown{},
			false,
		},
		{
			"OpenHands is not read", "str_replace_editor", `{"command":"view","path":"x","view_range":[6,7]}`,
			"Here's the result of running `cat -n` on x:\n     6\ta\n     7\tb\n",
			shown{},
			false,
		},
		{
			"Gemini CLI, a part, is not read", "read_file", `{"file_path":"x","start_line":2,"end_line":3}`,
			"\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 2-3 of 9 total lines.\nAction: read more.\n\n--- FILE CONTENT (truncated) ---\na\nb\n",
			shown{},
			false,
		},
		{"Gemini CLI and pi", "read", `{"path":"x"}`, "a\n1. b\n", shown{First: 1, Text: "a\n1. b\n", Ended: true}, true},
		{
			"pi, a part, is not read",
			"read",
			`{"path":"x","limit":2}`,
			"a\nb\n\n[7 more lines in file. Use offset=3 to continue.]",
			shown{},
			false,
		},
		{
			"pleat",
			"read_file",
			`{"path":"x"}`,
			"[read \"x: lines 1-2 of 2; y\": lines 3-4 of 9; sha256 0]\na\nb\n[more: offset 5]\n",
			shown{First: 3, Text: "a\nb\n"},
			true,
		},
		{
			"Codex", "shell_command", `{"command":"sed -n '3,5p' x"}`,
			"Exit code: 0\nWall time: 0.1 seconds\nOutput:\n\na\nb\n",
			shown{First: 3, Text: "\na\nb\n"},
			true,
		},
		{
			"Codex, to the end",
			"exec_command",
			`{"cmd":"nl -ba x | sed -n '3,9p'"}`,
			"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n     3\ta\n     4\tb\n",
			shown{First: 3, Text: "a\nb\n", Ended: true},
			true,
		},
		{
			"Codex, more than one",
			"shell_command",
			`{"command":"pwd; cat x"}`,
			"Exit code: 0\nWall time: 0.1 seconds\nOutput:\n/\na\n",
			shown{},
			false,
		},
		{"empty lines taken off", "Bash", `{"command":"sed -n '3,9p' x"}`, "a\nb", shown{}, false},
		{"numbers of the file", "read", `{"path":"x"}`, "1. Install\n2. Run\n", shown{}, false},
		{"numbers of the file, tabs", "read_file", `{"path":"x"}`, "1\ta\n2\tb\n", shown{}, false},
		{
			"numbers of the file after others",
			"Read",
			`{"file_path":"x"}`,
			"     1→1. a\n     2→2. b\n",
			shown{First: 1, Text: "1. a\n2. b\n", Ended: true},
			true,
		},
		{
			"a reminder in the file", "Read", `{"file_path":"x"}`,
			"     1→<system-reminder>\n     2→b\n\n<system-reminder>\nx\n</system-reminder>\n\n<system-reminder>\nno <system-reminder> y\n</system-reminder>\n",
			shown{First: 1, Text: "<system-reminder>\nb\n", Ended: true},
			true,
		},
		{
			"a reminder that may be in the file",
			"read",
			`{"path":"x"}`,
			"a\n<system-reminder>\nb\n</system-reminder>\n",
			shown{},
			false,
		},
		{"all of it, empty lines taken off", "Bash", `{"command":"cat x"}`, "a\nb", rough, true},
		{
			"all of it, with numbers",
			"Bash",
			`{"command":"cat -n x"}`,
			"1\ta\n     2\tb",
			shown{First: 1, Text: "a\nb\n", Ended: true},
			true,
		},
		{
			"all of it, as it is",
			"shell_command",
			`{"command":"cat x"}`,
			"Exit code: 0\nWall time: 0.1 seconds\nOutput:\n\na\n",
			shown{First: 1, Text: "\na\n", Ended: true},
			true,
		},
		{"a range, all of it", "Bash", `{"command":"sed -n '3,4p' x"}`, "a\nb", shown{First: 3, Text: "a\nb\n"}, true},
		{"a script's own numbers", "Bash", `{"command":"cat -A x"}`, "a$\n", shown{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			call := transcript.ToolCall{ID: "1", Name: tt.tool, Input: transcript.Plain(tt.input)}
			facts := toolcall.DescribeCall(call)
			if len(facts.Paths) != 1 {
				t.Fatalf("paths: %v", facts.Paths)
			}
			got, ok := shownBy(&facts, tt.result)
			if ok != tt.ok || ok && got != tt.want {
				t.Errorf("got %+v, %v; want %+v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}
