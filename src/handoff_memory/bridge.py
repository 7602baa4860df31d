"""Where async begins: many waiting writes become one commit, and reads never wait for them.

An aiosqlite connection runs whatever its connector returned on a thread of its own. Ours returns a
`Writer` or a `Reader`, and a whole transaction goes over in one hop: one hop a statement would hold
the write lock across as many turns of the event loop.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import aiosqlite

from handoff_memory.core import digest
from handoff_memory.core.errors import BusyError, OlderDatabaseError, StorageError
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Operation
from handoff_memory.store.sqlite import BATCH_LIMIT, Reader, Writer

T = TypeVar("T")
C = TypeVar("C", Reader, Writer)

_READERS: Final = 2


@dataclass(slots=True)
class _Waiting:
    operation: Operation[Any]
    future: asyncio.Future[Any]
    until: float


class _Thread(Generic[C]):
    """A connection and the thread that it lives on."""

    def __init__(self, connector: Callable[[], C]) -> None:
        self._proxy = aiosqlite.Connection(connector, iter_chunk_size=64)  # type: ignore[arg-type]

    # aiosqlite offers single statements only; its own methods are made of what is private here.

    @property
    def connection(self) -> C:
        return self._proxy._conn  # type: ignore[return-value]

    async def open(self) -> None:
        try:
            await self._proxy
        except Exception:
            self._proxy._thread.join()  # it is ending, and may still have a word for the loop
            raise

    async def run(self, function: Callable[[C], T]) -> T:
        result: T = await self._proxy._execute(  # type: ignore[no-untyped-call]
            function, self.connection
        )
        return result

    async def close(self) -> None:
        await self._proxy.close()


class Onlookers:
    """Connections that look at a database: they make none, bring none up to date, and lock none."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._turns = asyncio.Semaphore(_READERS)
        self._idle: list[_Thread[Reader]] = []

    async def read(self, operation: Operation[T]) -> T:
        """Run an operation on a snapshot.

        Raises:
            MemoryFault: What the operation raised, or why the database could not serve.
        """
        async with self._turns:
            thread = self._idle.pop() if self._idle else await self._opened()
            try:
                result = await thread.run(lambda connection: connection.read(operation))
            except StorageError:
                await thread.close()  # by the next call another file may stand there
                raise
            except BaseException:
                self._idle.append(thread)
                raise
            self._idle.append(thread)
            return result

    async def read_apart(self, operation: Operation[T]) -> T:
        """Run an operation that takes long on a connection of its own."""
        thread = await self._opened()
        try:
            return await thread.run(lambda connection: connection.read(operation))
        finally:
            await thread.close()

    async def close(self) -> None:
        """Close every connection, once what runs on it has ended."""
        for _ in range(_READERS):
            await self._turns.acquire()
        while self._idle:
            await self._idle.pop().close()

    async def _opened(self) -> _Thread[Reader]:
        thread = _Thread(lambda: Reader(self._source))
        await thread.open()
        if not thread.connection.is_current:
            await thread.close()
            raise OlderDatabaseError("the database is empty, or of an older version")
        return thread


class Bridge:
    """One process's way into a database, for any number of tasks on one event loop."""

    def __init__(self, source: Source, *, deadline_s: float) -> None:
        digest.ready()  # for the many that are to come
        self._source = source
        self._deadline_s = deadline_s
        self._pending: deque[_Waiting] = deque()
        self._wake = asyncio.Event()
        self._closing = False
        self._opening = asyncio.Lock()
        self._writer: _Thread[Writer] | None = None
        self._turns = asyncio.Semaphore(_READERS)
        self._idle: list[_Thread[Reader]] = []
        self._openings: set[asyncio.Task[Any]] = set()
        self.failed_writes = 0
        self._runner = asyncio.create_task(self._run(), name="writer")

    async def write(self, operation: Operation[T]) -> T:
        """Run an operation in a write transaction; it is durable when this returns.

        It is finished even though the caller is cancelled while it waits.

        Raises:
            MemoryFault: What the operation raised, or why the database could not take it.
        """
        until = self._deadline()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._pending.append(_Waiting(operation, future, until))
        self._wake.set()
        return await future

    async def read(self, operation: Operation[T]) -> T:
        """Run an operation on a snapshot; never waits for a writer.

        Raises:
            MemoryFault: What the operation raised, or why the database could not serve.
        """
        until = self._deadline()
        async with self._turns:
            while not self._idle:
                await self._shielded(self._add_reader(until))
            reader = self._idle.pop()
            try:
                return await reader.run(lambda connection: connection.read(operation))
            finally:
                self._idle.append(reader)

    async def open(self) -> None:
        """Open the database now instead of with the first call.

        Raises:
            StorageError: The database cannot serve.
        """
        await self._shielded(self._opened_writer(self._deadline()))

    async def close(self) -> None:
        """Finish what was accepted, then close every connection."""
        self._closing = True
        self._wake.set()
        await self._runner
        await asyncio.gather(*self._openings, return_exceptions=True)
        async with AsyncExitStack() as stack:
            for turn in (self._turns,) * _READERS:
                await stack.enter_async_context(turn)
            await stack.enter_async_context(self._opening)
            while self._idle:
                await self._idle.pop().close()
            if self._writer is not None:
                await self._writer.close()
                self._writer = None

    def _deadline(self) -> float:
        if self._closing:
            raise RuntimeError("the memory is closed")
        return time.monotonic() + self._deadline_s

    async def _shielded(self, opening: Coroutine[Any, Any, Any]) -> None:
        """Open a connection whoever waits for it: one that nobody waits for would be lost."""
        task = asyncio.create_task(opening, name="opening")
        self._openings.add(task)
        task.add_done_callback(self._forget)
        await asyncio.shield(task)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._openings.discard(task)
        if not task.cancelled():
            task.exception()  # whoever awaited it has it, if anybody still did

    async def _opened_writer(self, until: float) -> _Thread[Writer]:
        async with self._opening:
            if self._writer is None:
                patience_s = max(0.0, until - time.monotonic())  # others may have used it up
                thread = _Thread(lambda: Writer(self._source, deadline_s=patience_s))
                await thread.open()
                self._writer = thread
            return self._writer

    async def _add_reader(self, until: float) -> None:
        writer = await self._opened_writer(until)
        async with self._opening:
            if not self._idle:
                thread = _Thread(lambda: Reader(self._source, writer.connection.watch))
                await thread.open()
                self._idle.append(thread)

    async def _run(self) -> None:
        while not (self._closing and not self._pending):
            await self._wake.wait()
            self._wake.clear()
            while self._pending:
                size = min(len(self._pending), BATCH_LIMIT)
                await self._serve([self._pending.popleft() for _ in range(size)])

    async def _serve(self, batch: list[_Waiting]) -> None:
        until = min(waiting.until for waiting in batch)
        operations = [waiting.operation for waiting in batch]
        try:
            writer = await self._opened_writer(until)
            results = await writer.run(lambda conn: conn.write(operations, until=until))
        except BusyError as error:
            self._give_up_on_late(batch, error)
        except Exception as error:  # noqa: BLE001 - each waiting caller gets it
            self._fail(batch, error)
        else:
            for waiting, result in zip(batch, results, strict=True):
                _settle(waiting.future, result)
            if writer.connection.wants_tending():
                await self._tend(writer)

    async def _tend(self, writer: _Thread[Writer]) -> None:
        try:
            await writer.run(Writer.tend)
        except Exception:  # noqa: BLE001 - a fault of ours must not end the one task that writes
            traceback.print_exc()

    def _give_up_on_late(self, batch: list[_Waiting], error: BusyError) -> None:
        now = time.monotonic()
        late = [waiting for waiting in batch if waiting.until <= now]
        # Whoever still has time goes back to the front, in order.
        self._pending.extendleft(reversed([waiting for waiting in batch if waiting.until > now]))
        self._fail(late, error)

    def _fail(self, batch: list[_Waiting], error: Exception) -> None:
        self.failed_writes += len(batch)
        for waiting in batch:
            _settle(waiting.future, error)


def _settle(future: asyncio.Future[Any], result: Any) -> None:
    if future.done():  # its caller was cancelled
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
