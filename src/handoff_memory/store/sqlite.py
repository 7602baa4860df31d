"""The SQLite engine: how the file is written in batches and read in snapshots.

Every transaction of an operation begins and ends here. A `Writer` or `Reader` belongs to the thread
that opened it.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Final, TypeVar

from handoff_memory.core import errors
from handoff_memory.core.errors import BusyError, MemoryFault, StorageError
from handoff_memory.store import driver, migrate, place
from handoff_memory.store.connection import Source, configure, connected, opened
from handoff_memory.store.engine import Operation
from handoff_memory.store.faults import translated
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
_WAIT_STEP_MS: Final = 20
_LOOK_EVERY_S: Final = 0.01


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
        with ExitStack() as if_it_fails:
            if_it_fails.callback(self._lock.close)
            self._conn = opened(source, self._lock, deadline_s)
            if_it_fails.callback(self._conn.close)
            self.watch.settle()
            if_it_fails.pop_all()
        if self._confirms:
            self._log.open()
        self._cursor = self._conn.cursor()
        self._batch = Batch(self._cursor, {}, {}, {})

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
            with translated():
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
            with translated():
                return operation(_reading(self._cursor, self._source))
        return _on_snapshot(self._cursor, self._source, operation)

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
        if not self.wants_tending():
            return
        self._checkpointed = time.monotonic()
        with suppress(MemoryFault), translated():  # the log is complete without it
            if self._confirms:
                self._confirm()  # what the disk failed to take must not be in the file alone
            turn = self._lock.held(_CHECKPOINT_LOCK_S)
            with turn if driver.WAL_RESET_BUG else nullcontext(True) as has_turn:
                if has_turn:
                    self._conn.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def close(self) -> None:
        """Close; the last process to do so empties the write-ahead log."""
        if self._log.is_in_doubt:
            with suppress(MemoryFault):
                self._confirm()
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
        with suppress(MemoryFault), translated(), self._lock.held(_CHECKPOINT_LOCK_S):
            self._conn.execute("BEGIN IMMEDIATE")
            try:
                self._log.write_anew()
            finally:
                self._conn.execute("ROLLBACK")
        if self._log.is_in_doubt:
            raise errors.DatabaseIoError("the disk did not confirm it: a power cut may undo it")

    def _settle_moved(self) -> None:
        # SQLite leaves the log of a file that was moved as it is, and whatever file has the name
        # by then would be read with that log.
        try:
            self.watch.check()
        except MemoryFault:
            with suppress(MemoryFault), translated():
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
        with translated(), ExitStack() as if_it_fails:
            self._conn = connected(source)
            if_it_fails.callback(self._conn.close)
            self._conn.execute(f"PRAGMA busy_timeout = {_READ_PATIENCE_MS}")
            configure(self._conn, ("PRAGMA query_only = ON",))
            self.is_current = migrate.inspect(self._conn) >= migrate.newest()
            self._watch.settle()
            if_it_fails.pop_all()
        self._cursor = self._conn.cursor()

    def read(self, operation: Operation[T]) -> T:
        """Run one operation on one snapshot of the database.

        Raises:
            StorageError: The file cannot serve.
        """
        now = time.monotonic()
        if now >= self._look_at:  # looking costs as much as a small read
            self._watch.check()
            self._look_at = now + _LOOK_EVERY_S
        return _on_snapshot(self._cursor, self._source, operation)

    def close(self) -> None:
        """Close the connection."""
        self._conn.close()


def _on_snapshot(cursor: driver.Cursor, source: Source, operation: Operation[T]) -> T:
    with translated():
        cursor.execute("BEGIN")
        try:
            return operation(_reading(cursor, source))
        finally:
            if cursor.connection.in_transaction:
                cursor.execute("ROLLBACK")


def _reading(cursor: driver.Cursor, source: Source) -> Transaction:
    batch = Batch(cursor, {}, {}, {})  # of its own: what a batch knows is not committed
    return Transaction(cursor.connection, source.clock(), source.entropy, batch)
