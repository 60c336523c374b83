package client

// OpenCode is sst's agent.
var OpenCode = add(Profile{
	Name: "opencode",
	Tools: map[Class]string{
		Shell: "bash", Read: "read", List: "list lsp", Search: "glob grep codesearch", Write: "write",
		Edit:  "edit multiedit",
		Patch: "patch", Fetch: "webfetch websearch", Agent: "task", Todo: "todowrite", Ask: "question", Skill: "skill",
		Look: "todoread", Aside: "plan_enter plan_exit invalid",
	},
	Texts: []string{
		"Continue if you have next steps",
		"Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed.",
		"Generate a title for this conversation:",
		"Summarize the task tool output above and continue with your task.",
		"The following tool was executed by the user",
	},
	Forms: []Form{
		{Start: "Called the Read tool with the following input: {", End: "}", Announces: true},
		{Start: "Called the list tool with the following input: {", End: "}", Announces: true},
		{Start: "Reading MCP resource: ", Then: " (", End: ")", Announces: true},
		{Start: "<path>", Then: "</path>\n<type>file</type>\n"},
		{Start: "Read tool failed to read ", Then: " with the following error: "},
		{Start: "Use the above message and context to generate a prompt and call the task tool with subagent: "},
	},
	Refusals: []Quote{{
		Start: "The user rejected permission to use this specific tool call with the following feedback: ",
	}},
	Cleared: []Form{{Start: "[Old tool result content cleared]"}},
})
