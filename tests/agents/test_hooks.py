"""What hooks bring about in clients nobody here wrote, while the model calls no tool of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from actors import git
from agents.clients import CLAUDE_CODE, CODEX, GEMINI, AgentClient, Desk
from agents.codex_app import app_server, trust_hooks
from agents.model import Use
from agents.payload import LOG, recalls
from agents.wires import Sent

pytestmark = pytest.mark.agents

PROMPT = "Halve the waiting time of the checkout page."
HOOKED = pytest.mark.parametrize(
    "client", [CLAUDE_CODE, CODEX, GEMINI], ids=lambda client: client.name
)


@pytest.fixture
def hooked(checkout: Callable[[str], Desk]) -> Callable[[AgentClient], Desk]:
    """A desk whose client was set up with hooks by our own installer."""

    def furnished(client: AgentClient) -> Desk:
        found = checkout(client.name)
        client.set_up(found, "--hooks")
        if client is CODEX:
            trust_hooks(found)
        return found

    return furnished


@HOOKED
def test_a_commit_waits_for_the_tests(
    hooked: Callable[[AgentClient], Desk], client: AgentClient
) -> None:
    desk = hooked(client)
    commit = client.shell("git commit -q -m one")
    desk.model.play([commit, client.shell("make test"), commit])

    client.ask(desk, PROMPT)

    refused, tested, committed = desk.model.sent[-1].results
    assert "tests-before-commit" in refused.text
    assert "Cannot commit while tests are failing" in refused.text
    assert "3 passed" in tested.text
    assert "tests-before-commit" not in committed.text
    assert git(desk.project, "log", "--format=%s") == "one"


@HOOKED
def test_a_command_that_failed_three_times_is_not_run_again(
    hooked: Callable[[AgentClient], Desk], client: AgentClient
) -> None:
    desk = hooked(client)
    desk.model.play([client.shell("sh fails.sh")] * 4)

    client.ask(desk, PROMPT)

    *ran, refused = (result.text for result in desk.model.sent[-1].results)
    assert (desk.home / "runs").read_text().count("run") == 3
    assert all("no such column: price" in text for text in ran)
    assert "handoff-memory: " in refused
    assert "3 times" in refused


@HOOKED
def test_a_big_output_arrives_as_a_stub_and_comes_back_whole(
    hooked: Callable[[AgentClient], Desk], client: AgentClient
) -> None:
    desk = hooked(client)
    desk.model.play([client.shell("cat big.log"), *recalls()])

    client.ask(desk, PROMPT)

    stub, *parts = desk.model.sent[-1].results
    assert "handoff-memory kept this result outside the context" in stub.text
    assert len(stub.text) < 2_000
    assert "".join(part.reply["text"] for part in parts) == LOG


def test_a_big_file_is_read_as_a_stub_in_claude_code(
    hooked: Callable[[AgentClient], Desk],
) -> None:
    desk = hooked(CLAUDE_CODE)
    read = Use("^Read$", {"file_path": str(desk.project / "big.log")})
    desk.model.play([read, *recalls()])

    CLAUDE_CODE.ask(desk, PROMPT)

    stub, *parts = desk.model.sent[-1].results
    assert "handoff-memory kept this result outside the context" in stub.text
    assert len(stub.text) < 2_000
    assert "".join(part.reply["text"] for part in parts) == LOG


@HOOKED
def test_a_session_that_goes_on_is_told_its_task(
    hooked: Callable[[AgentClient], Desk], client: AgentClient
) -> None:
    desk = hooked(client)
    desk.model.play([client.shell("echo begun")])
    client.ask(desk, PROMPT)
    assert f"objective: {PROMPT}" not in desk.model.sent[-1].everything

    desk.model.play([])
    client.ask(desk, "Go on.", resumes=True)

    assert_told(desk.model.sent[-1])


def test_what_claude_code_compacts_is_told_its_task(
    hooked: Callable[[AgentClient], Desk],
) -> None:
    desk = hooked(CLAUDE_CODE)
    desk.model.play([CLAUDE_CODE.shell("echo begun")])
    spoken = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    command = (*CLAUDE_CODE.command("")[:2], *spoken, *CLAUDE_CODE.command("")[3:])

    with desk.start(*command, **CLAUDE_CODE.environ(desk)) as client:
        for prompt in (PROMPT, "/compact keep the plan", "Go on."):
            message = {"type": "user", "message": {"role": "user", "content": prompt}}
            client.stdin.write(json.dumps(message) + "\n")
            client.stdin.flush()
            next(line for line in client.stdout if json.loads(line)["type"] == "result")
        client.stdin.close()

    last = desk.model.sent[-1]
    assert "Go on." in last.texts
    assert PROMPT not in last.texts  # compacted away
    assert_told(last)


def test_what_codex_compacts_is_told_its_task(hooked: Callable[[AgentClient], Desk]) -> None:
    desk = hooked(CODEX)
    desk.model.play([CODEX.shell("echo begun")])

    with app_server(desk) as server:
        thread = server.ask("thread/start", cwd=str(desk.project))["thread"]["id"]
        server.ask("turn/start", threadId=thread, input=said(PROMPT))
        server.wait_for("turn/completed")
        server.ask("thread/compact/start", threadId=thread)
        server.wait_for("turn/completed")
        desk.model.play([])
        server.ask("turn/start", threadId=thread, input=said("Go on."))
        server.wait_for("turn/completed")

    last = desk.model.sent[-1]
    assert "Go on." in last.texts
    assert last.results == ()  # compacted away
    assert_told(last)


def test_what_one_agent_left_unfinished_is_told_to_the_next(
    hooked: Callable[[AgentClient], Desk],
) -> None:
    first = hooked(CLAUDE_CODE)
    page = first.project / "page.py"
    first.model.play([Use("^Write$", {"file_path": str(page), "content": "pass\n"})])
    CLAUDE_CODE.ask(first, PROMPT)
    assert page.exists()

    next_one = hooked(CODEX)
    next_one.model.play([Use("handoff_pickup$")])
    CODEX.ask(next_one, "Good morning.")

    opening, *_, last = next_one.model.sent
    (picked,) = last.results
    packet = picked.reply["packet"]
    assert f"packet {packet['packet_id']} from claude-code" in opening.everything
    assert "1 handoff packet waits for codex" in opening.everything
    assert PROMPT in json.dumps(packet)
    assert "page.py" in json.dumps(packet)


def said(prompt: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": prompt}]


def assert_told(sent: Sent) -> None:
    """The model was told its task, once."""
    assert sent.everything.count(f"objective: {PROMPT}") == 1
    assert re.search(r"^SEAL=sha256:", sent.everything, re.MULTILINE)
