"""The SQLite engine: how the file is opened, written in batches and read in snapshots.

The only `BEGIN` and `COMMIT` of the program stand here. A `Writer` or `Reader` belongs to the
thread that opened it. Driver errors become ours here and nowhere else (`faults` has the table).
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from handoff_memory.core import errors
from handoff_memory.core.errors import BusyError, MemoryFault, StorageError
from handoff_memory.store import driver, migrate, place
from handoff_memory.store.engine import Clock, Entropy, Operation
from handoff_memory.store.faults import as_fault
from handoff_memory.store.lock import ProcessLock
from handoff_memory.store.transaction import Batch, Transaction
from handoff_memory.store.wal import SYNCS_APART, WriteAheadLog

T = TypeVar("T")

BATCH_LIMIT: Final = 512  # some 50 ms: so long others wait for their turn
_PART: Final = 64  # of a batch in which something failed
_CHECKPOINT_BYTES: Final = 4 << 20
_CHECKPOINT_PAUSE_S: Final = 0.5
_CHECKPOINT_LOCK_S: Final = 1.0
_CLOSE_LOCK_S: Final = 2.0
_READ_PATIENCE_MS: Final = 5000
_OPENING_STEP_MS: Final = 20
_WAIT_STEP_MS: Final = 20
_LOOK_EVERY_S: Final = 0.01

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


class _UndoneError(Exception):
    """An operation failed, and with it the transaction that it was run in without a savepoint."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class Writer:
    """The one connection of this process that writes.

    Attributes:
        watch: Notices when the file is not the one that was opened.
    """

    def __init__(self, source: Source, *, deadline_s: float) -> None:
        """Open the database, making and migrating it where needed.

        Raises:
            StorageError: The file cannot serve; it was left as it was.
        """
        place.prepare(source.path)
        self._source = source
        self._lock = ProcessLock(source.path.with_name(source.path.name + ".lock"))
        self.watch = place.Watch(source.path)
        self._log = WriteAheadLog(source.path)
        self._confirms = source.durable and SYNCS_APART
        self._checkpointed = time.monotonic()
        self._look_at = 0.0
        self._wait_ms = -1
        try:
            self._conn = _opened(source, self._lock, deadline_s)
        except BaseException:
            self._lock.close()
            raise
        self._batch = Batch(self._conn.cursor(), {}, {})
        self.watch.settle()

    def write(self, batch: Sequence[Operation[T]], *, until: float) -> list[T | Exception]:
        """Run the operations and commit all that succeed at once, or none.

        Args:
            batch: The operations, at most `BATCH_LIMIT`. Each may be run twice: what the first run
                did is then undone.
            until: Monotonic time at which to give up waiting for other processes.

        Returns:
            For each operation what it returned, or the error that undid it alone.

        Raises:
            StorageError: Nothing of the batch was committed, or `DatabaseIoError`: the disk did not
                confirm that it was.
        """
        # A savepoint makes the full-text index write out what it holds, once for each operation
        # instead of once for all. Few operations fail, so savepoints are for a batch with one that
        # did.
        try:
            with self.transaction(until=until):
                return [self._undivided(operation) for operation in batch]
        except _UndoneError as undone:
            if len(batch) == 1:
                return [undone.error]
        if len(batch) > _PART:
            parts = (batch[at : at + _PART] for at in range(0, len(batch), _PART))
            return [result for part in parts for result in self._part(part, until)]
        with self.transaction(until=until):
            return [self._in_savepoint(operation) for operation in batch]

    @contextmanager
    def transaction(self, *, until: float) -> Iterator[Transaction]:
        """Hold one write transaction; what leaves it by an error undoes it whole.

        Raises:
            StorageError: As of `write`.
        """
        self.watch.check()
        patience = max(0.0, until - time.monotonic())
        with self._lock.held(patience / 2) as held:
            if not held and driver.WAL_RESET_BUG:
                raise BusyError("another process held the database for too long")
            with _faults():
                self._begin(until)
                self._batch.forget()
                try:
                    yield self._transaction()
                    self._transaction().settle()
                    self._conn.execute("COMMIT")
                except BaseException:
                    if self._conn.in_transaction:
                        self._conn.execute("ROLLBACK")
                    raise
        if self._confirms:  # also what changed nothing: it may repeat what another has not synced
            self._confirm()
        self.watch.check()  # a file that was deleted meanwhile took the commit with it
        self._look_at = time.monotonic() + _LOOK_EVERY_S

    def read(self, operation: Operation[T], *, is_one_query: bool = False) -> T:
        """Run one operation on a snapshot; what this connection wrote last is at hand.

        Args:
            operation: What to read.
            is_one_query: Whether it is a single query, and so a snapshot by itself.

        Raises:
            StorageError: The file cannot serve.
        """
        now = time.monotonic()
        if now >= self._look_at:  # looking costs as much as a small read
            self.watch.check()
            self._look_at = now + _LOOK_EVERY_S
        if is_one_query:
            with _faults():
                return operation(
                    Transaction(self._conn, self._source.clock(), self._source.entropy)
                )
        return _on_snapshot(self._conn, self._source, operation)

    def run(self, operation: Operation[T]) -> T:
        """Run an operation inside the transaction that is held; its error undoes it alone."""
        result = self._in_savepoint(operation)
        if isinstance(result, Exception):
            raise result
        return result

    def wants_tending(self) -> bool:
        """Whether `tend` has something to do; any thread may ask."""
        is_time = time.monotonic() - self._checkpointed >= _CHECKPOINT_PAUSE_S
        return is_time and self._log.size_bytes() >= _CHECKPOINT_BYTES

    def tend(self) -> None:
        """Move the write-ahead log into the file once it has grown; never waits for readers."""
        if self.wants_tending():
            self._checkpointed = time.monotonic()
            with suppress(MemoryFault):  # the log is complete without it
                self._checkpoint("PASSIVE")

    def close(self) -> None:
        """Close; the last process to do so empties the write-ahead log."""
        self._log.close()
        with self._lock.held(_CLOSE_LOCK_S if driver.WAL_RESET_BUG else 0.0):
            self._settle_moved()
            self._conn.close()
        self._lock.close()

    def _confirm(self) -> None:
        """Return when the disk has what was committed.

        Raises:
            DatabaseIoError: It may not have.
        """
        if self._log.reaches_disk():
            return
        with suppress(MemoryFault):  # writes into the file what the log may have lost
            self._log.is_in_doubt = not self._checkpoint("FULL")
        if self._log.is_in_doubt:
            raise errors.DatabaseIoError("the disk did not confirm it: a power cut may undo it")

    def _checkpoint(self, mode: str) -> bool:
        """Whether all of the write-ahead log is in the file now."""
        turn = self._lock.held(_CHECKPOINT_LOCK_S) if driver.WAL_RESET_BUG else nullcontext(True)
        with turn as has_turn, _faults():
            if not has_turn:
                return False
            busy, logged, moved = self._conn.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            return not busy and logged == moved

    def _settle_moved(self) -> None:
        # SQLite leaves the log of a file that was moved as it is, and whatever file has the name
        # by then would be read with that log.
        try:
            self.watch.check()
        except MemoryFault:
            with suppress(MemoryFault), _faults():
                self._conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _begin(self, until: float) -> None:
        wait_ms = int(max(0.0, until - time.monotonic()) * 1000)
        if not wait_ms <= self._wait_ms <= wait_ms + _WAIT_STEP_MS:
            self._conn.execute(f"PRAGMA busy_timeout = {wait_ms}")
            self._wait_ms = wait_ms
        self._conn.execute("BEGIN IMMEDIATE")

    def _part(self, part: Sequence[Operation[T]], until: float) -> Sequence[T | Exception]:
        try:
            return self.write(part, until=until)
        except StorageError as error:  # of others parts may be committed
            return [error] * len(part)

    def _undivided(self, operation: Operation[T]) -> T:
        try:
            result = operation(self._transaction())
        except driver.DriverError:
            raise
        except Exception as error:
            raise _UndoneError(error) from error
        self._check_open()
        return result

    def _in_savepoint(self, operation: Operation[T]) -> T | Exception:
        self._conn.execute("SAVEPOINT operation")
        try:
            tx = self._transaction()
            result: T | Exception = operation(tx)
            tx.settle()
        except driver.DriverError:
            raise  # a full disk ends the whole transaction: what then ran would commit on its own
        except Exception as error:  # noqa: BLE001 - one operation's fault must not undo the others
            self._conn.execute("ROLLBACK TO operation")
            self._batch.forget()
            result = error
        self._conn.execute("RELEASE operation")
        self._check_open()
        return result

    def _transaction(self) -> Transaction:
        source = self._source
        return Transaction(self._conn, source.clock(), source.entropy, self._batch)

    def _check_open(self) -> None:
        if not self._conn.in_transaction:
            raise errors.DatabaseIoError("SQLite ended the transaction by itself")


class Reader:
    """A connection that reads; it never waits for a writer and never writes."""

    def __init__(self, source: Source, watch: place.Watch | None = None) -> None:
        """Open a database that a `Writer` has made.

        Args:
            source: What it takes.
            watch: The writer's, so that both serve one file: another in its place would be read
                with this one's write-ahead log, and given that log on closing.

        Raises:
            StorageError: The file cannot serve.
        """
        self._source = source
        self._watch = watch or place.Watch(source.path)
        self._watch.check()
        self._look_at = 0.0
        with _faults():
            self._conn = _connected(source)
            self._conn.execute(f"PRAGMA busy_timeout = {_READ_PATIENCE_MS}")
            _configure(self._conn, ("PRAGMA query_only = ON",))
            self.is_current = migrate.inspect(self._conn) >= migrate.newest()
        self._watch.settle()

    def read(self, operation: Operation[T]) -> T:
        """Run one operation on one snapshot of the database.

        Raises:
            StorageError: The file cannot serve.
        """
        now = time.monotonic()
        if now >= self._look_at:  # looking costs as much as a small read
            self._watch.check()
            self._look_at = now + _LOOK_EVERY_S
        return _on_snapshot(self._conn, self._source, operation)

    def close(self) -> None:
        """Close the connection."""
        self._conn.close()


class _faults:  # noqa: N801 - reads as a statement: with _faults()
    """Turns a driver's error into ours on the way out."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, driver.DriverError):
            raise as_fault(error) from error


def _on_snapshot(conn: driver.Connection, source: Source, operation: Operation[T]) -> T:
    with _faults():
        conn.execute("BEGIN")
        try:
            return operation(Transaction(conn, source.clock(), source.entropy))
        finally:
            if conn.in_transaction:
                conn.execute("ROLLBACK")


def _connected(source: Source) -> driver.Connection:
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


def _configure(conn: driver.Connection, more: Sequence[str]) -> None:
    for pragma in (*_PRAGMAS, *more):
        conn.execute(pragma).fetchall()


def _opened(source: Source, lock: ProcessLock, deadline_s: float) -> driver.Connection:
    until = time.monotonic() + deadline_s
    with _faults():
        conn = _connected(source)
        try:
            conn.execute(f"PRAGMA busy_timeout = {_OPENING_STEP_MS}")
            present = _patiently(lambda: migrate.inspect(conn), until)  # before what writes
            in_commit = source.durable and not SYNCS_APART
            _configure(conn, _SYNCED_IN_COMMIT if in_commit else _SYNCED_APART)
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
