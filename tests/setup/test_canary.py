from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from handoff_memory.hooks import capabilities
from handoff_memory.hooks.event import CANARY
from handoff_memory.setup import canary
from handoff_memory.setup.clients import CLIENTS
from handoff_memory.setup.commands import hook

pytestmark = pytest.mark.processes

posix = pytest.mark.skipif(sys.platform == "win32", reason="written for a shell of POSIX")
DENIAL = json.dumps({"hookSpecificOutput": {"permissionDecision": "deny"}})


def sing(
    client: str, command: str, folder: Path, *, matcher: str = "*", deadline: float = 20
) -> canary.Sung:
    hooks = ((canary.event_name(client), command, matcher),)
    return canary.sing(client, hooks, folder, deadline_s=deadline)


@pytest.mark.parametrize("client", capabilities.CLIENTS)
def test_our_own_hook_denies_a_canary_in_the_form_of_each_client(
    client: str, tmp_path: Path
) -> None:
    form = CLIENTS[client].hooks
    assert form is not None
    command = hook(
        Path(sys.executable),
        "before-tool",
        client=client,
        agent=client,
        database=tmp_path / "a b" / "m.db",
        dialect=form.shell,
    )

    assert sing(client, command, tmp_path) == canary.Sung(enforced=True)


@posix
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("true", "did not deny"),
        ("echo nonsense", "did not deny"),
        ("echo '[]'", "did not deny"),
        ("""echo '{"hookSpecificOutput": null}'""", "did not deny"),
        ("""echo '{"hookSpecificOutput": {"permissionDecision": "allow"}}'""", "did not deny"),
        ("""echo '{"decision": "deny"}'""", "did not deny"),  # Gemini's form
        ("/gone/python -m handoff_memory || exit 0", "did not deny"),
        ("exit 2", "status 2"),
    ],
)
def test_all_but_a_denial_in_the_clients_form_is_advisory(
    command: str, reason: str, tmp_path: Path
) -> None:
    sung = sing("claude-code", command, tmp_path)

    assert not sung.enforced
    assert reason in sung.reason


@posix
def test_a_hook_that_never_ends_is_ended_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = f"sleep 60 & echo $! > {shlex.quote(str(pid))}; wait; true"

    sung = sing("claude-code", command, tmp_path, deadline=1)

    assert "deadline" in sung.reason
    assert not is_running(int(pid.read_text()))


@posix
def test_the_canary_is_the_clients_own_event(tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"

    sung = sing("claude-code", f"cat > {shlex.quote(str(seen))}; echo '{DENIAL}'", tmp_path)

    assert sung.enforced
    payload = json.loads(seen.read_text())
    assert (payload["hook_event_name"], payload["tool_name"]) == ("PreToolUse", CANARY)
    assert payload["cwd"] == str(tmp_path)


def test_a_matcher_that_leaves_tools_out_is_advisory(tmp_path: Path) -> None:
    sung = sing("claude-code", f"echo '{DENIAL}'", tmp_path, matcher="mcp__.*")

    assert (sung.enforced, sung.reason) == (False, "the matcher 'mcp__.*' leaves tools out")


def test_without_a_hook_before_tools_nothing_is_run(tmp_path: Path) -> None:
    sung = canary.sing("claude-code", (("PostToolUse", "exit 1", "*"),), tmp_path)

    assert sung.reason == "no hook of ours stands under PreToolUse"


def is_running(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().split()[2] != "Z"
