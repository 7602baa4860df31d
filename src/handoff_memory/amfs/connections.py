"""One database for any number of threads: a reader for each, and the writer in turns.

SQLite has one writer at a time anyway, so threads wait for each other here, fairly and without
polling; other processes are waited for where every other surface waits, in `store.sqlite`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from amfs_core.exceptions import AdapterError

from handoff_memory.app import Makers
from handoff_memory.core.errors import BusyError, MemoryFault
from handoff_memory.settings import Settings
from handoff_memory.store.engine import Operation
from handoff_memory.store.sqlite import Reader, Source, Writer

T = TypeVar("T")

_LATE: Final = "another thread of this process held the database for too long"


class promised:  # noqa: N801 - reads as a statement: with promised()
    """Turns our errors into the SDK's on the way out, with what to do next."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, MemoryFault):
            raise AdapterError(f"{error.message} ({error.code}). {error.next_step}") from error


class Connections:
    """The connections of one adapter; opened when they are needed, and again after `close`.

    Attributes:
        is_closed: Whether nobody has read since they were closed.
    """

    def __init__(self, settings: Settings, makers: Makers) -> None:
        self.is_closed = True
        self._source = Source(
            settings.database, settings.durable, makers.clock, makers.entropy, any_thread=True
        )
        self._deadline_s = settings.deadline_s
        self._turn = threading.RLock()
        self._writer: Writer | None = None
        self._holder: int | None = None
        self._own = threading.local()
        self._readers: dict[threading.Thread, Reader] = {}
        self._readers_change = threading.Lock()

    def read(self, operation: Operation[T]) -> T:
        """Run an operation on a snapshot, or inside the transaction that this thread holds."""
        if (held := self._held()) is not None:
            return held.run(operation)
        reader: Reader | None = getattr(self._own, "reader", None)
        if reader is None or self._readers.get(threading.current_thread()) is not reader:
            reader = self._own.reader = self._opened_reader()
        return reader.read(operation)

    def write(self, operation: Operation[T], patience_s: float | None = None) -> T:
        """Run an operation in a write transaction, or inside the one that this thread holds.

        Raises:
            StorageError: It was not written.
        """
        if (held := self._held()) is not None:
            return held.run(operation)
        with self.turn(patience_s) as (writer, until):
            (result,) = writer.write([operation], until=until)
            writer.tend()
        if isinstance(result, Exception):
            raise result
        return result

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the write transaction: what this thread reads and writes meanwhile is one change."""
        if self._held() is not None:
            yield
            return
        with self.turn() as (writer, until):
            with writer.transaction(until=until):
                self._holder = threading.get_ident()
                try:
                    yield
                finally:
                    self._holder = None
            writer.tend()

    def close(self) -> None:
        """Close every connection, whichever thread opened it."""
        with self._turn, self._readers_change:
            for reader in self._readers.values():
                reader.close()
            self._readers.clear()
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            self.is_closed = True

    @contextmanager
    def turn(self, patience_s: float | None = None) -> Iterator[tuple[Writer, float]]:
        """The writer, while no other thread has it, and until when it may wait for processes."""
        until = time.monotonic() + (self._deadline_s if patience_s is None else patience_s)
        if not self._turn.acquire(timeout=max(0.0, until - time.monotonic())):
            raise BusyError(_LATE)
        try:
            if self._writer is None:
                self._writer = Writer(self._source, deadline_s=self._deadline_s)
            yield self._writer, until
        finally:
            self._turn.release()

    def _held(self) -> Writer | None:
        """The writer, where this thread holds its transaction."""
        return self._writer if self._holder == threading.get_ident() else None

    def _opened_reader(self) -> Reader:
        with self.turn() as (writer, _):
            reader = Reader(self._source, writer.watch)
            self.is_closed = False
        with self._readers_change:
            for thread in [thread for thread in self._readers if not thread.is_alive()]:
                self._readers.pop(thread).close()
            self._readers[threading.current_thread()] = reader
        return reader
