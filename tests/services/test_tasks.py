"""Tasks: replayed they are what was kept, and every edit in the file is named by verify."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors import Clock
from handoff_memory.app import Local, Makers, open_local
from handoff_memory.core import task_state
from handoff_memory.core.author import Author
from handoff_memory.core.errors import (
    CorruptDatabaseError,
    InvalidArgumentError,
    InvalidNameError,
    NotFoundError,
)
from handoff_memory.core.task_state import TaskState
from handoff_memory.services import checkpointing, observing, planning, tasks, verify
from handoff_memory.services.limits import Governing, Limits
from handoff_memory.settings import Settings
from handoff_memory.store import tasks as rows
from processes import big

LIMITS = Limits()
GOVERNING = Governing(LIMITS)
SCOUT = Author("scout", "s_1")
# Another process and another SQLite: it drops the triggers that refuse, edits, puts them back.
EDITOR = """
import json, sqlite3, sys
path, statement = json.loads(sys.argv[1])
conn = sqlite3.connect(path, isolation_level=None)
triggers = conn.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
for name, _ in triggers:
    conn.execute(f"DROP TRIGGER {name}")
changed = conn.execute(statement).rowcount
for _, sql in triggers:
    conn.execute(sql)
print(changed)
"""


def planned(local: Local, who: Author = SCOUT, **asked: Any) -> Any:
    request = planning.PlanRequest(**asked)
    return local.write(lambda tx: planning.plan(tx, who, GOVERNING, request))


def did(local: Local, tool: str, text: str = "", **more: Any) -> Any:
    flags = more.pop("flags", None)
    seen = observing.see(LIMITS, tool, more, data=text.encode() or None, flags=flags)
    return local.write(lambda tx: observing.observe(tx, SCOUT, GOVERNING, seen))


def replayed(local: Local, task_id: str) -> bytes:
    state = local.read(lambda tx: tasks.replay(TaskState(), rows.events(tx, task_id)))
    return task_state.to_bytes(state)


def loaded(local: Local, task_id: str) -> bytes:
    return task_state.to_bytes(local.read(lambda tx: tasks.load_state(tx, task_id)))


# --- replay --------------------------------------------------------------------------------------

steps = st.lists(
    st.sampled_from(["read", "edit", "fail", "big", "flag", "step", "lesson", "snapshot", "seal"]),
    max_size=40,
)


def step(local: Local, what: str, n: int) -> None:  # noqa: C901 - one case a kind
    match what:
        case "read":
            did(local, "Read", f"page {n}", file_path=f"p{n % 5}")
        case "edit":
            did(local, "Edit", file_path="a.py", new_string=str(n))
        case "fail":
            seen = observing.see(LIMITS, "Bash", {"command": "make"}, error=f"no rule {n % 2}")
            local.write(lambda tx: observing.observe(tx, SCOUT, GOVERNING, seen))
        case "big":
            did(local, "Bash", big(f"log{n % 3}"), command=f"c{n % 4}")
        case "flag":
            did(local, "Bash", "ok", command="pytest", flags={"tests_passed": n % 2 == 0})
        case "step":
            planned(local, step=1 + n % 3)
        case "lesson":
            planned(local, lesson=f"lesson {n % 3}")
        case "snapshot":
            local.write(lambda tx: checkpointing.snapshot(tx, SCOUT, GOVERNING))
        case _:
            planned(local, decisions=(f"decision {n}",))


@settings(max_examples=25, deadline=None)
@given(steps)
def test_replaying_the_journal_gives_the_kept_state_byte_for_byte(happened: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        makers = Makers(Clock(), random.Random(3).randbytes)
        with open_local(Settings(home, home / "m.db", home, durable=False), makers) as local:
            planned(local, task="t1", objective="x", plan=("a", "b", "c"))
            for n, what in enumerate(happened):
                step(local, what, n)

            kept = local.read(lambda tx: list(rows.states(tx)))
            whole, cached = replayed(local, "t1"), loaded(local, "t1")
            report = local.read(verify.verify)

            assert cached == whole
            for row in kept:
                until = local.read(
                    lambda tx, seq=row["seq"]: [e for e in rows.events(tx, "t1") if e["seq"] <= seq]
                )
                state = tasks.replay(TaskState(), until)
                assert bytes(row["state"]) == task_state.to_bytes(state)
            assert (report["ok"], report["problems"]) == (True, [])
            assert report["checked"]["event"] >= len(happened)


def test_what_a_session_takes_up_does_not_depend_on_when_the_state_was_kept(local: Local) -> None:
    planned(local, task="t1", objective="x")
    for n in range(14):
        did(local, "Bash", big(f"log{n}"), command=f"make target{chr(97 + n)}")
    before = planned(local, mode="resume")
    local.write(lambda tx: checkpointing.snapshot(tx, SCOUT, GOVERNING))

    after = planned(local, mode="resume")

    assert before["refs"] == [f"r{n}" for n in range(5, 15)]
    assert after["refs"] == before["refs"]


def test_an_erased_event_says_nothing_and_breaks_nothing(local: Local) -> None:
    planned(local, task="t1", objective="x")
    did(local, "Read", "page", file_path="a")
    local.write(
        lambda tx: tx.run("UPDATE events SET salt = NULL, body = NULL WHERE event = 'called'")
    )

    state = local.read(lambda tx: tasks.replay(TaskState(), rows.events(tx, "t1")))

    assert state.calls == 0
    assert len(state.seals) == 1


# --- what is stable ------------------------------------------------------------------------------


def test_the_objective_never_changes_and_the_rest_only_grows(local: Local) -> None:
    planned(local, task="t1", objective="x", constraints=("a",), decisions=("d",))
    planned(local, constraints=("b", "a"), decisions=("e",))

    with pytest.raises(InvalidArgumentError, match="never changes"):
        planned(local, task="t1", objective="y")
    task = local.read(lambda tx: tasks.get(tx, SCOUT, "t1"))

    assert task.stable.constraints == ("a", "b")
    assert task.stable.decisions == ("d", "e")


def test_a_plan_that_is_given_anew_keeps_what_is_done(local: Local) -> None:
    planned(local, task="t1", objective="x", plan=("a", "b"))
    planned(local, step=1)
    planned(local, plan=("a", "new", "b"))

    task = local.read(lambda tx: tasks.get(tx, SCOUT, "t1"))

    assert task.stable.plan == (("a", "completed"), ("new", "active"), ("b", "pending"))
    for wrong in (0, 4):
        with pytest.raises(InvalidArgumentError, match="from 1 to 3"):
            planned(local, step=wrong)


@pytest.mark.parametrize("task_id", ["a/b", ".", "..", "-x", "x" * 41, "a b", "ü", "a\n"])
def test_an_id_that_cannot_be_a_scope_or_a_file_name_is_refused(task_id: str, local: Local) -> None:
    with pytest.raises(InvalidNameError):
        planned(local, task=task_id, mode="start", objective="x")


def test_a_task_of_another_project_is_not_seen_and_its_id_is_taken(local: Local) -> None:
    planned(local, task="t1", objective="x")
    other = Author("scout", "s_2", "elsewhere")

    with pytest.raises(NotFoundError):
        planned(local, other, task="t1")
    with pytest.raises(InvalidArgumentError, match="exists already"):
        planned(local, other, task="t1", objective="mine")


# --- edits in the file ---------------------------------------------------------------------------

EDITS = [
    ("events", "body = CAST('{}' AS BLOB) WHERE event = 'called'", "event", "altered"),
    ("events", "body = CAST('no JSON' AS BLOB) WHERE event = 'called'", "event", "altered"),
    ("events", "body = CAST('[7]' AS BLOB) WHERE event = 'called'", "event", "altered"),
    ("events", "agent = 'mallory' WHERE event = 'called'", "event", "altered"),
    ("events", "at = at + 1 WHERE event = 'called'", "event", "altered"),
    ("events", "task = 't2' WHERE event = 'called'", "event", "altered"),
    ("events", "event = 'dreamt' WHERE event = 'called'", "event", "altered"),
    ("tasks", "task = 't2'", "task", "altered"),
    ("tasks", "project = 'mine'", "task", "altered"),
    ("tasks", "agent = 'mallory'", "task", "altered"),
    ("payloads", "size_bytes = 1", "payload", "altered"),
    ("payloads", "alias = 9", "payload", "altered"),
    ("payloads", "media_type = 'image/png'", "payload", "altered"),
    ("payloads", "redacted_bytes = 7", "payload", "altered"),
    ("payload_parts", "bytes = zeroblob(9)", "payload", ""),
    ("payload_parts", "part = 7, bytes = zeroblob(9)", "payload", ""),
    ("task_states", "state = CAST('{}' AS BLOB)", "task", "state"),
    ("task_states", "task = 't9'", "task", "state"),
]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("original")
    found = Settings(folder, folder / "memory.db", folder, durable=False)
    with open_local(found, Makers(Clock(), random.Random(7).randbytes)) as local:
        planned(local, task="t1", objective="x")
        did(local, "Bash", big("log"), command="make")
        local.write(lambda tx: checkpointing.snapshot(tx, SCOUT, GOVERNING))
    return found


@pytest.mark.parametrize(("table", "change", "kind", "what"), EDITS)
def test_an_edit_in_the_file_is_named_by_verify(
    table: str, change: str, kind: str, what: str, original: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "memory.db"
    shutil.copyfile(original.database, path)
    order = json.dumps([str(path), f"UPDATE {table} SET {change}"])
    done = subprocess.run([sys.executable, "-c", EDITOR, order], capture_output=True, check=True)
    assert int(done.stdout) > 0

    with open_local(original._replace(database=path)) as local:
        report = local.read(verify.verify)

    assert not report["ok"]
    assert kind in {problem["kind"] for problem in report["problems"]}
    assert any(what in problem["what"] for problem in report["problems"])


def test_a_file_that_nobody_edited_is_whole(original: Settings) -> None:
    with open_local(original) as local:
        report = local.read(verify.verify)

    assert report["problems"] == []
    assert {kind: report["checked"][kind] for kind in ("task", "payload")} == {
        "task": 1,
        "payload": 1,
    }
    assert report["checked"]["event"] == 3


@pytest.mark.parametrize(
    "change",
    [
        *("tasks SET seq = 99", "events SET seq = 99", "payloads SET alias = 99"),
        *("payload_parts SET part = 99", "events SET body = zeroblob(1)"),
    ],
)
def test_the_triggers_refuse_to_change_what_is_hashed(change: str, local: Local) -> None:
    planned(local, task="t1", objective="x")
    did(local, "Bash", big("log"), command="make")

    with pytest.raises(Exception, match="append-only"):
        local.write(lambda tx: tx.run(f"UPDATE {change}"))

    assert local.read(verify.verify)["ok"]


def test_a_text_with_a_secret_is_known_when_it_comes_again(local: Local) -> None:
    secret = "sk-" + "ant-api03-" + "aB3dE6gH9" * 9
    asked = {"objective": f"rotate {secret}", "decisions": (f"never print {secret}",)}
    task = planned(local, **asked)["task"]

    again = planned(local, task=task, **asked)

    assert "drift" not in again
    assert "dec=1" in again["manifest"]


def test_a_kept_state_that_is_none_is_a_damaged_database(local: Local) -> None:
    task = planned(local, objective="a")["task"]
    local.write(lambda tx: rows.save_state(tx, task, 1, b'{"calls": 1'))

    with pytest.raises(CorruptDatabaseError, match=f"kept state of task {task}"):
        local.read(lambda tx: tasks.get(tx, SCOUT, task))
