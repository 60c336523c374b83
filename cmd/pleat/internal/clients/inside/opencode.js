// Written by "pleat setup opencode --inside"; "pleat setup opencode --inside --undo" deletes it.
// When the window fills, pleat says what is sent of each message: old results as stubs, old turns as a page.
// opencode's own record stays whole. If it compacts all the same, pleat's page follows its summary.
import { spawn } from "node:child_process";

function hook(input, cwd, timeout) {
	return new Promise((resolve) => {
		let out = "";
		const child = spawn("$PLEAT", ["hook", "replace", "--agent", "opencode"], { cwd, timeout, windowsHide: true });
		child.on("error", () => resolve(undefined));
		child.on("close", () => {
			try {
				resolve(JSON.parse(out));
			} catch {
				resolve(undefined);
			}
		});
		child.stdout.on("data", (data) => (out += data));
		child.stdin.on("error", () => {});
		child.stdin.end(JSON.stringify(input));
	});
}

const prompt = ({ tokens: t }) => (t ? t.input + t.cache.read + t.cache.write : 0);

// row is a message as pleat reads it.
function row({ info, parts }) {
	const r = { role: info.role, text: parts.map((p) => p.text ?? "").join("\n"), calls: {}, results: {} };
	for (const p of parts.filter((p) => p.type === "tool")) {
		r.calls[p.callID] = JSON.stringify(p.state.input ?? {}).length;
		r.results[p.callID] = (p.state.output ?? "").length;
	}
	return r;
}

export const Pleat = async ({ client, directory }) => {
	const pages = new Map(); // by session: the page of a compaction of opencode's that is under way
	const answers = new Map(); // by session: what pleat said last, and of which messages
	const limits = new Map(); // by model: what a request may have
	let asks = true; // until pleat cannot

	async function limit({ providerID, modelID }) {
		const model = providerID + "/" + modelID;
		if (!limits.size) {
			const { data } = await client.config.providers();
			for (const p of data.providers)
				for (const m of Object.values(p.models))
					limits.set(p.id + "/" + m.id, m.limit.input ?? m.limit.context - Math.min(m.limit.output, 32000));
		}
		return limits.get(model) || 0;
	}

	// answer is what pleat says of messages that are about to be sent.
	async function answer(messages) {
		const last = messages.findLast(({ info }) => info.role === "assistant" && !info.summary && prompt(info));
		if (!last) return;
		const session = last.info.sessionID;
		const old = answers.get(session);
		const same = old && messages[old.rows.length - 1]?.info.id === old.last;
		const window = await limit(last.info);
		if (!asks || pages.has(session) || (same && prompt(last.info) < window / 2)) return same ? old : undefined;
		// What opencode has compacted is not sent any more: the rest is a session of its own.
		const id = session + "-" + messages[0].info.id;
		const input = { session_id: id, messages: { info: { id, directory }, messages }, window, used: prompt(last.info), rows: messages.map(row) };
		const a = await hook(input, directory, 5000);
		asks = a?.rows !== undefined;
		if (asks) answers.set(session, { ...a, last: messages.at(-1).info.id });
		return asks ? a : same ? old : undefined;
	}

	return {
		"experimental.chat.messages.transform": async (_, { messages }) => {
			try {
				const a = await answer(messages);
				if (!a) return;
				const sent = messages.filter((_, i) => a.rows[i] !== "drop");
				for (const { parts } of sent)
					for (const p of parts)
						if (p.type === "tool" && p.state.status === "completed" && a.stubs?.[p.callID])
							p.state = { ...p.state, output: a.stubs[p.callID], attachments: undefined };
				const first = messages.find((m) => m.info.role === "user");
				const text = first?.parts.find((p) => p.type === "text");
				if (a.page && text) sent.splice(a.at, 0, { info: first.info, parts: [{ ...text, text: a.page }] });
				messages.splice(0, messages.length, ...sent);
			} catch {
				asks = false; // opencode goes on as without pleat
			}
		},
		"experimental.session.compacting": async ({ sessionID }) => {
			try {
				const { data } = await client.session.messages({ path: { id: sessionID } });
				const messages = { info: { id: sessionID, directory }, messages: data };
				const answer = await hook({ session_id: sessionID, messages, trigger: "auto" }, directory, 10000);
				if (answer?.page) pages.set(sessionID, answer.page);
			} catch {
				// opencode goes on as without pleat
			}
		},
		"experimental.text.complete": async ({ sessionID }, output) => {
			const page = pages.get(sessionID);
			if (page === undefined) return;
			pages.delete(sessionID);
			answers.delete(sessionID);
			output.text += "\n\n" + page;
		},
	};
};
