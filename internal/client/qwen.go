package client

// Qwen is Qwen Code.
var Qwen = add(Profile{
	Name: "Qwen Code",
	Tools: map[Class]string{
		Shell: "run_shell_command", Read: "read_file read_many_files", List: "list_directory",
		Search: "glob search_file_content grep_search", Write: "write_file", Edit: "edit replace",
		Fetch: "web_fetch", Todo: "todo_write exit_plan_mode", Ask: "ask_user",
		Skill: "skill activate_skill", Memory: "save_memory", Aside: "enter_plan_mode",
	},
	Elements: map[Holds]string{Program: "system-reminder skill"},
	Marks:    []Mark{referenced},
	Cleared:  []Form{{Start: "[Old tool result content cleared]"}},
	Result:   Envelope{Reminders: []string{"system-reminder"}},
})
