"""Files of older programs are lifted, and are then what a new file is."""

from __future__ import annotations

from pathlib import Path

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
