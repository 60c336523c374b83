// Written by "pleat setup pi --inside"; "pleat setup pi --inside --undo" deletes it.
// When the window fills, pleat folds old results, for good: pi's file has the edits and the results. When pi compacts,
// or folded results are not enough, a page of pleat's is the summary. If pleat cannot, pi goes on as without it.
import { spawn } from "node:child_process";

function hook(input, cwd, signal) {
	return new Promise((resolve) => {
		let out = "";
		const child = spawn("$PLEAT", ["hook", "replace", "--agent", "pi"], { cwd, signal, timeout: 10000, windowsHide: true });
		child.on("error", () => resolve({}));
		child.on("close", () => {
			try {
				resolve(JSON.parse(out));
			} catch {
				resolve({});
			}
		});
		child.stdout.on("data", (data) => (out += data));
		child.stdin.on("error", () => {});
		child.stdin.end(JSON.stringify(input));
	});
}

// row is an entry of pi's as pleat reads it.
function row({ messages }) {
	const r = { role: messages[0]?.role === "assistant" ? "assistant" : "user", text: "", calls: {}, results: {} };
	for (const m of messages) {
		const parts = Array.isArray(m.content) ? m.content : [{ text: m.content ?? m.summary }];
		const text = parts.map((p) => p.text ?? p.thinking ?? "").join("\n");
		if (m.role === "toolResult") r.results[m.toolCallId] = text.length;
		else r.text += text;
		for (const p of parts) if (p.type === "toolCall") r.calls[p.id] = JSON.stringify(p.arguments ?? {}).length;
	}
	return r;
}

const session = (ctx, more) => ({
	session_id: ctx.sessionManager.getSessionId(),
	transcript_path: ctx.sessionManager.getSessionFile(),
	window: ctx.model?.contextWindow,
	...more,
});

export default (pi) => {
	pi.on("turn_end", async (event, ctx) => {
		const window = ctx.model?.contextWindow ?? 0;
		const used = ctx.getContextUsage?.()?.tokens ?? 0;
		if (used < window / 2 || !ctx.sessionManager.getSessionFile()) return;
		const list = event.context.contextEntries;
		const a = await hook(session(ctx, { used, rows: list.map(row) }), ctx.cwd, ctx.signal);
		const entries = [];
		if (a.page) {
			const kept = list.find((_, i) => a.rows[i] !== "drop");
			if (!kept) return;
			entries.push({ type: "compaction", summary: a.page, firstKeptEntryId: kept.sourceEntry.id, tokensBefore: used });
		}
		list.forEach(({ sourceEntry, messages }, i) => {
			const stub = a.rows?.[i] === "stub" && a.stubs[messages[0].toolCallId];
			if (stub) entries.push({ type: "context_edit", targetId: sourceEntry.id, replacement: { content: [{ type: "text", text: stub }] } });
		});
		return entries.length ? { entries: [...event.entries, ...entries] } : undefined;
	});
	pi.on("session_before_compact", async (event, ctx) => {
		if (!ctx.sessionManager.getSessionFile()) return;
		const input = session(ctx, { trigger: event.reason ?? "auto", words: event.customInstructions });
		const answer = await hook(input, ctx.cwd, event.signal);
		if (!answer.page) return;
		const { firstKeptEntryId, tokensBefore } = event.preparation;
		return { compaction: { summary: answer.page, firstKeptEntryId, tokensBefore, details: { session: answer.session } } };
	});
};
