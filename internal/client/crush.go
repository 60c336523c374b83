package client

// Crush is Charm's agent.
var Crush = add(Profile{
	Name: "Crush",
	Tools: map[Class]string{
		Shell: "bash", Poll: "job_output", Stop: "job_kill", Read: "view", List: "ls lsp_symbols",
		Search: "grep glob sourcegraph lsp_references lsp_definition lsp_call_hierarchy", Write: "write download",
		Edit: "edit multiedit lsp_rename lsp_replace_symbol", Fetch: "fetch web_fetch web_search agentic_fetch",
		Agent: "agent", Todo: "todos", Ask: "question", Look: "lsp_diagnostics list_mcp_resources read_mcp_resource",
		Aside: "crush_info crush_logs lsp_restart",
	},
	Elements: map[Holds]string{Program: "system_reminder system_info"},
	Forms: []Form{{
		Start: "The previous session was interrupted because it got too long, the initial user request was: `", End: "`",
	}},
	Refusals: []Quote{{Start: "User denied permission", None: true}},
	Result: Envelope{
		Tails: []string{"Exit code "}, Lines: []string{"<cwd>"}, Failures: []string{"User denied permission"},
	},
})
