package client

// Cursor is an editor.
var Cursor = add(Profile{
	Name: "Cursor",
	Tools: map[Class]string{
		Shell: "run_terminal_cmd", Read: "read_file", List: "list_dir",
		Search: "codebase_search grep_search file_search",
		Edit:   "edit_file search_replace edit_notebook", Delete: "delete_file",
		Fetch: "web_search", Todo: "todo_write",
	},
	Elements: map[Holds]string{
		Program: `additional_data open_and_recently_viewed_files attached_files user_info project_layout git_status
			system_reminder`,
		Whole: "user_query",
	},
})

// Continue is an extension of editors.
var Continue = add(Profile{
	Name: "Continue",
	Tools: map[Class]string{
		Shell:  "run_terminal_command",
		Read:   "read_file",
		List:   "ls view_subdirectory",
		Search: "grep_search file_glob_search",
		Write:  "create_new_file", Edit: "edit_existing_file single_find_and_replace multi_edit",
		Fetch: "search_web fetch_url_content", Look: "view_diff",
	},
})

// Amp is Sourcegraph's agent.
var Amp = add(Profile{
	Name: "Amp",
	Tools: map[Class]string{
		Shell: "Bash", Read: "Read", List: "list_directory", Search: "Grep glob", Write: "create_file",
		Edit: "edit_file", Agent: "Task", Todo: "todo_write", Look: "todo_read get_diagnostics",
	},
})
