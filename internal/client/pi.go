package client

// Pi is Mario Zechner's agent.
var Pi = add(Profile{
	Name: "pi",
	Tools: map[Class]string{
		Shell: "bash", Read: "read", List: "ls", Search: "grep find", Write: "write", Edit: "edit",
	},
	Marks: []Mark{{`<file name="/`, "</file>"}},
	Forms: []Form{
		{Start: "Ran `", Then: "`\n```\n", End: "\n```"}, // a command that a person ran beside the conversation
		{Start: "Ran `", Then: "`\n```\n", End: "\n```\n\n(command cancelled)"},
		{Start: "Ran `", Then: "`\n(no output)", Line: true},
		{Start: "Ran `", Then: "\n```\n\nCommand exited with code ", Line: true},
		{Start: "Ran `", Then: "\n\n[Output truncated. Full output: ", End: "]"},
		{
			Start: "The conversation history before this point was compacted into the following summary:",
			Then:  "<summary>\n", End: "</summary>",
		},
		{
			Start: "The following is a summary of a branch that this conversation came back from:",
			Then:  "<summary>\n", End: "</summary>",
		},
	},
	Result: Envelope{Tails: []string{"Command exited with code "}},
})
