// Written by "pleat setup claude --inside"; "pleat setup claude --inside --undo" deletes it.
// When Claude Code compacts, pleat says what becomes of each row: no model is asked, and nothing is lost.
// If pleat cannot, or would save nothing, Claude Code compacts by itself.
const PLEAT = "$PLEAT";

const run = ($, args, input) => $.process.run([PLEAT, ...args], { stdin: JSON.stringify(input ?? {}), timeoutMs: 10_000 });

const sizes = (list, id, text) => Object.fromEntries((list ?? []).map((x) => [x[id], text(x).length]));

// asked is a row as pleat reads it.
const asked = ({ role, text, toolUses, toolResults }) => ({
	role, text,
	calls: sizes(toolUses, "tool_use_id", (u) => JSON.stringify(u.input ?? {})),
	results: sizes(toolResults, "tool_use_id", (r) => r.text),
});

// rebuilt is a row without its handle: Claude Code would file a row that keeps it under the answer before the
// compaction, and a resumed session would begin there again.
const rebuilt = ({ role, text, toolUses, toolResults }, stubs) => ({
	role, text, toolUses,
	toolResults: toolResults?.map((r) => ({ ...r, text: stubs[r.tool_use_id] ?? (r.text || "[an image or a file: read it again to see it]") })),
});

// joined adds a row to those before: what comes from one response has to be one row.
function joined(rows, row) {
	const last = rows.at(-1);
	if (!last || last.handle !== undefined || last.role !== row.role || last.alone || row.alone) return [...rows, row];
	const toolResults = [...(last.toolResults ?? []), ...(row.toolResults ?? [])];
	return [...rows.slice(0, -1), {
		role: row.role, text: [last.text, row.text].filter(Boolean).join("\n\n"), toolUses: [...last.toolUses, ...row.toolUses],
		...(toolResults.length ? { toolResults } : {}),
	}];
}

async function compacted($, e) {
	const { transcriptPath } = await $.session.info();
	const main = transcriptPath.replace(/\.jsonl$/, "");
	const { window } = (await $.session.usage()).context;
	const r = await run($, ["hook", "replace", "--agent", "claude"], {
		session_id: e.agentId ?? (await $.session.id()),
		transcript_path: e.agentId ? `${main}/subagents/agent-${e.agentId}.jsonl` : transcriptPath,
		window, trigger: e.trigger, words: e.instructions ?? "", rows: e.messages.map(asked),
	});
	const a = r.exitCode === 0 && r.stdout ? JSON.parse(r.stdout) : {};
	if (!a.page && !a.stubs) return;
	let messages = [];
	e.messages.forEach((row, i) => {
		if (a.page && i === a.at) messages.push({ role: "user", text: a.page, toolUses: [], alone: true });
		if (a.rows[i] === "drop") return;
		const prompt = row.role === "user" && !row.toolResults?.length;
		messages = prompt ? [...messages, row] : joined(messages, rebuilt(row, a.stubs ?? {}));
	});
	return { messages: messages.map(({ alone, ...row }) => row) };
}

async function recall($, args, session) {
	const r = await run($, session ? [...args, "--session", String(session)] : args);
	return { result: (r.exitCode === 0 ? r.stdout : r.stderr) || "nothing found" };
}

export const register = (on) => {
	on("session.start", async ($, e, next) => {
		const tool = (name, description, properties, required) =>
			$.tool.register({ name, description, isDeferred: false, inputSchema: { type: "object", properties, required } });
		const session = { type: "string", description: "the session that the page names" };
		await tool("unfold", "Shows exactly what a handle stands for that pleat left, such as pyy5jee7.",
			{ handle: { type: "string" }, session }, ["handle"]);
		await tool("search", "Finds lines in all of this session, also in what is folded.",
			{ query: { type: "string" }, session }, ["query"]);
		await tool("ledger", "Lists every call of a session, or the changed files.", { files: { type: "boolean" }, session }, ["session"]);
		return next(e);
	});
	on("tool.call", { tool: "mcp__pleat__ledger" }, async ($, e) =>
		recall($, ["ledger", String(e.session), ...(e.files ? ["--files"] : [])]));
	on("tool.call", { tool: "mcp__pleat__unfold" }, async ($, e) => recall($, ["unfold", String(e.handle)], e.session));
	on("tool.call", { tool: "mcp__pleat__search" }, async ($, e) => recall($, ["search", String(e.query)], e.session));
	on("session.compact", async ($, e, next) => (await compacted($, e)) ?? next(e)).catch(($, e, next) => next(e));
};
