"""What a hook loads: it starts anew for each call of a tool, so each module of it is paid for."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

pytestmark = pytest.mark.processes

# What a server or a rare call needs; any of them in a hook is tens of milliseconds.
HEAVY = {
    *("asyncio", "aiosqlite", "mcp", "pydantic", "click", "anyio"),
    *("regex", "re2", "jmespath", "pathspec", "tomllib", "typing_extensions"),
    *("subprocess", "tempfile", "importlib.resources", "importlib.metadata", "difflib"),
    *(
        "_hashlib",
        "threading",
        "decimal",
        "fractions",
        "random",
        "secrets",
        "shlex",
        "csv",
        "logging",
    ),
}
# Our own that the usual calls have no use for.
UNUSED = {
    f"handoff_memory.{name}"
    for name in (
        *("bridge", "cli", "server", "gateway", "setup"),
        *("rules.invariants.book", "rules.invariants.match", "rules.query", "rules.text"),
        *("rules.policy", "rules.prefix", "rules.prune", "rules.volatile", "rules.manifest"),
        *("services.memory", "services.reading", "services.search", "services.verify"),
        *("services.handoff", "services.sealing", "services.planning", "store.health"),
    )
}
MOST_OF_OURS = 64
READ: dict[str, Any] = {"tool_name": "Read", "tool_input": {"file_path": "src/app.py"}}
BASH: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "git status && ls -la src"}}
GAVE = {"tool_response": {"type": "text", "file": {"content": "one line\nanother\n"}}}
PRINTED = {"tool_response": {"stdout": "nothing to commit", "stderr": "", "interrupted": False}}
SESSION = {"session_id": "session-1", "tool_use_id": "call-1"}


def loaded(folder: Path, event: str, **given: Any) -> set[str]:
    """The modules that a hook of Claude Code imports, in a process of its own."""
    env = {
        **{name: value for name, value in os.environ.items() if "COV" not in name},
        "MEMORY_DB": str(folder / "memory.db"),
        "OSIRIS_HOME": str(folder / "home"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [
            *(sys.executable, "-X", "importtime", "-m", "handoff_memory", "hook", event),
            *("--client", "claude-code", "--agent-id", "scout"),
        ],
        input=orjson.dumps({**SESSION, "cwd": str(folder), **given}),
        capture_output=True,
        env=env,
        cwd=folder,
        check=True,
        timeout=60,
    )
    lines = done.stderr.decode().splitlines()
    names = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    assert "handoff_memory.guard" in names, done.stderr.decode()
    return names


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project without rules, whose session has a task already."""
    loaded(tmp_path, "after-tool", **READ, **GAVE, hook_event_name="PostToolUse")
    return tmp_path


@pytest.mark.parametrize(
    ("event", "given"),
    [
        ("before-tool", {**READ, "hook_event_name": "PreToolUse"}),
        ("after-tool", {**READ, **GAVE, "hook_event_name": "PostToolUse"}),
    ],
)
def test_a_hook_loads_what_its_call_needs(folder: Path, event: str, given: dict[str, Any]) -> None:
    found = loaded(folder, event, **given, tool_use_id="call-2")

    assert found & (HEAVY | UNUSED) == set()
    assert not any(name.startswith("handoff_memory.core.shell") for name in found)
    assert sum(name.startswith("handoff_memory.") for name in found) <= MOST_OF_OURS


def test_a_command_is_taken_apart_only_after_it_ran_or_for_rules(folder: Path) -> None:
    before = loaded(folder, "before-tool", **BASH, hook_event_name="PreToolUse")
    after = loaded(folder, "after-tool", **BASH, **PRINTED, hook_event_name="PostToolUse")

    assert "handoff_memory.core.shell.walk" not in before
    assert "handoff_memory.core.shell.walk" in after
    assert after & (HEAVY | UNUSED) == set()
    assert sum(name.startswith("handoff_memory.") for name in after) <= MOST_OF_OURS + 8


def test_no_named_tuple_of_a_hook_compiles_its_annotations(folder: Path) -> None:
    found = loaded(folder, "after-tool", **BASH, **PRINTED, hook_event_name="PostToolUse")

    texts = {name: source(name) for name in found if name.startswith("handoff_memory.")}
    tuples = {name for name, text in texts.items() if "(NamedTuple):" in text}
    assert len(tuples) > 20
    assert {name for name in tuples if "from __future__ import annotations" in texts[name]} == set()


def source(name: str) -> str:
    """The text of a module."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text("utf-8")


def test_rules_are_loaded_where_a_project_has_some(folder: Path) -> None:
    (folder / ".osiris").mkdir()
    (folder / ".osiris" / "invariants.toml").write_text(
        '[[invariant]]\nid = "no-env"\nmessage = "Keep out."\nwhen.path_glob = [".env"]\n'
    )

    found = loaded(folder, "before-tool", **READ, hook_event_name="PreToolUse")

    assert {"handoff_memory.rules.invariants.match", "pathspec", "tomllib"} <= found
