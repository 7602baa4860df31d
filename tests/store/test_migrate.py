"""Files of older programs are lifted, and are then what a new file is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handoff_memory.app import Makers, open_local
from handoff_memory.services import verify
from handoff_memory.settings import Settings
from handoff_memory.store import driver, migrate

OLDER = [number for number, _ in migrate.steps()[:-1]]


def made_by_an_older_program(path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = tuple(step for step in migrate.steps() if step[0] <= number)
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "steps", lambda: steps)
        conn = driver.connect(str(path), isolation_level=None)
        migrate.apply(conn)
        conn.close()


@pytest.mark.parametrize("number", OLDER)
def test_an_older_file_is_lifted_to_what_a_new_one_is(
    settings: Settings, makers: Makers, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    made_by_an_older_program(settings.database, number, monkeypatch)

    with open_local(settings, makers) as local:
        local.write(lambda tx: None)
        report = local.read(verify.verify)
        present = local.read(lambda tx: tx.one("PRAGMA user_version"))

    assert report["problems"] == []
    assert tuple(present) == (migrate.newest(),)


@pytest.mark.parametrize("index", ["records_by_scope", "sessions_by_agent"])
def test_an_older_file_that_lost_an_index_is_lifted_all_the_same(
    settings: Settings, makers: Makers, monkeypatch: pytest.MonkeyPatch, index: str
) -> None:
    made_by_an_older_program(settings.database, 1003, monkeypatch)
    conn = driver.connect(str(settings.database), isolation_level=None)
    conn.execute(f"DROP INDEX {index}")
    conn.close()

    with open_local(settings, makers) as local:
        report = local.read(verify.verify)

    assert report["problems"] == []


@pytest.mark.parametrize("is_newer", [True, False])
def test_an_index_is_missed_unless_a_newer_program_dropped_it(
    settings: Settings, makers: Makers, is_newer: bool
) -> None:
    conn = driver.connect(str(settings.database), isolation_level=None)
    conn.execute("BEGIN")
    migrate.apply(conn)
    conn.execute("COMMIT")
    conn.execute("DROP INDEX records_by_name")
    if is_newer:
        conn.execute(f"PRAGMA user_version = {migrate.newest() + 1}")
    conn.close()

    with open_local(settings, makers) as local:
        local.write(lambda tx: None)
        found = local.read(verify.verify)["problems"]

    missed = [problem["what"] for problem in found]
    assert missed == ([] if is_newer else ["index records_by_name is missing"])


class Meddled:
    """A connection to which something happens between two of its statements."""

    def __init__(self, conn: driver.Connection, meddle: Callable[[], object], at: str) -> None:
        self._conn, self._meddle, self._at = conn, meddle, at

    @property
    def in_transaction(self) -> bool:
        return self._conn.in_transaction

    def execute(self, sql: str) -> Any:
        if sql == self._at:
            self._meddle()
        return self._conn.execute(sql)


@pytest.mark.parametrize("at", ["PRAGMA application_id", "SELECT count(*) FROM sqlite_schema"])
def test_a_file_that_is_made_while_it_is_looked_at_is_nobody_elses(tmp_path: Path, at: str) -> None:
    path = tmp_path / "memory.db"
    one = driver.connect(path, isolation_level=None)
    other = driver.connect(path, isolation_level=None, timeout=0)
    one.execute("PRAGMA journal_mode = WAL")

    def make() -> None:
        other.execute("BEGIN IMMEDIATE")
        migrate.apply(other)
        other.execute("COMMIT")

    meddled: Any = Meddled(one, make, at)
    try:
        assert migrate.inspect(meddled) == 0
        assert migrate.inspect(one) == migrate.newest()
    finally:
        one.close()
        other.close()
