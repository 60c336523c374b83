package client

// Goose is Block's agent. Its tools had their extension before their names until 1.27.
var Goose = add(Profile{
	Name: "Goose",
	Tools: map[Class]string{
		Shell: "developer__shell shell", Editor: "developer__text_editor", List: "developer__tree tree developer__analyze",
		Write: "developer__write write", Edit: "developer__edit edit", Agent: "delegate start_agent",
		Todo: "todo_write todo__todo_write", Look: "chatrecall list_sessions view_session",
		Code: "execute_typescript code_execution__execute_typescript",
	},
	Elements: map[Holds]string{Program: "info-msg"},
	Forms: []Form{{
		Start: "Your context was compacted", Then: ". The previous message contains a summary of the conversation",
	}},
	Refusals: []Quote{{Start: "The user has declined to run this tool. ", None: true}},
})
