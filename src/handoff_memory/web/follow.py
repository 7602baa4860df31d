"""The stream of events: one look at the journal's head for however many pages are open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import orjson

from handoff_memory.app import View
from handoff_memory.core.errors import MemoryFault
from handoff_memory.services import timeline
from handoff_memory.store.engine import Tx
from handoff_memory.web.checks import Checks

PAUSE_S: Final = 0.5
_STILL_HERE_S: Final = 15
_MOST: Final = 200  # entries whose kinds are told; beyond that, all are
_QUEUED: Final = 64
_EVERY_KIND: Final = "*"

Message = tuple[str, dict[str, Any]]


class Follower:
    """Looks whether anything was written, while anybody watches, and tells whoever does."""

    def __init__(self, view: View, checks: Checks) -> None:
        self._view = view
        self._checks = checks
        self._watchers: set[asyncio.Queue[Message | None]] = set()
        self._seq: int | None = None
        self._fault: str | None = None
        self._revision = checks.revision

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            await asyncio.sleep(PAUSE_S)
            if self._watchers:
                await self._look()

    def end(self) -> None:
        """Tell every stream that it is over."""
        for queue in self._watchers:
            _put(queue, None)

    async def stream(self) -> AsyncIterator[bytes]:
        """The events as `text/event-stream`, beginning with where journal and checks stand."""
        with self.watching() as queue:
            yield _event("check", {"revision": self._checks.revision})
            if self._seq is not None:
                yield _event("journal", {"seq": self._seq, "kinds": []})
            while True:
                try:
                    message = await asyncio.wait_for(queue.get(), _STILL_HERE_S)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if message is None:
                    return
                yield _event(*message)

    @contextmanager
    def watching(self) -> Iterator[asyncio.Queue[Message | None]]:
        """What is told from now on."""
        queue: asyncio.Queue[Message | None] = asyncio.Queue(_QUEUED)
        if not self._watchers:
            self._seq = None  # nobody looked since
        self._watchers.add(queue)
        try:
            yield queue
        finally:
            self._watchers.discard(queue)

    async def _look(self) -> None:
        if self._revision != self._checks.revision:
            self._revision = self._checks.revision
            self.tell(("check", {"revision": self._revision}))
        before = self._seq
        try:
            seq, kinds = await self._view.read(lambda tx: _since(tx, before))
        except MemoryFault as fault:
            if self._fault != fault.code:
                self._seq, self._fault = None, fault.code
                self.tell(("fault", {"code": fault.code}))
            return
        if self._fault is not None:
            self._fault, kinds = None, [_EVERY_KIND]
        if seq != self._seq:
            self._seq = seq
            self.tell(("journal", {"seq": seq, "kinds": kinds}))

    def tell(self, message: Message) -> None:
        """Tell every stream."""
        for queue in self._watchers:
            _put(queue, message)


def _since(tx: Tx, before: int | None) -> tuple[int, list[str]]:
    """The head of the journal, and the kinds of what came after a seq."""
    seq = timeline.head(tx)
    if before is None or seq == before:
        return seq, []
    if not 0 < before < seq or seq - before > _MOST:
        return seq, [_EVERY_KIND]
    return seq, sorted({entry["kind"] for entry in timeline.entries(tx, after=before, limit=_MOST)})


def _put(queue: asyncio.Queue[Message | None], message: Message | None) -> None:
    if queue.full():  # a reader that hangs gets what is newest
        with suppress(asyncio.QueueEmpty):
            queue.get_nowait()
    queue.put_nowait(message)


def _event(name: str, told: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), orjson.dumps(told))
