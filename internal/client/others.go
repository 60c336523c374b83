package client

// OpenHands has the tools of OpenHands and of SWE-agent.
var OpenHands = add(Profile{
	Name: "OpenHands and SWE-agent",
	Tools: map[Class]string{
		Shell: "bash execute_bash", Editor: "str_replace_editor", Browse: "browser", Agent: "delegate", Aside: "think",
	},
	Elements: map[Holds]string{Program: "RUNTIME_INFORMATION SYSTEM_NOTICE"},
	Result: Envelope{
		Tails: []string{
			"The command completed with exit code ", "[Command finished with exit code ", "Command failed with exit code ",
		},
	},
})

// Pleat is the agent of this module.
var Pleat = add(Profile{
	Name: "pleat",
	Tools: map[Class]string{
		Shell: "bash", Read: "read_file", Search: "glob grep", Write: "write_file", Edit: "edit_file", Agent: "task",
		Todo: "todo_write", Skill: "load_skill", Recall: "unfold search ledger", Note: "note pin compact",
	},
	Result: Envelope{Heads: []string{"exit code: "}, Tails: []string{"[exit code: ", "(exit code "}},
})

// Others has the tools of providers, and of programs with no other row.
var Others = add(Profile{
	Name: "providers and others",
	Tools: map[Class]string{
		Shell: "terminal pwsh zsh sh cmd execute run_command",
		Code:  "python ipython execute_code run_code execute_python code_interpreter",
		Read:  "cat view_file open_file read_multiple_files get_file_contents", List: "tree",
		Search: "ripgrep glob_tool find_files find_in_files search_text", Write: "file_write new_file save_file mkdir",
		Edit: "file_edit str_replace insert insert_edit append_file", Delete: "delete remove_file rm",
		Move: "move move_file rename rename_file", Editor: "str_replace_based_edit_tool text_editor",
		Fetch: "fetch fetch_url read_url url_fetch search_web web_reader", Browse: "http_request",
		Agent: "subagent dispatch_agent delegate_task", Todo: "todo todos update_todos set_todos", Memory: "memory",
		Look: "diagnostics", Aside: "sequential_thinking",
	},
	Result: Envelope{
		Heads: []string{"Exit code: ", "exit_code: ", "Command failed with exit code "},
		Tails: []string{"[Exit code: "},
		Lines: []string{"Traceback (most recent call last):"},
		Failures: []string{
			"Error calling tool", "MCP error ", "Failed to apply patch", "User rejected",
		},
	},
})
