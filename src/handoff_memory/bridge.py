"""Where async begins: many waiting writes become one commit, and reads never wait for them.

An aiosqlite connection runs whatever its connector returned on a thread of its own. Ours returns a
`Writer` or a `Reader`, and a whole transaction goes over in one hop: one hop a statement would hold
the write lock across as many turns of the event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import aiosqlite

from handoff_memory.core.errors import BusyError
from handoff_memory.store.engine import Operation
from handoff_memory.store.sqlite import BATCH_LIMIT, Reader, Source, Writer

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

    async def open(self) -> None:
        await self._proxy

    async def run(self, function: Callable[[C], T]) -> T:
        # aiosqlite offers single statements only; its own methods are made of these two.
        connection = self._proxy._conn
        result: T = await self._proxy._execute(  # type: ignore[no-untyped-call]
            function, connection
        )
        return result

    async def close(self) -> None:
        await self._proxy.close()


class Bridge:
    """One process's way into a database, for any number of tasks on one event loop."""

    def __init__(self, source: Source, *, deadline_s: float) -> None:
        self._source = source
        self._deadline_s = deadline_s
        self._pending: deque[_Waiting] = deque()
        self._wake = asyncio.Event()
        self._closing = False
        self._writer: _Thread[Writer] | None = None
        self._opening = asyncio.Lock()
        self._readers: asyncio.Queue[_Thread[Reader]] = asyncio.Queue()
        self._reader_count = 0
        self.failed_writes = 0
        self._runner = asyncio.create_task(self._run(), name="writer")

    async def write(self, operation: Operation[T]) -> T:
        """Run an operation in a write transaction; it is durable when this returns.

        It is finished even though the caller is cancelled while it waits.

        Raises:
            MemoryFault: What the operation raised, or why the database could not take it.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._pending.append(_Waiting(operation, future, time.monotonic() + self._deadline_s))
        self._wake.set()
        return await future

    async def read(self, operation: Operation[T]) -> T:
        """Run an operation on a snapshot; never waits for a writer.

        Raises:
            MemoryFault: What the operation raised, or why the database could not serve.
        """
        reader = await self._take_reader()
        try:
            return await reader.run(lambda connection: connection.read(operation))
        finally:
            self._readers.put_nowait(reader)

    async def open(self) -> _Thread[Writer]:
        """Open the database now instead of with the first call.

        Raises:
            StorageError: The database cannot serve.
        """
        async with self._opening:
            if self._writer is None:
                thread = _Thread(lambda: Writer(self._source, deadline_s=self._deadline_s))
                await thread.open()
                self._writer = thread
            return self._writer

    async def close(self) -> None:
        """Finish what was accepted, then close every connection."""
        self._closing = True
        self._wake.set()
        await self._runner
        while self._reader_count:
            await (await self._readers.get()).close()
            self._reader_count -= 1
        if self._writer is not None:
            await self._writer.close()
            self._writer = None

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
            writer = await self.open()
            results = await writer.run(lambda conn: conn.write(operations, until=until))
        except BusyError as error:
            self._give_up_on_late(batch, error)
        except Exception as error:  # noqa: BLE001 - each waiting caller gets it
            self._fail(batch, error)
        else:
            for waiting, result in zip(batch, results, strict=True):
                _settle(waiting.future, result)
            await writer.run(Writer.tend)

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

    async def _take_reader(self) -> _Thread[Reader]:
        await self.open()
        if self._readers.empty() and self._reader_count < _READERS:
            self._reader_count += 1
            thread = _Thread(lambda: Reader(self._source))
            try:
                await thread.open()
            except BaseException:
                self._reader_count -= 1
                raise
            return thread
        return await self._readers.get()


def _settle(future: asyncio.Future[Any], result: Any) -> None:
    if future.done():  # its caller was cancelled
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
