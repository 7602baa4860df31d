"""Two processes, and two threads, report what one does alone, on a sound database and another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from actors import Agent
from handoff_memory import verification
from handoff_memory.app import Local
from handoff_memory.services import verify
from handoff_memory.store.connection import Source

pytestmark = pytest.mark.processes

FORGE = """
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], isolation_level=None)
for name, sql in conn.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"):
    if name.startswith("records"):
        conn.execute(f"DROP TRIGGER {name}")
conn.execute("UPDATE records SET agent = 'mallory' WHERE seq IN (2, 17, 30)")
conn.execute("DELETE FROM heads WHERE seq = 40")
"""


@pytest.fixture
def source(local: Local, scout: Agent) -> Source:
    for number in range(40):
        scout.write(f"s/k{number}", number)
    return local._source


@pytest.mark.parametrize("forge", [False, True])
def test_two_threads_find_what_one_does(local: Local, source: Source, forge: bool) -> None:
    if forge:
        subprocess.run([sys.executable, "-c", FORGE, str(source.path)], check=True)

    report = verification.in_one(source, local.read)

    assert report["ok"] is not forge
    assert report == local.read(verify.verify)


def test_one_thread_finishes_alone_where_the_second_cannot(
    local: Local, source: Source, tmp_path: Path
) -> None:
    report = verification.in_one(source._replace(path=tmp_path / "gone"), local.read)

    assert report == local.read(verify.verify)


def test_two_processes_find_a_sound_database_sound(local: Local, source: Source) -> None:
    report = verification.in_two(source, local.read, 40)

    assert report["ok"]
    assert report == local.read(verify.verify)


def test_two_processes_find_what_one_does_in_the_same_order(local: Local, source: Source) -> None:
    subprocess.run([sys.executable, "-c", FORGE, str(source.path)], check=True)

    report = verification.in_two(source, local.read, 40)

    assert len(report["problems"]) > 5
    assert report == local.read(verify.verify)


def test_one_process_finishes_alone_where_the_second_cannot(
    local: Local, source: Source, tmp_path: Path
) -> None:
    report = verification.in_two(source._replace(path=tmp_path / "gone"), local.read, 40)

    assert report == local.read(verify.verify)
