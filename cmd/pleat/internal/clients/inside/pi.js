// Written by "pleat setup pi --inside"; "pleat setup pi --inside --undo" deletes it.
// When pi compacts, the summary is the page that pleat writes of the whole session. If pleat
// cannot, pi writes its own.
import { spawn } from "node:child_process";

function hook(input, cwd, signal) {
	return new Promise((resolve) => {
		let out = "";
		const child = spawn("$PLEAT", ["hook", "compact", "--agent", "pi"], { cwd, signal, timeout: 10000, windowsHide: true });
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

export default (pi) => {
	pi.on("session_before_compact", async (event, ctx) => {
		const file = ctx.sessionManager.getSessionFile();
		if (!file) return;
		const window = ctx.model?.contextWindow;
		const input = { session_id: ctx.sessionManager.getSessionId(), transcript_path: file, window };
		const answer = await hook(input, ctx.cwd, event.signal);
		if (!answer?.page) return;
		const { firstKeptEntryId, tokensBefore } = event.preparation;
		return { compaction: { summary: answer.page, firstKeptEntryId, tokensBefore, details: { session: answer.session } } };
	});
};
