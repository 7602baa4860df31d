"""One database for any number of threads, a connection for each; who writes waits for a turn.

SQLite has one writer at a time anyway, so threads wait for each other here, without polling; other
processes are waited for where every other surface waits, in `store.sqlite`. A thread reads on the
connection it writes on: of what it wrote last it need not ask the disk.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from amfs_core.exceptions import AdapterError

from handoff_memory.app import Makers
from handoff_memory.core.errors import BusyError, MemoryFault
from handoff_memory.settings import Settings
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Operation
from handoff_memory.store.sqlite import Writer

T = TypeVar("T")


class promised:  # noqa: N801 - reads as a statement: with promised()
    """Turns our errors into the SDK's on the way out, with what to do next."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, MemoryFault):
            raise AdapterError(f"{error.message} ({error.code}). {error.next_step}") from error


class _Own:
    """A thread's connection, and whether the thread holds its write transaction.

    Attributes:
        is_held: Whether it does.
        is_closed: Whether another thread closed it.
        busy: Held while the thread reads: closing it then would crash the process.
    """

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.is_held = self.is_closed = False
        self.busy = threading.RLock()

    def close(self) -> None:
        """Close the connection, once nothing is read on it."""
        with self.busy:
            self.is_closed = True
            self.writer.close()


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
        self._all: dict[threading.Thread, _Own] = {}

    def read(self, operation: Operation[T], *, is_one_query: bool = False) -> T:
        """Run an operation on a snapshot, or inside the transaction that this thread holds.

        Args:
            operation: What to read.
            is_one_query: Whether it is a single query, and so a snapshot by itself.
        """
        while True:
            own = self._own()
            if own.is_held:
                return own.writer.run(operation)
            self.is_closed = False
            with own.busy:
                if not own.is_closed:  # by another thread meanwhile
                    return own.writer.read(operation, is_one_query=is_one_query)

    def write(self, operation: Operation[T], patience_s: float | None = None) -> T:
        """Run an operation in a write transaction, or inside the one that this thread holds.

        Raises:
            StorageError: It was not written.
        """
        if (own := self._own()).is_held:
            return own.writer.run(operation)
        with self.turn(patience_s) as until:
            own = self._own()  # another thread may have closed the one before
            with own.writer.transaction(until=until) as tx:
                result = operation(tx)
            own.writer.tend()
        return result

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the write transaction: what this thread reads and writes meanwhile is one change."""
        if self._own().is_held:
            yield
            return
        with self.turn() as until:
            own = self._own()  # as above
            with own.writer.transaction(until=until):
                own.is_held = True
                try:
                    yield
                finally:
                    own.is_held = False
            own.writer.tend()

    @contextmanager
    def turn(self, patience_s: float | None = None) -> Iterator[float]:
        """Until when to wait for other processes, while no other thread writes.

        Raises:
            BusyError: Another thread wrote for all that time.
        """
        until = time.monotonic() + (self._deadline_s if patience_s is None else patience_s)
        if not self._turn.acquire(timeout=max(0.0, until - time.monotonic())):
            raise BusyError("another thread of this process held the database for too long")
        try:
            yield until
        finally:
            self._turn.release()

    def close(self) -> None:
        """Close every connection, whichever thread opened it."""
        with self._turn:
            while self._all:
                self._all.popitem()[1].close()
            self.is_closed = True

    def _own(self) -> _Own:
        thread = threading.current_thread()
        return self._all.get(thread) or self._opened(thread)

    def _opened(self, thread: threading.Thread) -> _Own:
        with self.turn():
            for gone in [other for other in self._all if not other.is_alive()]:
                self._all.pop(gone).close()
            own = self._all[thread] = _Own(Writer(self._source, deadline_s=self._deadline_s))
        return own
