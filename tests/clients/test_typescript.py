"""The TypeScript SDK's clients, the first and the second generation."""

import json
import subprocess
from collections.abc import Callable

import pytest

from clients.conftest import SERVER

pytestmark = pytest.mark.clients


@pytest.mark.parametrize("kind", ["v1", "v2-legacy", "v2-auto"])
def test_a_whole_session_works(
    run: Callable[..., subprocess.CompletedProcess[str]], kind: str
) -> None:
    done = run("node", "session.mjs", kind, *SERVER)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "handoff_pickup" in found["instructions"]
    assert len(found["tools"]) == 13
    assert found["written"]["structuredContent"]["version"] == 1
    assert found["read"]["structuredContent"]["value"] == {"n": 1, "text": "héé"}
    assert json.loads(found["read"]["content"][0]["text"]) == found["read"]["structuredContent"]
    assert found["refused"]["isError"] is True
    assert found["refused"]["structuredContent"]["code"] == "version_conflict"
    packet_id = found["created"]["structuredContent"]["packet_id"]
    assert found["taken"]["structuredContent"]["packet"]["packet_id"] == packet_id
    assert found["taken"]["structuredContent"]["pins_moved"] == "0 of 1 pins moved"
    assert json.loads(found["resource"]["contents"][0]["text"])["version"] == 1
    assert found["prompts"] == ["write_handoff", "receive_handoff", "osiris/task-resume"]


def test_the_client_leaves_nothing_behind_on_stderr(
    run: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = run("node", "session.mjs", "v2-legacy", *SERVER)

    assert done.returncode == 0
    assert "Traceback" not in done.stderr
