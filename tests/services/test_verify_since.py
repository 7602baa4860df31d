"""What was written since a good head is checked in its own time; what lies before is left out.

A full verification never believes the mark, which lies in the file like everything else.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from actors import Agent
from handoff_memory.app import Local
from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.services import verify_since

EDITOR = """
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], isolation_level=None)
triggers = conn.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
for name, _ in triggers:
    conn.execute(f"DROP TRIGGER {name}")
print(sum(conn.execute(statement).rowcount for statement in sys.argv[2:]))
for _, sql in triggers:
    conn.execute(sql)
"""


def quiet(done: int, total: int) -> None:
    """No progress."""


@pytest.fixture
def tamper(local: Local) -> Callable[..., None]:
    """Another process edits rows behind the triggers' back."""

    def edit(*statements: str) -> None:
        command = [sys.executable, "-c", EDITOR, str(local.settings.database), *statements]
        changed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert int(changed) == len(statements)

    return edit


@pytest.fixture
def good(local: Local, scout: Agent) -> dict[str, Any]:
    """The head of a database with three versions that was verified, seq 3."""
    for value in ("north", "east", "west"):
        scout.write("plan/route", value)
    report = local.verify(quiet)
    assert report["ok"]
    head: dict[str, Any] = report["head"]
    return head


def names(report: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(one["kind"], one["name"], one.get("version")) for one in report["problems"]]


def test_only_what_was_written_since_is_checked_and_the_report_says_so(
    local: Local, scout: Agent, good: dict[str, Any]
) -> None:
    scout.write("plan/route", "south")
    scout.report("plan/route", "success")

    report = local.verify_since("last")

    assert report["ok"]
    assert report["since"] == good
    assert (report["checked"]["journal"], report["checked"]["record"]) == (2, 1)
    assert report["head"]["seq"] == 5
    assert "the file" in report["not_checked"]


def test_the_next_one_begins_where_a_good_one_ended(
    local: Local, scout: Agent, good: dict[str, Any]
) -> None:
    scout.write("plan/route", "south")

    first = local.verify_since("last")
    second = local.verify_since("last")

    assert second["since"] == first["head"]
    assert second["checked"]["journal"] == 0


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE records SET agent = 'mallory' WHERE seq = 4", ("record", "plan/route", 4)),
        ("UPDATE records SET body = CAST('1' AS BLOB) WHERE seq = 4", ("record", "plan/route", 4)),
        ("DELETE FROM records WHERE seq = 4", ("record", "plan/route", 4)),
        ("UPDATE journal SET chain = zeroblob(32) WHERE seq = 4", ("journal", "seq 4", None)),
        ("UPDATE outcomes SET after = 1 WHERE seq = 5", ("outcome", "plan/route", 4)),
        ("UPDATE opinions SET confidence = 1 WHERE seq = 4", ("record", "plan/route", 4)),
        ("UPDATE heads SET seq = 3, version = 3 WHERE seq = 4", ("record", "plan/route", 4)),
        ("DELETE FROM current_text_docsize WHERE id = 4", ("record", "plan/route", 4)),
    ],
)
def test_an_edit_behind_the_mark_is_found(
    statement: str,
    found: tuple[Any, ...],
    local: Local,
    scout: Agent,
    good: dict[str, Any],
    tamper: Callable[..., None],
) -> None:
    scout.write("plan/route", "south")
    scout.report("plan/route", "success")

    tamper(statement)

    report = local.verify_since("last")
    assert not report["ok"]
    assert found in names(report)
    assert local.verify_since("last")["since"] == good, "a bad head is no mark"


def test_an_edit_before_the_mark_is_not_looked_at_and_a_full_verification_finds_it(
    local: Local, scout: Agent, good: dict[str, Any], tamper: Callable[..., None]
) -> None:
    scout.write("plan/route", "south")

    tamper("UPDATE records SET agent = 'mallory' WHERE seq = 2")

    report = local.verify_since("last")
    assert report["ok"]
    assert report["since"]["seq"] == 3
    assert "lines up to that one" in report["not_checked"]
    assert ("record", "plan/route", 2) in names(local.verify(quiet))


def test_a_mark_that_was_moved_over_an_edit_hides_nothing_from_a_full_verification(
    local: Local, scout: Agent, good: dict[str, Any], tamper: Callable[..., None]
) -> None:
    scout.write("plan/route", "south")
    moved = (
        "UPDATE meta SET value = (SELECT '4:' || lower(hex(chain)) FROM journal WHERE seq = 4)"
        " WHERE name = 'verified'"
    )

    tamper("UPDATE records SET agent = 'mallory' WHERE seq = 4", moved)

    assert local.verify_since("last")["checked"]["journal"] == 0, "it says that it saw nothing"
    assert ("record", "plan/route", 4) in names(local.verify(quiet))


def test_a_head_kept_elsewhere_shows_that_the_lines_before_it_were_replaced(
    local: Local, scout: Agent, good: dict[str, Any], tamper: Callable[..., None]
) -> None:
    kept = f"{good['seq']}:{good['chain']}"
    assert local.verify_since(kept)["ok"]

    tamper("UPDATE journal SET chain = zeroblob(32) WHERE seq = 3")

    assert ("journal", "seq 3", None) in names(local.verify_since(kept))


def test_a_tail_that_was_cut_off_behind_the_mark_is_found(
    local: Local, good: dict[str, Any], tamper: Callable[..., None]
) -> None:
    tamper("DELETE FROM journal WHERE seq = 3")

    assert ("journal", "seq 3", None) in names(local.verify_since("last"))


@pytest.mark.parametrize("given", ["last", "3", "3:xyz", "three:00"])
def test_what_names_no_head_is_refused(given: str, local: Local, scout: Agent) -> None:
    scout.write("plan/route")

    with pytest.raises(InvalidArgumentError):
        local.read(lambda tx: verify_since.marked(tx, given))
