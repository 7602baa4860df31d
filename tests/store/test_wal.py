"""A commit is acknowledged once the disk has it, and others need not wait for that."""

import errno
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from actors import Clock
from handoff_memory.core.errors import DatabaseIoError
from handoff_memory.store import driver, health
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Operation, Tx
from handoff_memory.store.lock import ProcessLock
from handoff_memory.store.sqlite import Reader, Writer
from handoff_memory.store.wal import SYNCS_APART

pytestmark = pytest.mark.skipif(not SYNCS_APART, reason="SQLite syncs within COMMIT here")

Sync = Callable[[int], None]


def keep(name: str) -> Operation[str]:
    def operation(tx: Tx) -> str:
        health.set_meta(tx, name, "kept")
        return name

    return operation


def source(folder: Path, *, durable: bool = True) -> Source:
    return Source(folder / "memory.db", durable, Clock(), random.Random(1).randbytes)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    opened = Writer(source(tmp_path), deadline_s=5)
    yield opened
    opened.close()


def put(writer: Writer, name: str) -> None:
    (done,) = writer.write([keep(name)], until=time.monotonic() + 0.5)
    assert done == name


def kept_in_file_alone(folder: Path) -> set[str]:
    """What a power cut leaves when it takes the whole log."""
    shutil.copy(folder / "memory.db", folder / "alone.db")
    conn = driver.connect(str(folder / "alone.db"))
    rows = conn.execute("SELECT name FROM meta WHERE value = 'kept'").fetchall()
    conn.close()
    return {row[0] for row in rows}


def sync_by(monkeypatch: pytest.MonkeyPatch, sync: Sync) -> None:
    monkeypatch.setattr(os, "fdatasync", sync)


def died(fd: int) -> None:
    raise KeyboardInterrupt


def failing(times: int) -> Sync:
    really, left = os.fdatasync, [times]

    def sync(fd: int) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        really(fd)

    return sync


def test_a_commit_is_synced_after_the_turn_was_given_back(
    tmp_path: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, syncs = os.fdatasync, []
    other, reader = ProcessLock(tmp_path / "memory.db.lock"), Reader(source(tmp_path))

    def sync(fd: int) -> None:
        is_free = other.acquire(0)
        other.release()
        committed = reader.read(lambda tx: health.meta(tx, "one"))
        is_log = os.path.samestat(os.fstat(fd), (tmp_path / "memory.db-wal").stat())
        syncs.append((is_free, committed, is_log))
        really(fd)

    sync_by(monkeypatch, sync)
    put(writer, "one")

    assert syncs == [(True, "kept", True)]
    other.close()
    reader.close()


def test_what_repeats_a_write_that_died_before_its_sync_is_synced(
    tmp_path: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = Writer(source(tmp_path), deadline_s=5)
    sync_by(monkeypatch, died)
    with pytest.raises(KeyboardInterrupt):
        put(dying, "one")
    dying.close()
    syncs: list[int] = []
    sync_by(monkeypatch, syncs.append)

    seen = writer.write([lambda tx: health.meta(tx, "one")], until=time.monotonic() + 1)

    assert (seen, len(syncs)) == (["kept"], 1)


def test_what_may_be_lost_is_not_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs: list[int] = []
    sync_by(monkeypatch, syncs.append)
    relaxed = Writer(source(tmp_path, durable=False), deadline_s=5)

    put(relaxed, "relaxed")
    relaxed.close()

    assert syncs == []


def test_what_the_log_may_have_lost_is_written_into_the_file(
    tmp_path: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync_by(monkeypatch, failing(1))

    put(writer, "one")
    assert kept_in_file_alone(tmp_path) == {"one"}

    put(writer, "two")
    assert kept_in_file_alone(tmp_path) == {"one"}  # the disk takes the log again


def test_a_write_that_neither_log_nor_file_can_take_is_no_acknowledged_one(
    tmp_path: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync_by(monkeypatch, failing(1))
    onlooker = driver.connect(str(tmp_path / "memory.db"), isolation_level=None)
    onlooker.execute("BEGIN")
    onlooker.execute("SELECT * FROM meta").fetchall()  # what it sees keeps the log from the file

    with pytest.raises(DatabaseIoError, match="a power cut may undo it"):
        put(writer, "one")
    with pytest.raises(DatabaseIoError, match="a power cut may undo it"):
        put(writer, "two")  # a sync would pass, and say nothing of what failed before
    with pytest.raises(DatabaseIoError, match="a power cut may undo it"):
        writer.write([lambda tx: health.meta(tx, "one")], until=time.monotonic() + 0.5)  # a retry
    onlooker.close()
    put(writer, "three")

    assert kept_in_file_alone(tmp_path) == {"one", "two", "three"}
