#!/usr/bin/env node
// Runs handoff-memory on a Python that has it: OSIRIS_PYTHON, uvx, python3, python, in this order.
// What it is given it passes on: arguments, streams, signals, the exit status.
// The current folder is a project's: -P keeps its modules from being taken for ours.

import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";

const NOT_FOUND = 127;
const { name, version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const requirement = `${name}==${version}`;

/** The path of the interpreter behind a command, or nothing where that cannot import the package. */
function pathOf(command, ...args) {
  const code = "import handoff_memory, sys; print(sys.executable)";
  const asked = spawnSync(command, [...args, "-P", "-c", code], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"], // stdin is the client's
    windowsHide: true,
  });
  return asked.status === 0 ? asked.stdout.trim() : undefined;
}

function findPython() {
  const named = process.env.OSIRIS_PYTHON;
  if (named) {
    const path = pathOf(named);
    if (path) return path;
    console.error(`${name}: OSIRIS_PYTHON=${named} has no package handoff_memory`);
  }
  return pathOf("uvx", "--quiet", "--from", requirement, "python") ?? pathOf("python3") ?? pathOf("python");
}

const python = findPython();
if (!python) {
  console.error(
    `${name}: no Python has ${requirement}: install uv, or run 'python3 -m pip install ${requirement}', ` +
      "or set OSIRIS_PYTHON to a Python that has it",
  );
  process.exit(NOT_FOUND);
}

const serving = spawn(python, ["-P", "-m", "handoff_memory", ...process.argv.slice(2)], {
  stdio: "inherit",
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => serving.kill(signal));
}
serving.on("error", (error) => {
  console.error(`${name}: ${python}: ${error.message}`);
  process.exit(NOT_FOUND);
});
serving.on("exit", (status, signal) => process.exit(status ?? 128 + constants.signals[signal]));
