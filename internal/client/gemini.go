package client

// Gemini is Google's Gemini CLI.
var Gemini = add(Profile{
	Name: "Gemini CLI",
	Tools: map[Class]string{
		Shell: "run_shell_command", Read: "read_file read_many_files", List: "list_directory",
		Search: "glob search_file_content grep_search", Write: "write_file", Edit: "edit replace",
		Fetch: "google_web_search web_fetch", Todo: "write_todos exit_plan_mode", Ask: "ask_user",
		Skill: "activate_skill", Memory: "save_memory", Aside: "enter_plan_mode",
	},
	Elements: map[Holds]string{Program: "session_context"},
	Marks:    []Mark{referenced},
	Texts: []string{
		"First, reason in your <analysis> block. Then, produce the <state_snapshot> XML.",
		"System: Please continue.",
	},
	Forms: []Form{{
		Start: "This is the Gemini CLI. We are setting up the context for our chat.\n", Then: "\nMy operating system is: ",
	}},
	Cleared: []Form{{Start: "<tool_output_masked>\n", End: "\n</tool_output_masked>"}},
	Result: Envelope{
		Heads:    []string{"Exit Code: "},
		Tails:    []string{"Exit Code: "},
		Lines:    []string{"Command: ", "Directory: ", "Process Group PGID: ", "Stdout:", "Stderr:", "(no output)"},
		Failures: []string{"[Operation Cancelled]", "Error executing tool"},
	},
})

// referenced is around the files that a client appends because the person named them.
var referenced = Mark{"--- Content from referenced files ---", "--- End of content ---"}
