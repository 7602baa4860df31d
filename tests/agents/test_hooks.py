"""What hooks bring about in clients nobody here wrote, while the model calls no tool of ours."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from actors import git
from agents.clients import CLAUDE_CODE, CODEX, GEMINI, AgentClient, Desk
from agents.payload import LOG, recalls

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

    assert f"objective: {PROMPT}" in desk.model.sent[-1].everything
    assert re.search(r"SEAL ?= ?sha256:", desk.model.sent[-1].everything)
