// Written by "pleat setup opencode --inside"; "pleat setup opencode --inside --undo" deletes it.
// When opencode compacts, the page that pleat writes of the whole session follows its summary.
// Before that, when the window fills, old results of tools are sent as what pleat says of them.
import { spawn } from "node:child_process";

function hook(event, input, cwd, timeout = 10000) {
	return new Promise((resolve) => {
		let out = "";
		const child = spawn("$PLEAT", ["hook", event, "--agent", "opencode"], { cwd, timeout, windowsHide: true });
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

// size is how many characters are sent of messages.
function size(messages, stubs = {}) {
	let n = 0;
	for (const p of messages.flatMap((m) => m.parts)) {
		n += p.text?.length ?? 0;
		if (p.type === "tool") n += JSON.stringify(p.state.input ?? "").length + (stubs[p.callID] ?? p.state.output ?? "").length;
	}
	return n;
}

export const Pleat = async ({ client, directory }) => {
	const pages = new Map(); // by session: the page of the compaction that is under way
	const masks = new Map(); // by session: what stands for results, by call
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

	async function view(messages) {
		const answers = messages.filter(({ info }) => info.role === "assistant" && !info.summary && prompt(info));
		const [first, last] = [answers[0], answers.at(-1)];
		const session = last?.info.sessionID;
		const stubs = masks.get(session);
		if (!asks || !last || pages.has(session)) return stubs;
		const window = await limit(last.info);
		if (stubs && prompt(last.info) < window / 2) return stubs;
		const before = (answer) => messages.slice(0, messages.indexOf(answer));
		const head = Math.max(0, prompt(first.info) - size(before(first)) / 4);
		// pleat takes four characters for a token; the model may count others.
		const scale = Math.min(1, size(before(last), stubs) / 4 / Math.max(1, prompt(last.info) - head));
		// What opencode has compacted is not sent any more: the rest is a session of its own.
		const id = session + "-" + messages[0].info.id;
		const input = { session_id: id, messages: { info: { id, directory }, messages } };
		input.window = Math.floor(window * scale);
		input.head = Math.floor(head * scale);
		const answer = await hook("view", input, directory, 5000);
		if (answer?.masks) masks.set(session, answer.masks);
		else asks = false;
		return masks.get(session);
	}

	return {
		"experimental.chat.messages.transform": async (_, { messages }) => {
			try {
				const stubs = await view(messages);
				if (!stubs) return;
				for (const { parts } of messages)
					for (const p of parts)
						if (p.type === "tool" && p.state.status === "completed" && stubs[p.callID])
							p.state = { ...p.state, output: stubs[p.callID], attachments: undefined };
			} catch {
				asks = false; // opencode goes on as without pleat
			}
		},
		"experimental.session.compacting": async ({ sessionID }) => {
			try {
				const { data } = await client.session.messages({ path: { id: sessionID } });
				const messages = { info: { id: sessionID, directory }, messages: data };
				const answer = await hook("compact", { session_id: sessionID, messages }, directory);
				if (answer?.page) pages.set(sessionID, answer.page);
			} catch {
				// opencode goes on as without pleat
			}
		},
		"experimental.text.complete": async ({ sessionID }, output) => {
			const page = pages.get(sessionID);
			if (page === undefined) return;
			pages.delete(sessionID);
			masks.delete(sessionID);
			output.text += "\n\n" + page;
		},
	};
};
