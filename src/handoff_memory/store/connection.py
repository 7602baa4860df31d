"""How a connection to the database file is opened: its settings, WAL mode, and migrations."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from handoff_memory.store import driver, migrate
from handoff_memory.store.engine import Clock, Entropy
from handoff_memory.store.faults import translated
from handoff_memory.store.lock import ProcessLock
from handoff_memory.store.wal import SYNCS_APART

T = TypeVar("T")

_OPENING_STEP_MS: Final = 20

_PRAGMAS: Final = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA mmap_size = 0",  # a mapped file turns another process's mistake into our crash
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -8192",
    "PRAGMA wal_autocheckpoint = 0",  # own passive ones: a failing one would slow every commit
    "PRAGMA journal_size_limit = 67108864",
)
# Without fullfsync a commit on macOS reaches the drive's cache, not the drive.
_SYNCED_IN_COMMIT: Final = (
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
)
# A checkpoint syncs log and file, a commit does not.
_SYNCED_APART: Final = ("PRAGMA synchronous = NORMAL",)


class Source(NamedTuple):
    """What it takes to open a database.

    Attributes:
        path: The database file.
        durable: Whether each commit is on the disk before it is acknowledged.
        clock: Microseconds since 1970 UTC.
        entropy: Unpredictable bytes.
        any_thread: Whether connections may go from thread to thread, one at a time.
        looks_only: Whether the file itself is opened for reading only: then not even closing it as
            the last one moves the write-ahead log into it. For a `Reader` alone.
    """

    path: Path
    durable: bool
    clock: Clock
    entropy: Entropy
    any_thread: bool = False
    looks_only: bool = False


def connected(source: Source) -> driver.Connection:
    """A connection as the driver gives it: nothing of the file was looked at."""
    path = source.path
    conn = driver.connect(
        f"{path.absolute().as_uri()}?mode=ro" if source.looks_only else os.fspath(path),
        uri=source.looks_only,
        timeout=0,
        isolation_level=None,
        cached_statements=512,
        check_same_thread=not source.any_thread,
    )
    conn.row_factory = driver.Row
    return conn


def configure(conn: driver.Connection, more: Sequence[str]) -> None:
    """Give a connection the settings that all have, and more."""
    for pragma in (*_PRAGMAS, *more):
        conn.execute(pragma).fetchall()


def opened(source: Source, lock: ProcessLock, deadline_s: float) -> driver.Connection:
    """A connection that may write, to a file that was made or migrated where that was needed.

    Raises:
        StorageError: The file cannot serve; it was left as it was.
    """
    until = time.monotonic() + deadline_s
    with translated():
        conn = connected(source)
        try:
            conn.execute(f"PRAGMA busy_timeout = {_OPENING_STEP_MS}")
            present = _patiently(lambda: migrate.inspect(conn), until)  # before what writes
            in_commit = source.durable and not SYNCS_APART
            configure(conn, _SYNCED_IN_COMMIT if in_commit else _SYNCED_APART)
            is_wal = conn.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
            if not is_wal or present < migrate.newest():  # else it waits for nobody
                with lock.held(deadline_s / 2):
                    _patiently(lambda: conn.execute("PRAGMA journal_mode = WAL").fetchone(), until)
                    _patiently(lambda: _migrated(conn), until)
        except BaseException:
            conn.close()
            raise
        return conn


def _migrated(conn: driver.Connection) -> None:
    conn.execute("BEGIN IMMEDIATE")
    try:
        migrate.apply(conn)
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise


def _patiently(step: Callable[[], T], until: float) -> T:
    # Switching to WAL answers BUSY at once, without asking the busy handler.
    while True:
        try:
            return step()
        except driver.DriverError as error:
            busy = driver.result_code(error) & 0xFF in {5, 6}
            if not busy or time.monotonic() > until:
                raise
        import random  # noqa: PLC0415 - for the few that have to wait

        time.sleep(random.uniform(0.002, 0.02))  # noqa: S311 - jitter, not a secret
