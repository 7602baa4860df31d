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


class Disk:
    """A disk that fails: the system then drops what was written to the log since the last sync.

    Attributes:
        failures: How many syncs are going to fail.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.failures = 0
        self._folder = folder
        self._sync, self._pwrite = os.fdatasync, os.pwrite
        self._synced = 0
        self._dropped: list[tuple[int, int]] = []
        monkeypatch.setattr(os, "fdatasync", self.sync)
        monkeypatch.setattr(os, "pwrite", self.pwrite)

    def sync(self, fd: int) -> None:
        begin, self._synced = self._synced, os.fstat(fd).st_size
        if self.failures:
            self.failures -= 1
            self._dropped.append((begin, self._synced))
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self._sync(fd)

    def pwrite(self, fd: int, data: bytes, at: int) -> int:
        if not self.failures:  # else the sync after it drops it as well
            self._dropped = [
                (begin, end) for begin, end in self._dropped if begin < at or end > at + len(data)
            ]
        return self._pwrite(fd, data, at)

    def after_a_power_cut(self) -> set[str]:
        """What SQLite finds in what the disk has."""
        left = self._folder / "left.db"
        for end in ("", "-wal"):
            shutil.copy(f"{self._folder / 'memory.db'}{end}", f"{left}{end}")
        with Path(f"{left}-wal").open("r+b") as log:
            for begin, end_at in self._dropped:
                log.seek(begin)
                log.write(bytes(end_at - begin))
        conn = driver.connect(str(left))
        rows = conn.execute("SELECT name FROM meta WHERE value = 'kept'").fetchall()
        assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        conn.close()
        return {row[0] for row in rows}


@pytest.fixture
def disk(tmp_path: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> Disk:
    found = Disk(tmp_path, monkeypatch)
    put(writer, "before")
    return found


def sync_by(monkeypatch: pytest.MonkeyPatch, sync: Sync) -> None:
    monkeypatch.setattr(os, "fdatasync", sync)


def died(fd: int) -> None:
    raise KeyboardInterrupt


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


def test_what_the_disk_dropped_is_written_anew(writer: Writer, disk: Disk) -> None:
    disk.failures = 1

    put(writer, "one")
    assert disk.after_a_power_cut() == {"before", "one"}
    put(writer, "two")
    assert disk.after_a_power_cut() == {"before", "one", "two"}


def test_after_a_write_that_the_disk_did_not_take_nothing_is_acknowledged(
    writer: Writer, disk: Disk
) -> None:
    disk.failures = 3
    again = time.monotonic() + 0.5

    with pytest.raises(DatabaseIoError, match="a power cut may undo it"):
        put(writer, "one")
    with pytest.raises(DatabaseIoError, match="a power cut may undo it"):
        writer.write([lambda tx: health.meta(tx, "one")], until=again)  # a retry, say
    assert disk.after_a_power_cut() == {"before"}
    put(writer, "two")  # a sync alone would pass, and say nothing of what was dropped before

    assert disk.after_a_power_cut() == {"before", "one", "two"}


def test_a_log_in_doubt_is_not_moved_into_the_file(
    writer: Writer, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handoff_memory.store.sqlite._CHECKPOINT_BYTES", 1)
    monkeypatch.setattr("handoff_memory.store.sqlite._CHECKPOINT_PAUSE_S", 0.0)
    disk.failures = 3
    with pytest.raises(DatabaseIoError):
        put(writer, "one")

    writer.tend()  # the file would get what the log lacks, and the log older pages to put over it
    assert disk.after_a_power_cut() == {"before"}
    writer.tend()

    assert disk.after_a_power_cut() == {"before", "one"}
