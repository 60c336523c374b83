package client

// Codex is OpenAI's agent.
var Codex = add(Profile{
	Name: "Codex",
	Tools: map[Class]string{
		Shell: "shell shell_command exec_command exec container.exec local_shell local_shell_call unified_exec",
		Input: "write_stdin", Read: "read_file view_image", List: "list_dir", Search: "grep_files",
		Patch: "apply_patch", Agent: "spawn_agent wait_agent", Todo: "update_plan", Ask: "request_user_input",
		Aside: "get_goal create_goal update_goal",
	},
	Elements: map[Holds]string{
		Program: `environment_context user_instructions user_shell_command turn_aborted subagent_notification
			model_switch collaboration_mode skill`,
	},
	Texts: []string{"<image>", "</image>"},
	Forms: []Form{
		{Start: "# AGENTS.md instructions for ", Then: "\n\n<INSTRUCTIONS>\n", End: "</INSTRUCTIONS>"},
		{Start: "<image name=", End: ">", Line: true},
		{
			Start: "Another language model started to solve this problem and produced a summary of its thinking process.",
			Then:  " Here is the summary produced by the other language model",
		},
		{
			Start: "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for ",
			Then:  "\n\nInclude:\n",
		},
	},
	Requests: []Form{
		{Start: "# Files mentioned by the user:", Then: "\n## My request for Codex:"},
		{Start: "# Context from my IDE setup:", Then: "\n## My request for Codex:"},
	},
	Stops: []string{"<turn_aborted>"},
	Result: Envelope{
		Heads:    []string{"Exit code: ", "Process exited with code "},
		Lines:    []string{"Wall time: ", "Chunk ID: ", "Original token count: ", "Total output lines: ", "Output:"},
		Failures: []string{"apply_patch verification failed", "patch rejected"},
	},
})
