"""Hooks as a client runs them: a process of their own, JSON on stdin."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from shell import OURS, Shell

COMMAND: Final = (sys.executable, "-m", "handoff_memory", "hook")
NAMES: Final = {
    "claude-code": ("PreToolUse", "PostToolUse", "Bash"),
    "codex": ("PreToolUse", "PostToolUse", "Bash"),
    "gemini": ("BeforeTool", "AfterTool", "run_shell_command"),
    "cursor": ("preToolUse", "postToolUse", "Shell"),
}


@dataclass(frozen=True)
class Run:
    """What a hook did."""

    stdout: bytes
    stderr: str
    status: int
    seconds: float

    @property
    def answer(self) -> Any:
        """The one JSON value on stdout; None for silence."""
        return orjson.loads(self.stdout) if self.stdout else None

    @property
    def denial(self) -> str | None:
        """Why the call is refused, in whatever client's form."""
        told = self.answer or {}
        specific = told.get("hookSpecificOutput") or told
        if "deny" not in {specific.get("permissionDecision"), *map(told.get, NAMED)}:
            return None
        named = ("permissionDecisionReason", "reason", "agent_message")
        return str(next(specific[name] for name in named if name in specific))


NAMED: Final = ("decision", "permission")


@dataclass
class Client:
    """A client with one session in a project, whose hooks run on a database of its own."""

    name: str
    home: Path
    project: Path
    database: Path
    session: str = "session-1"
    env: dict[str, str] = field(default_factory=dict)

    def fire(self, event: str, given: Any, *, options: tuple[str, ...] = (), **env: str) -> Run:
        """Run a hook with this on stdin: JSON, or bytes as they are."""
        data = given if isinstance(given, bytes) else orjson.dumps(given)
        began = time.monotonic()
        done = subprocess.run(
            [*COMMAND, event, "--client", self.name, *options],
            input=data,
            capture_output=True,
            env=self.environ(**env),
            cwd=self.project,
            timeout=60,
            check=False,
        )
        seconds = time.monotonic() - began
        return Run(done.stdout, done.stderr.decode(), done.returncode, seconds)

    def environ(self, **env: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        ours = {
            "OSIRIS_HOME": str(self.home),
            "MEMORY_DB": str(self.database),
            "MEMORY_DURABILITY": "relaxed",
            "OSIRIS_HOOK_DEADLINE_MS": "20000",  # what is slow here is the machine
        }
        if self.name == "claude-code":
            ours["CLAUDE_PROJECT_DIR"] = str(self.project)
        return {**kept, **ours, **self.env, **env}

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        return {
            "session_id": self.session,
            "conversation_id": self.session,
            "cwd": str(self.project),
            "hook_event_name": name,
            **fields,
        }

    def before(self, command: str, **env: str) -> Run:
        """The hook before a shell command."""
        name, _, tool = NAMES[self.name]
        call = self.event(name, tool_name=tool, tool_input={"command": command}, tool_use_id="t0")
        return self.fire("before-tool", call, **env)

    def after(self, command: str, out: str, call_id: str, *, status: int = 0, **env: str) -> Run:
        """The hook after a shell command."""
        name, fields = self._told(command, out, call_id, status)
        tool = NAMES[self.name][2]
        call = self.event(name, tool_name=tool, tool_input={"command": command}, **fields)
        return self.fire("after-tool", call, **env)

    def _told(
        self, command: str, out: str, call_id: str, status: int
    ) -> tuple[str, dict[str, Any]]:
        name = NAMES[self.name][1]
        match self.name:
            case "claude-code" if status:
                error = f"Exit code {status}\n{out}"
                return "PostToolUseFailure", {"tool_use_id": call_id, "error": error}
            case "claude-code":
                told = {"stdout": out, "stderr": "", "interrupted": False, "isImage": False}
                return name, {"tool_use_id": call_id, "tool_response": told}
            case "codex":
                record = self._recorded(command, out, call_id, status)
                shown = {"tool_response": out[:10_000], "transcript_path": str(record)}
                return name, {"tool_use_id": call_id, **shown}
            case "gemini":
                ended = f"\nExit Code: {status}" if status else ""
                text = f"<untrusted_context>\nOutput: {out}{ended}\n</untrusted_context>"
                at = f"2026-11-30T00:00:00.{call_id}Z"
                return name, {"timestamp": at, "tool_response": {"llmContent": text}}
            case _:
                told = orjson.dumps({"output": out, "exitCode": status}).decode()
                return name, {"tool_use_id": call_id, "tool_output": told}

    def _recorded(self, command: str, out: str, call_id: str, status: int) -> Path:
        """Codex's record of the session, with this command as its newest line."""
        item = {
            "type": "CommandExecution",
            "id": call_id,
            "command": ["/bin/bash", "-lc", command],
            "aggregated_output": out,
            "exit_code": status,
        }
        line = {"type": "event_msg", "payload": {"type": "item_completed", "item": item}}
        path = self.project.parent / "rollout.jsonl"
        with path.open("ab") as file:
            file.write(orjson.dumps(line) + b"\n")
        return path

    def rules(self, text: str) -> None:
        folder = self.project / ".osiris"
        folder.mkdir(exist_ok=True)
        (folder / "invariants.toml").write_text(text, "utf-8")

    @property
    def gaps(self) -> list[dict[str, Any]]:
        """The gaps that wait to be journaled."""
        path = self.home / "gaps.jsonl"
        lines = path.read_bytes().splitlines() if path.exists() else []
        return [orjson.loads(line) for line in lines]

    @property
    def shell(self) -> Shell:
        """The command line on the same database."""
        return Shell(
            self.database, {"MEMORY_DB": str(self.database), "OSIRIS_HOME": str(self.home)}
        )

    def journal(self, kind: str) -> int:
        """How many events of that kind are in the journal."""
        shown = self.shell("log", "--limit", "1000").stdout
        return sum(kind in line for line in shown.splitlines())

    def calls(self) -> int:
        """How many calls all tasks saw."""
        return sum(int(task["calls"]) for task in self.shell.json("tasks")["tasks"])


def made(name: str, folder: Path) -> Client:
    project = folder / "project"
    project.mkdir(exist_ok=True)
    return Client(name, folder / "home", project, folder / "memory.db")


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Another process holds the database, also against readers."""
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('PRAGMA locking_mode=EXCLUSIVE'); c.execute('BEGIN EXCLUSIVE');"
        "print('locked', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == b"locked"
    try:
        yield
    finally:
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()
