"""Each client's form, held against files of what it sends and what it takes."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.app import open_app
from handoff_memory.hooks.capabilities import CLIENTS
from handoff_memory.hooks.event import CONTEXT_CHARS, NOTHING, OWN_TOOLS, Answer, Event, is_own
from handoff_memory.hooks.options import CLIENTS as KNOWN
from handoff_memory.server.governor_tools import GovernorTools
from handoff_memory.server.memory_tools import MemoryTools

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(GOLDEN.glob("*/*.json"))
# What Codex takes; one field more, and it drops the answer.
CODEX_FIELDS = {"decision", "reason", "hookSpecificOutput"}
CODEX_SPECIFIC = {
    "SessionStart": {"additionalContext"},
    "UserPromptSubmit": {"additionalContext"},
    "PreToolUse": {"permissionDecision", "permissionDecisionReason", "additionalContext"},
    "PostToolUse": {"additionalContext"},
}
PERMITTING = {"allow", "approve", "ask"}
CHANGING = {"updatedInput", "updatedPermissions", "tool_input", "continue", "stopReason"}


def adapter(client: str) -> Any:
    return import_module(f"handoff_memory.hooks.{client.replace('-', '_')}")


def case_id(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", CASES, ids=case_id)
def test_an_event_is_read_and_answered_as_the_file_says(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    client = adapter(path.parent.name)

    event = client.read(case["event"], case["input"])

    if case["read"] is None:
        assert event is None
        return
    found = event._asdict()
    assert {name: found[name] for name in case["read"]} == case["read"]
    assert client.write(event, Answer(**case["answer"])) == case["output"]


@pytest.mark.parametrize("path", CASES, ids=case_id)
def test_silence_says_nothing(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    client = adapter(path.parent.name)

    event = client.read(case["event"], case["input"])

    assert event is None or client.write(event, NOTHING) == client.SILENCE


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "text", "type", "stdout", "file"]), inner)
    ),
    max_leaves=6,
)
texts = st.none() | st.text(max_size=40)


@given(data=st.data(), answer=st.builds(Answer, texts, texts, texts))
def test_no_answer_ever_grants_a_permission_or_changes_a_call(
    data: st.DataObject, answer: Answer
) -> None:
    path = data.draw(st.sampled_from(CASES))
    case = json.loads(path.read_text("utf-8"))
    for name in data.draw(st.lists(st.sampled_from(sorted(case["input"])), max_size=3)):
        case["input"][name] = data.draw(json_values)
    client = adapter(path.parent.name)

    event = client.read(case["event"], case["input"])

    if event is None:
        return
    told = client.write(event, answer)
    names, values = flat(json.loads(json.dumps(told)), event, answer)
    assert not names & CHANGING
    assert not values & PERMITTING
    if path.parent.name == "codex" and told is not None:
        assert set(told) <= CODEX_FIELDS
        specific = dict(told.get("hookSpecificOutput", {"hookEventName": "PostToolUse"}))
        assert set(specific) - {"hookEventName"} <= CODEX_SPECIFIC[specific["hookEventName"]]
    if path.parent.name == "cursor":
        assert isinstance(told, dict)


def flat(told: Any, event: Event, answer: Answer) -> tuple[set[str], set[str]]:
    """Names and texts of an answer, but for what the tool itself said and what we were to say."""
    given = {*filter(None, answer)}
    names: set[str] = set()
    values: set[str] = set()
    todo = [told]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            names |= set(one)
            todo += [v for name, v in one.items() if name != "updatedToolOutput"]
        elif isinstance(one, list):
            todo += one
        elif isinstance(one, str) and one not in given:
            values.add(one)
    return names, values


@pytest.mark.parametrize("client", KNOWN)
def test_a_long_context_is_cut_at_a_line_where_the_client_would_drop_it(client: str) -> None:
    case = json.loads((GOLDEN / client / "session_start.json").read_text("utf-8"))
    event = adapter(client).read("session-start", case["input"])

    told = adapter(client).write(event, Answer(context="a line of facts\n" * 2000))

    shown = next(v for v in _texts(told) if v.startswith("a line"))
    assert len(shown) <= CONTEXT_CHARS
    assert shown.endswith("a line of facts")


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for child in value.values() for text in _texts(child)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize(
    ("tool", "server"),
    [
        ("mcp__handoff-memory__osiris_plan", ""),
        ("mcp__handoff_memory__memory_write", ""),
        ("mcp__plugin_handoff-memory_handoff-memory__handoff_pickup", ""),
        ("mcp_handoff-memory_osiris.observe", "handoff-memory"),
        ("osiris_recall", "/opt/bin/python -m handoff_memory serve"),
    ],
)
def test_our_own_tools_are_known_under_each_client_s_name(tool: str, server: str) -> None:
    assert is_own(Event("before-tool", "PreToolUse", tool=tool, server=server))


@pytest.mark.parametrize(
    ("tool", "server"),
    [
        ("mcp__notes__memory_write", ""),
        ("mcp__handoff-memory__other", ""),
        ("Bash", ""),
        ("memory_read", "notes"),
        ("handoff_memory_canary", ""),
    ],
)
def test_another_server_s_tools_are_not_taken_for_ours(tool: str, server: str) -> None:
    assert not is_own(Event("before-tool", "PreToolUse", tool=tool, server=server))


async def test_all_tools_of_the_server_are_known_as_ours(settings: Any) -> None:
    async with open_app(settings) as app:
        listed = {*MemoryTools(app).table, *GovernorTools(app).table}

    assert listed | {"osiris_call"} == OWN_TOOLS


def test_each_client_with_hooks_is_in_the_table() -> None:
    assert tuple(CLIENTS) == KNOWN


@pytest.mark.parametrize("client", KNOWN)
def test_the_table_names_the_events_that_the_adapter_reads(client: str) -> None:
    read = adapter(client).read

    for kind, power in CLIENTS[client].powers.items():
        names = power.event.split(", ")
        events = [read(kind, {"hook_event_name": name, "tool_name": "Bash"}) for name in names]
        denied = [adapter(client).write(event, Answer(deny="no")) for event in events]
        told = [adapter(client).write(event, Answer(context="facts")) for event in events]
        assert any(denied) is power.blocks
        assert any(told) is power.adds_context
