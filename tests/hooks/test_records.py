"""The files that hooks read and keep: gaps, and the clients' own records of an output."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from handoff_memory.hooks import gaps, persisted, rollout
from handoff_memory.hooks.event import Event

DB = Path("/projects/shop/memory.db")


def noted(home: Path) -> list[bytes]:
    path = home / gaps.NAME
    return path.read_bytes().splitlines() if path.exists() else []


# --- gaps ---------------------------------------------------------------------------------------


def test_a_gap_is_journaled_once_and_gone(tmp_path: Path) -> None:
    told: list[str] = []
    gaps.note(tmp_path, DB, "scout", "before-tool: locked")

    for _ in range(2):
        gaps.settle(tmp_path, DB, "scout", told.append)

    assert told == ["before-tool: locked"]
    assert list(tmp_path.iterdir()) == []


def test_a_gap_waits_for_its_database_and_its_agent(tmp_path: Path) -> None:
    told: list[str] = []
    gaps.note(tmp_path, DB, "scout", "mine")
    gaps.note(tmp_path, DB, "executor", "of another agent")
    gaps.note(tmp_path, Path("/elsewhere.db"), "scout", "of another database")
    gaps.note(tmp_path, None, None, "nobody's")

    gaps.settle(tmp_path, DB, "scout", told.append)

    assert told == ["mine", "nobody's"]
    assert len(noted(tmp_path)) == 2


def test_a_gap_that_cannot_be_journaled_yet_stays(tmp_path: Path) -> None:
    told: list[str] = []
    for text in ("first", "second", "third"):
        gaps.note(tmp_path, DB, "scout", text)

    def journal(text: str) -> None:
        if told:
            raise OSError("locked again")
        told.append(text)

    with pytest.raises(OSError, match="locked again"):
        gaps.settle(tmp_path, DB, "scout", journal)
    gaps.settle(tmp_path, DB, "scout", told.append)

    assert told == ["first", "second", "third"]


def test_gaps_do_not_grow_without_end(tmp_path: Path) -> None:
    for _ in range(400):
        gaps.note(tmp_path, DB, "scout", "x" * 5_000)

    size = (tmp_path / gaps.NAME).stat().st_size
    assert 60_000 < size < 70_000


def test_a_damaged_note_is_a_gap_all_the_same(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / gaps.NAME).write_bytes(b'{"text":\n[1]\n')

    gaps.settle(tmp_path, DB, "scout", told.append)

    assert told == ["a gap whose note was damaged"] * 2


def test_a_gap_that_cannot_be_kept_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    gaps.note(tmp_path / "file" / "home", DB, "scout", "x")
    gaps.settle(tmp_path / "file" / "home", DB, "scout", pytest.fail)


# --- Codex's record -----------------------------------------------------------------------------


def ended(call_id: str, output: Any, status: Any, *, kind: str = "CommandExecution") -> bytes:
    item = {"type": kind, "id": call_id, "aggregated_output": output, "exit_code": status}
    return orjson.dumps({"payload": {"type": "item_completed", "item": item}}) + b"\n"


def of_codex(path: Path, call_id: str = "call_1") -> Event:
    return Event("after-tool", "PostToolUse", call_id=call_id, output="cut", transcript=str(path))


def test_the_record_says_how_a_command_ended_and_all_it_printed(tmp_path: Path) -> None:
    record = tmp_path / "rollout.jsonl"
    record.write_bytes(ended("call_1", "out\n", 3) + ended("call_2", "other", 0) + b'{"half')

    event = rollout.completed(of_codex(record))

    assert (event.output, event.exit_status) == ("out\n", 3)


@pytest.mark.parametrize(
    "lines",
    [
        b"",
        ended("call_2", "out", 0),
        ended("call_1", "out", None),
        ended("call_1", None, 0),
        ended("call_1", "out", 0, kind="McpToolCall"),
        b'"CommandExecution" call_1 is no JSON\n',
        b'{"payload": ["CommandExecution", "call_1"]}\n',
        b'{"payload": {"item": "CommandExecution call_1"}, "type": "CommandExecution"}\n',
    ],
)
def test_a_record_that_says_nothing_of_the_call_changes_nothing(
    lines: bytes, tmp_path: Path
) -> None:
    record = tmp_path / "rollout.jsonl"
    record.write_bytes(lines)

    assert rollout.completed(of_codex(record)) == of_codex(record)


def test_a_record_that_is_no_file_changes_nothing(tmp_path: Path) -> None:
    for path in (tmp_path / "gone", tmp_path):
        assert rollout.completed(of_codex(path)) == of_codex(path)


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_a_pipe_in_a_record_s_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    of_claude = Event("after-tool", "PostToolUse", output="x", kept_at=str(tmp_path / "pipe"))

    assert rollout.completed(of_codex(tmp_path / "pipe")).output == "cut"
    assert not persisted.completed(of_claude._replace(is_replaceable=True)).is_replaceable


# --- Claude Code's file -------------------------------------------------------------------------


def test_a_shortened_output_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("line 1\nline 2\nline 3\n")
    event = Event(
        *("after-tool", "PostToolUse"),
        output="line 1\n",
        is_replaceable=True,
        kept_at=str(tmp_path / "kept.txt"),
    )

    found = persisted.completed(event)

    assert found.output == "line 1\nline 2\nline 3\n"
    assert found.is_replaceable


@pytest.mark.parametrize("kept", [None, "something else"])
def test_a_part_does_not_stand_for_the_whole(kept: str | None, tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    if kept is not None:
        path.write_text(kept)
    event = Event("after-tool", "PostToolUse", output="line 1", is_replaceable=True)

    found = persisted.completed(event._replace(kept_at=str(path)))

    assert found.output == "line 1"
    assert not found.is_replaceable
