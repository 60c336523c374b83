package client

// Cline has the tools and texts of Cline and of Roo Code. Clients that write tools as text put a line with
// the call above each result, in its block or in the one before.
var Cline = add(Profile{
	Name: "Cline and Roo Code",
	Tools: map[Class]string{
		Shell: "execute_command", Read: "read_file", List: "list_files", Search: "search_files codebase_search",
		Write: "write_to_file", Edit: "replace_in_file apply_diff", Browse: "browser_action", Agent: "new_task",
		Todo: "update_todo_list", Ask: "ask_followup_question", Skill: "use_skill",
		Aside:   "attempt_completion switch_mode plan_mode_respond",
		Unknown: "use_mcp_tool access_mcp_resource",
	},
	Elements: map[Holds]string{
		Program: `environment_details file_content folder_content url_content workspace_diagnostics
			terminal_output git_commit git_working_state mode_notice`,
		Typed: "task feedback answer",
		Whole: "user_message user_input user_command",
	},
	Forms: []Form{
		{Start: "[ERROR] You did not use a tool in your previous response! ", Then: "\n(This is an automated", End: ")"},
		{Start: "[TASK RESUMPTION] This task was interrupted ", Then: " please reassess the task context.", End: "."},
		{Start: "Skipping tool [", End: "] due to user rejecting a previous tool."},
	},
	Headers: []string{"] Result:"},
	Result:  Envelope{Failures: []string{"Tool execution "}},
})
