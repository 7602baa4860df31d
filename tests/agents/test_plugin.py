"""The Claude Code plugin, judged, installed and run by Claude Code itself."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors import git
from agents.clients import CLAUDE_CODE, Desk

pytestmark = pytest.mark.agents

PACKAGES = Path(__file__).parents[2] / "packages"


def judged(desk: Desk, target: Path, *more: str) -> Any:
    """What the client's own check reports, where it refuses nothing."""
    done = desk.run("claude", "plugin", "validate", "--strict", "--json", *more, str(target))
    return json.loads(done.stdout)


@pytest.fixture
def plugged(checkout: Callable[[str], Desk]) -> Desk:
    """A desk whose client has the plugin from the marketplace in packages/."""
    found = checkout("claude-code")
    found.run("claude", "plugin", "marketplace", "add", str(PACKAGES))
    found.run("claude", "plugin", "install", "handoff-memory@handoff-memory")
    return found


def environ(desk: Desk) -> dict[str, str]:
    return {**CLAUDE_CODE.environ(desk), **desk.server_env, "OSIRIS_PYTHON": sys.executable}


def test_the_client_finds_nothing_wrong_with_it(desk: Callable[[str], Desk]) -> None:
    found = desk("claude-code")

    plugin = judged(found, PACKAGES / "claude-plugin", "--profile", "directory")
    marketplace = judged(found, PACKAGES)

    for report in (plugin, marketplace):
        assert report["success"] is True
        assert report["manifest"]["errors"] == report["manifest"]["warnings"] == []
    assert plugin["directory"]["findings"] == plugin["directory"]["undecided"] == []
    assert plugin["provides"]["skills"] == ["handoff-memory:handoff"]
    assert plugin["provides"]["bin"] == []  # nothing gets onto the agent's PATH


def test_a_hook_of_no_event_is_found_wrong(desk: Callable[[str], Desk], tmp_path: Path) -> None:
    copied = shutil.copytree(PACKAGES / "claude-plugin", tmp_path / "plugin")
    hooks = copied / "hooks" / "hooks.json"
    hooks.write_text(hooks.read_text("utf-8").replace('"PreToolUse"', '"BeforeToolUse"'), "utf-8")

    command = ("claude", "plugin", "validate", "--strict", str(copied))
    done = desk("claude-code").run(*command, status=1)

    assert "BeforeToolUse" in done.stdout + done.stderr


def test_the_installed_plugin_connects(plugged: Desk) -> None:
    done = plugged.run("claude", "mcp", "list", **environ(plugged))

    (line,) = [line for line in done.stdout.splitlines() if line.startswith("plugin:")]
    assert line.startswith("plugin:handoff-memory:handoff-memory:")
    assert line.endswith("✔ Connected")


def test_its_hooks_hold_the_rules_without_a_call_of_ours(plugged: Desk) -> None:
    commit = CLAUDE_CODE.shell("git commit -q -m one")
    plugged.model.play([commit, CLAUDE_CODE.shell("make test"), commit])

    plugged.run(*CLAUDE_CODE.command("Commit the work."), **environ(plugged))

    refused, tested, committed = plugged.model.sent[-1].results
    assert "Cannot commit while tests are failing" in refused.text
    assert "3 passed" in tested.text
    assert "Cannot commit" not in committed.text
    assert git(plugged.project, "log", "--format=%s") == "one"
