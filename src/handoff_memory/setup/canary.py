"""A canary through a hook: a call that must be denied, sent the very way the client sends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from handoff_memory.gateway.process import REFUSED
from handoff_memory.hooks import capabilities
from handoff_memory.hooks.event import CANARY
from handoff_memory.setup.clients import CLIENTS

DEADLINE_S: Final = 20.0
# This program, whatever the PATH is.
_PROGRAM: Final = (sys.executable, "-P", "-m", "handoff_memory")
# A server that a refused call never reaches.
_LISTENER: Final = (sys.executable, "-c", "import sys; sys.stdin.read()")
_SELF: Final = {"name": "doctor", "version": "1"}
_ALL: Final = (None, "", "*", ".*")
_CALL: Final = {"tool_name": CANARY, "tool_input": {}}
_EXTRA: Final[Mapping[str, Mapping[str, Any]]] = {
    "claude-code": {"session_id": CANARY, "tool_use_id": CANARY, "permission_mode": "default"},
    "codex": {"session_id": CANARY, "turn_id": CANARY, "tool_use_id": CANARY},
    "gemini": {"session_id": CANARY},
    "cursor": {"conversation_id": CANARY, "generation_id": CANARY, "cursor_version": "0"},
}


class Sung(NamedTuple):
    """How a canary fared.

    Attributes:
        enforced: Whether the client would have kept the call from running.
        reason: Why not.
        way_out: What the person can do in the client itself; empty where the hooks are at fault.
    """

    enforced: bool
    reason: str = ""
    way_out: str = ""


def event_name(client: str) -> str:
    """The client's name of what comes before a tool."""
    return capabilities.CLIENTS[client].powers["before-tool"].event


def sing(
    client: str,
    hooks: tuple[tuple[str, str, Any], ...],
    folder: Path,
    *,
    deadline_s: float = DEADLINE_S,
) -> Sung:
    """Run the command that stands in the client's file, with a call that must be denied.

    Args:
        client: Key of the client.
        hooks: Our commands there: event, command, matcher.
        folder: Where the client is said to work.
        deadline_s: How long to wait.
    """
    name = event_name(client)
    found = [(command, matcher) for event, command, matcher in hooks if event == name]
    if not found:
        return Sung(enforced=False, reason=f"no hook of ours stands under {name}")
    command, matcher = found[0]
    if matcher not in _ALL:
        return Sung(enforced=False, reason=f"the matcher {matcher!r} leaves tools out")
    payload = {**_CALL, **_EXTRA[client], "hook_event_name": name, "cwd": str(folder)}
    return _judged(client, *_run(client, command, json.dumps(payload), folder, deadline_s))


def sing_to_gateway(folder: Path, *, deadline_s: float = DEADLINE_S) -> Sung:
    """Call a tool of a server behind `wrap` that must be refused; nothing is kept of it."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _SELF}
    told = "".join(
        json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        for message in (
            {"id": 1, "method": "initialize", "params": hello},
            {"id": 2, "method": "tools/call", "params": {"name": CANARY, "arguments": {}}},
        )
    )
    done = _through("wrap", _LISTENER, folder, deadline_s, told)
    if done is None:
        return Sung(enforced=False, reason="it did not answer within its deadline")
    return _refused(CANARY in done.stdout and '"isError":true' in done.stdout)


def sing_to_run(folder: Path, *, deadline_s: float = DEADLINE_S) -> Sung:
    """Run a command through `run` that must be refused; nothing is kept of it."""
    done = _through("run", [CANARY], folder, deadline_s)
    if done is None:
        return Sung(enforced=False, reason="it did not end within its deadline")
    return _refused(done.returncode == REFUSED and CANARY in done.stderr)


def _refused(is_refused: bool) -> Sung:
    return Sung(is_refused, "" if is_refused else "it let a canary pass")


def _through(
    verb: str, command: Sequence[str], folder: Path, deadline_s: float, given: str = ""
) -> subprocess.CompletedProcess[str] | None:
    """A command behind a verb of this program, on a memory of its own; None beyond the deadline."""
    with tempfile.TemporaryDirectory() as place:
        database = str(Path(place, "canary.db"))
        words = [*_PROGRAM, verb, "--db", database, "--agent-id", "doctor", "--", *command]
        with suppress(subprocess.TimeoutExpired):
            return subprocess.run(  # noqa: S603 - this program itself
                words,
                cwd=folder,
                input=given,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=deadline_s,
                check=False,
            )
    return None


def _judged(client: str, status: int | None, answer: str) -> Sung:
    if status is None:
        return Sung(enforced=False, reason="the hook did not end within its deadline")
    if status:
        return Sung(enforced=False, reason=f"the hook ended with status {status}")
    try:
        denies = _DENIES[client](json.loads(answer))
    except (ValueError, AttributeError):
        denies = False
    if not denies:
        return Sung(enforced=False, reason="the hook did not deny a canary")
    return Sung(enforced=True)


def _specific(answer: Any) -> bool:
    return bool(answer.get("hookSpecificOutput", {}).get("permissionDecision") == "deny")


_DENIES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "claude-code": _specific,
    "codex": _specific,
    "gemini": lambda answer: bool(answer.get("decision") == "deny"),
    "cursor": lambda answer: bool(answer.get("permission") == "deny"),
}


def _run(
    client: str, command: str, given: str, folder: Path, deadline_s: float
) -> tuple[int | None, str]:
    form = CLIENTS[client].hooks
    needs_powershell = form is not None and form.shell == "powershell"
    words = ["powershell", "-NoProfile", "-Command", command]
    running = subprocess.Popen(  # noqa: S603 - the client gives it to that shell, too
        words if needs_powershell else command,
        shell=not needs_powershell,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    try:
        answer, _ = running.communicate(given, timeout=deadline_s)
    except subprocess.TimeoutExpired:
        _end(running)
        return None, ""
    return running.returncode, answer


def _end(running: subprocess.Popen[str]) -> None:
    if sys.platform == "win32":
        running.kill()
    else:  # the shell's children, too
        os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
