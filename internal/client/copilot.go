package client

// Copilot is GitHub's command line.
var Copilot = add(Profile{
	Name: "Copilot CLI",
	Tools: map[Class]string{
		Shell: "bash powershell", Input: "write_bash", Stop: "stop_bash", Poll: "read_bash read_agent", Read: "view",
		Search: "glob grep rg", Write: "create", Edit: "edit", Patch: "apply_patch", Fetch: "web_fetch", Agent: "task",
		Todo: "update_todo", Ask: "ask_user", Skill: "skill", Memory: "sql store_memory", Look: "list_bash list_agents",
		Aside: "report_intent fetch_copilot_cli_documentation",
	},
	Elements: map[Holds]string{Program: "current_datetime skill-context system_reminder"},
	Requests: []Form{{Start: "[[PLAN]] I want to create an implementation plan.", Then: "\nMy request:"}},
	Result: Envelope{
		Tails:    []string{"<exited with exit code "},
		Failures: []string{"The user denied", "User denied"},
	},
})

// CopilotChat is GitHub's agent in VS Code.
var CopilotChat = add(Profile{
	Name: "Copilot in VS Code",
	Tools: map[Class]string{
		Shell: "run_in_terminal", Read: "read_file", List: "list_dir",
		Search: "file_search grep_search semantic_search",
		Write:  "create_file create_directory",
		Edit:   "insert_edit_into_file replace_string_in_file multi_replace_string_in_file edit_notebook_file",
		Fetch:  "fetch_webpage", Agent: "runSubagent", Todo: "manage_todo_list", Look: "get_errors",
	},
	Elements: map[Holds]string{
		Program: "environment_info workspace_info reminderInstructions editorContext attachments",
		Whole:   "userRequest",
	},
})
