#!/usr/bin/env node
// Runs the program of this platform, which npm installed as an optional dependency.
const { spawn } = require("node:child_process");

const name = `pleat-cli-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/pleat${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`pleat: the package ${name} is not installed. Install pleat-cli again with optional dependencies;`);
  console.error("if npm has no such package, pleat has no program for this platform.");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
process.on("SIGINT", () => {}); // a terminal sends it to both, and pleat decides what to do
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (err) => {
  console.error(`pleat: run ${program}: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
