"""One whole session of each client library: the same steps, the same answers."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clients.conftest import SERVER

pytestmark = pytest.mark.clients

MODERN, LEGACY = "2026-07-28", "2025-11-25"
TYPESCRIPT = {"v1": None, "v2-legacy": LEGACY, "v2-auto": MODERN}
PYTHON = {"sdk-auto": MODERN, "sdk-legacy": LEGACY, "sdk-v1": LEGACY, "fastmcp": MODERN}

Run = Callable[..., subprocess.CompletedProcess[str]]


def found_by(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def structured(result: dict[str, Any]) -> Any:
    """What a result holds; one client shows a model this, the next the text: both must be equal."""
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]


def assert_whole(found: dict[str, Any]) -> None:
    assert "handoff_pickup" in found["instructions"]
    assert len(found["tools"]) == 13
    assert structured(found["written"])["version"] == 1
    assert structured(found["read"])["value"] == {"n": 1, "text": "héé"}
    assert found["refused"]["isError"] is True
    assert structured(found["refused"])["code"] == "version_conflict"
    assert structured(found["refused"])["next"]
    packet_id = structured(found["created"])["packet_id"]
    assert structured(found["taken"])["packet"]["packet_id"] == packet_id
    assert structured(found["taken"])["pins_moved"] == "0 of 1 pins moved"
    assert json.loads(found["resource"])["version"] == 1
    assert found["prompts"] == ["write_handoff", "receive_handoff", "osiris/task-resume"]


@pytest.mark.parametrize("kind", TYPESCRIPT)
def test_a_typescript_client_holds_a_whole_session(run: Run, kind: str) -> None:
    found = found_by(run("node", "session.mjs", kind, *SERVER))

    assert found.get("protocol") == TYPESCRIPT[kind]
    assert_whole(found)


@pytest.mark.parametrize("kind", PYTHON)
def test_a_python_client_holds_a_whole_session(
    run: Run, python_of: Callable[[str], Path], kind: str
) -> None:
    ours = kind in {"sdk-auto", "sdk-legacy"}
    python = sys.executable if ours else str(python_of(kind))

    found = found_by(run(python, "session.py", kind, *SERVER))

    assert found["protocol"] == PYTHON[kind]
    assert_whole(found)
