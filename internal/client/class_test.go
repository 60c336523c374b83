package client

import (
	"slices"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for name, want := range map[string]Class{
		"Bash": Shell, "bash": Shell, "execute_command": Shell, "run_terminal_cmd": Shell, "shell_command": Shell,
		"functions.exec_command": Shell, "container.exec": Shell, "developer__shell": Shell,
		"Read": Read, "read_file": Read, "ReadFile": Read, "list_dir": List, "tree": List,
		"search_file_content": Search,
		"write_to_file":       Write, "MultiEdit": Edit, "str_replace_based_edit_tool": Editor, "apply_patch": Patch,
		"TodoWrite": Todo, "update_plan": Todo, "ExitPlanMode": Todo, "AskUserQuestion": Ask, "Task": Agent,
		"unfold": Recall, "pin": Note, "load_skill": Skill, "write_stdin": Input, "BashOutput": Poll,
		"mcp__fs__read_file": Read, "mcp__fs__write_file": Unknown, "mcp__x__ask_user": Unknown,
		"mcp__db__query": Unknown, "": Unknown, strings.Repeat("bash", 100): Unknown,
	} {
		if got := Of(name); got != want {
			t.Errorf("Of(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestAsks(t *testing.T) {
	for name, want := range map[string]bool{
		"AskUserQuestion": true, "ask_user": true, "question": true,
		"ask_user_question": false, "AskUser": false, "mcp__x__question": false, "Bash": false, "": false,
	} {
		if got := Asks(name); got != want {
			t.Errorf("Asks(%q) = %v", name, got)
		}
	}
}

// TestTable looks for names that two rows, or one, take for different things.
func TestTable(t *testing.T) {
	seen := make(map[string]Class)
	for _, a := range profiles {
		for class, names := range a.Tools {
			for name := range strings.FieldsSeq(names) {
				before, known := seen[Plain(name)]
				if known && before != class {
					t.Errorf("%s: %s is both %v and %v", a.Name, name, before, class)
				}
				seen[Plain(name)] = class
			}
		}
	}
	for class := range Class(len(classNames)) {
		if !slices.Contains(Classes(), "@"+class.String()) {
			t.Errorf("class %v cannot be named in a policy", class)
		}
	}
	for _, name := range []string{"bash", "Bash", "execute_bash"} {
		if Of(name) != Shell || !KeepsDir(name) {
			t.Errorf("%s keeps its folder and is no shell", name)
		}
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"@shell", "run_terminal_cmd", true},
		{"@read", "Read", true},
		{"@read", "Grep", false},
		{"@unknown", "query", true},
		{"read_file", "ReadFile", true},
		{"read_file", "Read", false},
		{"shell", "Bash", false},
		{"query", "query", true},
	}
	for _, test := range tests {
		if got := Match(test.pattern, test.name); got != test.want {
			t.Errorf("Match(%q, %q) = %v", test.pattern, test.name, got)
		}
		if got := MatchAny([]string{"nothing", test.pattern}, test.name); got != test.want {
			t.Errorf("MatchAny(%q, %q) = %v", test.pattern, test.name, got)
		}
	}
	for pattern, want := range map[string]bool{
		"@read":    true,
		"anything": true,
		"@":        false,
		"@reads":   false,
		"@unknown": true,
	} {
		if got := IsPattern(pattern); got != want {
			t.Errorf("IsPattern(%q) = %v", pattern, got)
		}
	}
}
