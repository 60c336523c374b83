// Written by "pleat setup opencode --inside"; "pleat setup opencode --inside --undo" deletes it.
// When opencode compacts, the page that pleat writes of the whole session follows its summary.
import { spawn } from "node:child_process";

function hook(input, cwd) {
	return new Promise((resolve) => {
		let out = "";
		const child = spawn("$PLEAT", ["hook", "compact", "--agent", "opencode"], { cwd, timeout: 10000, windowsHide: true });
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

export const Pleat = async ({ client, directory }) => {
	const pages = new Map(); // by session: the page of the compaction that is under way
	return {
		"experimental.session.compacting": async ({ sessionID }) => {
			try {
				const { data } = await client.session.messages({ path: { id: sessionID } });
				const messages = { info: { id: sessionID, directory }, messages: data };
				const answer = await hook({ session_id: sessionID, messages }, directory);
				if (answer?.page) pages.set(sessionID, answer.page);
			} catch {
				// opencode goes on as without pleat
			}
		},
		"experimental.text.complete": async ({ sessionID }, output) => {
			const page = pages.get(sessionID);
			if (page === undefined) return;
			pages.delete(sessionID);
			output.text += "\n\n" + page;
		},
	};
};
