"""Power cuts at any moment: what was acknowledged stays, and the file stays whole.

Two real processes write under strace; what the calls that they made would leave on a disk is played
on a simulated one (`disk`), is opened with the program, and verified.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from handoff_memory.app import open_local
from handoff_memory.services import verify
from stress import traced, two_writers, worker
from stress.disk import Disk
from stress.harness import WAIT_S, measured
from stress.traced import Call, Step

pytestmark = pytest.mark.stress

BATCHES = 120
# Of a slow disk: the other one goes on with, and moves into the file, what is not yet synced.
SLOWLY = "--inject=fdatasync:delay_enter=5000"
# So many steps after a drop much of what is done builds on it.
SOON = 300
Version = tuple[str, int]


class Cut(NamedTuple):
    """A moment without power.

    Attributes:
        step: How many steps of the trace had happened.
        left: What is in the files, by name.
        promised: Keys and versions that had been acknowledged.
    """

    step: int
    left: dict[str, bytes]
    promised: frozenset[Version]


@pytest.fixture(autouse=True)
def _traceable() -> None:
    if reason := traced.why_not():
        pytest.skip(reason)


def run_traced(database: Path, mode: str) -> list[Step]:
    """All that both writers did, in order."""
    trace = database.with_suffix(".trace")
    writers = [sys.executable, two_writers.__file__, str(database), mode, str(BATCHES)]
    subprocess.run(
        [*traced.STRACE, SLOWLY, f"--output={trace}", *writers],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=WAIT_S,
    )
    with trace.open() as lines:
        steps = list(traced.steps(lines))
    trace.unlink()
    return steps


def said(step: Step) -> tuple[str, list[str]]:
    """What a step tells the caller: once the call is entered, it may know."""
    call = step.call
    if step.result is not None or call.name != "write" or call.fd != "1":
        return "", []
    word, *names = call.texts[0].decode().split()
    assert word in {"kept", "dropped"}
    return word, names


def acknowledged(step: Step) -> list[Version]:
    """What a step tells the caller is kept."""
    word, names = said(step)
    pairs = (name.split(":") for name in names)
    return [(key, int(version)) for key, version in pairs] if word == "kept" else []


def begins_log(call: Call, log: str) -> bool:
    """Whether it is SQLite writing the log's header."""
    return call.path == log and call.name == "pwrite64" and call.numbers == (32, 0)


def drops(steps: list[Step], log: str) -> set[int]:
    """The steps at which a sync failed and what was pending of the log is dropped.

    Where SQLite begins the log anew, it syncs the header before it writes the first frame; told of
    a drop, it would write the header again. Nothing tells it in the trace: so a drop spares that.
    """
    found = set()
    beginner: int | None = None
    for number, step in enumerate(steps):
        pid = step.call.pid
        if begins_log(step.call, log):
            beginner = pid
        elif pid == beginner:
            beginner = None
        elif beginner is None and said(step)[0] == "dropped":
            found.add(number)
    return found


def cuts(steps: list[Step], database: Path, count: int, seed: int) -> Iterator[Cut]:
    """Power cuts at random steps, soon after drops if there are any, and one when all is done."""
    chance, last = random.Random(seed), len(steps) - 1
    log = f"{database}-wal"
    disk = Disk({str(database), log, f"{database}-journal"})
    dropping = drops(steps, log)
    soon = {min(number + after, last) for number in dropping for after in range(SOON)}
    moments = {*chance.sample(sorted(soon) or range(last), count - 1), last}
    promised: set[Version] = set()
    for number, step in enumerate(steps):
        disk.take(step)
        if number in dropping:
            disk.drop(log, chance)
        promised.update(acknowledged(step))
        if number in moments:
            left = {Path(path).name: content for path, content in disk.left(chance).items()}
            yield Cut(number, {database.name: b"", **left}, frozenset(promised))


def found_after(cut: Cut, folder: Path, name: str) -> set[Version]:
    """The versions that the program finds; it goes on writing, and finds nothing wrong."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file, content in cut.left.items():
        (folder / file).write_bytes(content)
    with open_local(worker.settings(folder / name, durable=False)) as local:
        rows = local.read(lambda tx: tx.all("SELECT key, version FROM records"))
        local.write(two_writers.writing("after", "after", "the power is back"))
        report = local.read(verify.verify)
        integrity = local.read(lambda tx: tx.all("PRAGMA integrity_check"))
    assert report["ok"], (cut.step, report["problems"][:5])
    assert [tuple(row) for row in integrity] == [("ok",)], cut.step
    return {(row["key"], row["version"]) for row in rows}


def moved(steps: list[Step], database: Path) -> tuple[int, int]:
    """How often the file was synced, and how often the log began anew."""
    done = [step.call for step in steps if step.result is not None]
    syncs = [call for call in done if call.name in {"fsync", "fdatasync"}]
    return (
        sum(call.path == str(database) for call in syncs),
        sum(begins_log(call, f"{database}-wal") for call in done),
    )


def lost_in(tmp_path: Path, mode: str, count: int, seed: int, *, drops_over: int = -1) -> list[int]:
    """How many acknowledged versions each of so many power cuts takes."""
    database = tmp_path / "cut.db"
    began = time.monotonic()
    steps = run_traced(database, mode)
    ran_s = time.monotonic() - began
    syncs, begun = moved(steps, database)
    dropped = len(drops(steps, f"{database}-wal"))
    lost = [
        len(cut.promised - found_after(cut, tmp_path / "after", database.name))
        for cut in cuts(steps, database, count, seed)
    ]
    took_s = time.monotonic() - began
    measured(
        f"{mode}: {sum(map(bool, lost))} of {len(lost)} power cuts in {len(steps)} steps lost "
        f"{sum(lost)} versions; file synced {syncs} times, log begun {begun} times; "
        f"{dropped} syncs dropped what was pending; "
        f"traced for {ran_s:.1f} s of {took_s:.1f} s"
    )
    assert syncs > 48
    assert begun > 24
    assert dropped > drops_over
    return lost


def test_no_power_cut_takes_an_acknowledged_write(tmp_path: Path) -> None:
    assert not any(lost_in(tmp_path, "full", 300, seed=19))


def test_power_cuts_take_relaxed_writes_and_leave_the_file_whole(tmp_path: Path) -> None:
    assert any(lost_in(tmp_path, "relaxed", 60, seed=20))


def test_no_power_cut_takes_an_acknowledged_write_where_syncs_fail(tmp_path: Path) -> None:
    assert not any(lost_in(tmp_path, "failing", 150, seed=21, drops_over=10))
