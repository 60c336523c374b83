package toolname

import (
	"slices"
	"strings"
)

type agent struct {
	name  string
	tools map[Class]string
}

// has reports whether the agent has a tool of a class by exactly that name.
func (a agent) has(class Class, name string) bool {
	return slices.Contains(strings.Fields(a.tools[class]), name)
}

// agents is the table: one row for each agent, with its tools by what they are. A name may
// stand in several rows, but only in one class. A tool that is in no row is Unknown.
var agents = []agent{
	{"Claude Code", map[Class]string{
		Shell: "Bash PowerShell", Stop: "KillShell KillBash", Poll: "BashOutput TaskOutput AgentOutput",
		Read: "Read NotebookRead", List: "LS LSP", Search: "Grep Glob", Write: "Write",
		Edit:  "Edit MultiEdit NotebookEdit",
		Fetch: "WebFetch WebSearch", Agent: "Task Agent", Todo: "TodoWrite TaskCreate TaskUpdate ExitPlanMode",
		Ask: "AskUserQuestion", Skill: "Skill", Look: "TodoRead TaskList TaskGet ListMcpResources ReadMcpResource",
		Aside: "EnterPlanMode TaskStop ToolSearch",
	}},
	{"Codex", map[Class]string{
		Shell: "shell shell_command exec_command exec container.exec local_shell local_shell_call unified_exec",
		Input: "write_stdin", Read: "read_file view_image", List: "list_dir", Search: "grep_files",
		Patch: "apply_patch", Agent: "spawn_agent wait_agent", Todo: "update_plan", Ask: "request_user_input",
		Aside: "get_goal create_goal update_goal",
	}},
	{"opencode", map[Class]string{
		Shell: "bash", Read: "read", List: "list lsp", Search: "glob grep codesearch", Write: "write",
		Edit:  "edit multiedit",
		Patch: "patch", Fetch: "webfetch websearch", Agent: "task", Todo: "todowrite", Ask: "question", Skill: "skill",
		Look: "todoread", Aside: "plan_enter plan_exit invalid",
	}},
	{"Gemini CLI and Qwen Code", map[Class]string{
		Shell: "run_shell_command", Read: "read_file read_many_files", List: "list_directory",
		Search: "glob search_file_content grep_search", Write: "write_file", Edit: "edit replace",
		Fetch: "google_web_search web_fetch", Todo: "write_todos todo_write exit_plan_mode", Ask: "ask_user",
		Skill: "activate_skill", Memory: "save_memory", Aside: "enter_plan_mode",
	}},
	{"Copilot CLI", map[Class]string{
		Shell: "bash powershell", Input: "write_bash", Stop: "stop_bash", Poll: "read_bash read_agent", Read: "view",
		Search: "glob grep rg", Write: "create", Edit: "edit", Patch: "apply_patch", Fetch: "web_fetch", Agent: "task",
		Todo: "update_todo", Ask: "ask_user", Skill: "skill", Memory: "sql store_memory", Look: "list_bash list_agents",
		Aside: "report_intent fetch_copilot_cli_documentation",
	}},
	{"Copilot in VS Code", map[Class]string{
		Shell: "run_in_terminal", Read: "read_file", List: "list_dir",
		Search: "file_search grep_search semantic_search",
		Write:  "create_file create_directory",
		Edit:   "insert_edit_into_file replace_string_in_file multi_replace_string_in_file edit_notebook_file",
		Fetch:  "fetch_webpage", Agent: "runSubagent", Todo: "manage_todo_list", Look: "get_errors",
	}},
	{"pi", map[Class]string{
		Shell: "bash", Read: "read", List: "ls", Search: "grep find", Write: "write", Edit: "edit",
	}},
	{"Cline and Roo Code", map[Class]string{
		Shell: "execute_command", Read: "read_file", List: "list_files", Search: "search_files codebase_search",
		Write: "write_to_file", Edit: "replace_in_file apply_diff", Browse: "browser_action", Agent: "new_task",
		Todo: "update_todo_list", Ask: "ask_followup_question", Skill: "use_skill",
		Aside: "attempt_completion switch_mode",
	}},
	{"Cursor", map[Class]string{
		Shell: "run_terminal_cmd", Read: "read_file", List: "list_dir",
		Search: "codebase_search grep_search file_search",
		Edit:   "edit_file search_replace edit_notebook", Delete: "delete_file",
		Fetch: "web_search", Todo: "todo_write",
	}},
	{"Continue", map[Class]string{
		Shell:  "run_terminal_command",
		Read:   "read_file",
		List:   "ls view_subdirectory",
		Search: "grep_search file_glob_search",
		Write:  "create_new_file", Edit: "edit_existing_file single_find_and_replace multi_edit",
		Fetch: "search_web fetch_url_content", Look: "view_diff",
	}},
	{"Amp", map[Class]string{
		Shell: "Bash", Read: "Read", List: "list_directory", Search: "Grep glob", Write: "create_file",
		Edit: "edit_file", Agent: "Task", Todo: "todo_write", Look: "todo_read get_diagnostics",
	}},
	{"Goose", map[Class]string{Shell: "developer__shell", Editor: "developer__text_editor"}},
	{"OpenHands and SWE-agent", map[Class]string{
		Shell: "bash execute_bash", Editor: "str_replace_editor", Browse: "browser", Agent: "delegate", Aside: "think",
	}},
	{"pleat", map[Class]string{
		Shell: "bash", Read: "read_file", Search: "glob grep", Write: "write_file", Edit: "edit_file", Agent: "task",
		Todo: "todo_write", Skill: "load_skill", Recall: "unfold search ledger", Note: "note pin compact",
		Aside: "calc",
	}},
	{"providers and others", map[Class]string{
		Shell: "terminal pwsh zsh sh cmd execute run_command",
		Code:  "python ipython execute_code run_code execute_python code_interpreter",
		Read:  "cat view_file open_file read_multiple_files get_file_contents", List: "tree",
		Search: "ripgrep glob_tool find_files find_in_files search_text", Write: "file_write new_file save_file mkdir",
		Edit: "file_edit str_replace insert insert_edit append_file", Delete: "delete remove_file rm",
		Move: "move move_file rename rename_file", Editor: "str_replace_based_edit_tool text_editor",
		Fetch: "fetch fetch_url read_url url_fetch search_web web_reader", Browse: "http_request",
		Agent: "subagent dispatch_agent delegate_task", Todo: "todo todos update_todos set_todos", Memory: "memory",
		Look: "diagnostics", Aside: "sequential_thinking",
	}},
}

// lasting has the shells that keep their folder between calls.
var lasting = map[string]bool{"bash": true, "executebash": true}

// classes is the table by plain name.
var classes = func() map[string]Class {
	byName := make(map[string]Class)
	for _, a := range agents {
		for class, names := range a.tools {
			for name := range strings.FieldsSeq(names) {
				byName[Plain(name)] = class
			}
		}
	}
	return byName
}()
