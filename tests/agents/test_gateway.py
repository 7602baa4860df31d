"""The gateway in front of the reference filesystem server, in Claude Code without any hook."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.clients import CLAUDE_CODE, OURS, PROGRAMS, Desk
from agents.model import Use
from agents.payload import LOG, recalls

pytestmark = pytest.mark.agents

RULE = """\
[[invariant]]
id = "no-test-edit"
when = { path_glob = "tests/**" }
verdict = "block"
message = "Modifying test suites requires explicit approval"
"""


@pytest.fixture
def wrapped(desk: Callable[[str], Desk]) -> Desk:
    """A desk whose one server is the wrapped one."""
    found = desk("wrapped")
    (found.project / ".osiris").mkdir()
    (found.project / ".osiris" / "invariants.toml").write_text(RULE, "utf-8")
    (found.project / "tests").mkdir()
    (found.project / "big.log").write_text(LOG, "utf-8")
    server = (str(PROGRAMS / "mcp-server-filesystem"), str(found.project))
    options = ("--name", "files", "--agent-id", found.agent, "--db", str(found.database))
    entry = {"type": "stdio", "command": str(OURS), "args": ("wrap", *options, "--", *server)}
    found.keep(".claude.json", {"mcpServers": {"files": entry}})
    return found


def test_the_servers_tools_pass_and_recall_stands_beside_them(wrapped: Desk) -> None:
    path = str(wrapped.project / "note.txt")
    wrapped.model.play(
        [
            Use("files__write_file$", {"path": path, "content": "half a pair: \U0001f600"}),
            Use("files__read_text_file$", {"path": path}),
        ]
    )

    CLAUDE_CODE.ask(wrapped, "Write a note.")

    assert "half a pair: \U0001f600" in wrapped.model.sent[-1].results[1].text
    tools = wrapped.model.sent[0].tools
    assert "mcp__files__osiris_recall" in tools
    assert "mcp__files__memory_write" not in tools


def test_a_big_file_arrives_as_a_stub_and_comes_back_whole(wrapped: Desk) -> None:
    read = Use("files__read_text_file$", {"path": str(wrapped.project / "big.log")})
    wrapped.model.play([read, *recalls()])

    CLAUDE_CODE.ask(wrapped, "Read the log.")

    stub, *parts = wrapped.model.sent[-1].results
    assert "handoff-memory kept this result outside the context" in stub.text
    assert len(stub.text) < 2_000
    assert "".join(part.reply["text"] for part in parts) == LOG


def test_a_call_that_failed_three_times_is_not_made_again(wrapped: Desk) -> None:
    missing = Use("files__read_text_file$", {"path": str(wrapped.project / "nowhere.txt")})
    wrapped.model.play([missing] * 4)

    CLAUDE_CODE.ask(wrapped, "Read a file.")

    *made, refused = (result.text for result in wrapped.model.sent[-1].results)
    assert all("ENOENT" in text and "handoff-memory: " not in text for text in made[:2])
    assert "ENOENT" in made[2]
    assert "handoff-memory: " in refused
    assert "3 times" in refused


def test_a_rule_of_the_project_holds(wrapped: Desk) -> None:
    path = wrapped.project / "tests" / "test_a.py"
    wrapped.model.play([Use("files__write_file$", {"path": str(path), "content": "pass"})])

    CLAUDE_CODE.ask(wrapped, "Change the tests.")

    (refused,) = wrapped.model.sent[-1].results
    assert "Modifying test suites requires explicit approval" in refused.text
    assert not path.exists()
