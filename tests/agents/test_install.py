"""What our installer writes, as the clients themselves take it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from agents.clients import CLAUDE_CODE, CODEX, GEMINI, OPENCODE, AgentClient, Desk
from agents.codex_app import trust_hooks

pytestmark = pytest.mark.agents

CONNECTED = {
    CLAUDE_CODE.name: "✔ Connected",
    CODEX.name: "enabled",  # it lists servers without starting them
    GEMINI.name: "Connected",
    OPENCODE.name: "connected",
}


def listed(client: AgentClient, desk: Desk) -> str | None:
    """The client's own line about our server."""
    program = client.command("")[0]
    done = desk.run(program, "mcp", "list", **client.environ(desk))
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "handoff-memory" in line]
    return lines[0] if lines else None


def hooks_are(client: AgentClient, desk: Desk) -> str:
    """What `doctor` says of a client's hooks."""
    checks = json.loads(desk.ours("doctor", "--json"))["checks"]
    (found,) = [check["found"] for check in checks if check["name"] == f"{client.name} hooks"]
    return str(found).partition(":")[0]


@pytest.mark.parametrize(
    "client", [CLAUDE_CODE, CODEX, GEMINI, OPENCODE], ids=lambda client: client.name
)
def test_the_client_lists_the_server_as_connected(
    desk: Callable[[str], Desk], client: AgentClient
) -> None:
    found = desk(client.name)
    client.set_up(found, *([] if client is OPENCODE else ["--hooks"]))

    assert CONNECTED[client.name] in (listed(client, found) or "")


@pytest.mark.parametrize("client", [CLAUDE_CODE, CODEX, GEMINI], ids=lambda client: client.name)
def test_what_the_client_writes_afterwards_stays(
    desk: Callable[[str], Desk], client: AgentClient
) -> None:
    found = desk(client.name)
    client.set_up(found, "--hooks")
    found.model.play([])
    client.ask(found, "Say hello.")  # which writes settings of its own

    again = json.loads(found.ours("install", client.name, "--hooks", "--json"))
    found.ours("uninstall", client.name)

    assert {file["outcome"] for file in again["files"]} == {"unchanged"}
    assert listed(client, found) is None
    client.ask(found, "Say hello.")


@pytest.mark.parametrize("client", [CLAUDE_CODE, GEMINI], ids=lambda client: client.name)
def test_doctor_says_that_hooks_are_in_force(
    desk: Callable[[str], Desk], client: AgentClient
) -> None:
    found = desk(client.name)
    client.set_up(found, "--hooks")

    assert hooks_are(client, found) == "enforced"


def test_doctor_says_whether_codex_trusts_its_hooks(desk: Callable[[str], Desk]) -> None:
    found = desk("codex")
    CODEX.set_up(found, "--hooks")
    before = hooks_are(CODEX, found)

    trust_hooks(found)

    assert (before, hooks_are(CODEX, found)) == ("advisory", "enforced")
