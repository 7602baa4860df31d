"""A store used in process: filled, then told when to work, so that stores take turns.

Runs in the peer's own environment: `library.py NAME FOLDER COUNT BATCH`. Each line on stdin is
answered by one line of JSON: `round` clocks single writes and reads, `batch` writes at once.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

_CLOCKED = 40
Put = Callable[[str, str, dict[str, Any]], Awaitable[None]]
Get = Callable[[str, str], Awaitable[object]]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def facts(count: int) -> list[tuple[str, str, dict[str, Any]]]:
    """Scope, key and value of so many records: the same for every store."""
    chance = random.Random(20261130)
    words = ["".join(chance.choices(_LETTERS, k=chance.randint(2, 10))) for _ in range(4000)]
    return [
        (
            f"service/{n // 200}",
            f"fact-{n}",
            {"state": " ".join(chance.choices(words, k=11)), "port": n, "ok": True},
        )
        for n in range(count)
    ]


class Langgraph:
    """langgraph's SqliteStore, as its documentation opens it."""

    def __init__(self, folder: Path) -> None:
        from langgraph.store.sqlite import SqliteStore

        self._context = SqliteStore.from_conn_string(str(folder / "store.db"))
        self._store = self._context.__enter__()
        self._store.setup()

    def write(self, scope: str, key: str, value: dict[str, Any]) -> None:
        """Put one."""
        self._store.put(tuple(scope.split("/")), key, value)

    def read(self, scope: str, key: str) -> object:
        """Get one."""
        return self._store.get(tuple(scope.split("/")), key)


class Amfs:
    """AMFS' agent memory on its filesystem adapter."""

    def __init__(self, folder: Path) -> None:
        from amfs import AgentMemory
        from amfs_filesystem import FilesystemAdapter

        self._memory = AgentMemory(agent_id="bench", adapter=FilesystemAdapter(root=folder))

    def write(self, scope: str, key: str, value: dict[str, Any]) -> None:
        """Write one."""
        self._memory.write(scope, key, value)

    def read(self, scope: str, key: str) -> object:
        """Read one."""
        return self._memory.read(scope, key)


class Ours:
    """Our operations on the connection that a process reads and writes by, each write synced."""

    def __init__(self, folder: Path) -> None:
        from handoff_memory.core.names import Name
        from handoff_memory.services import reading
        from handoff_memory.store.sqlite import Writer
        from store import work

        self._writer = Writer(work.source(folder / "ours.db", durable=True), deadline_s=10)
        self._operation = work.operation
        self._of = lambda scope, key: (
            lambda tx: reading.read(tx, work.WHO, work.LIMITS, Name(scope, key))
        )

    def write(self, scope: str, key: str, value: dict[str, Any]) -> None:
        """Write a version."""
        one = self._operation({"scope": scope, "key": key, "value": value})
        (done,) = self._writer.write([one], until=time.monotonic() + 10)
        if isinstance(done, Exception):
            raise done

    def read(self, scope: str, key: str) -> object:
        """Read the current version."""
        return self._writer.read(self._of(scope, key))


class Arm:
    """A store that was filled, and works a round whenever it is told to."""

    def __init__(self, put: Put, get: Get, count: int) -> None:
        self._put, self._get = put, get
        self._done: list[tuple[str, str]] = []
        self._next = count

    async def fill(self, count: int, step: int) -> None:
        """Write that many records."""
        every = facts(count)
        for start in range(0, count, step):
            await asyncio.gather(*(self._put(*one) for one in every[start : start + step]))
        self._done += [(scope, key) for scope, key, _ in every]

    async def round(self) -> dict[str, float]:
        """Median microseconds of single writes and reads."""
        times: dict[str, list[float]] = {"write": [], "read": []}
        for scope, key, value in self._fresh(_CLOCKED):
            began = time.perf_counter()
            await self._put(scope, key, value)
            times["write"].append(time.perf_counter() - began)
        for scope, key in random.Random(self._next).sample(self._done, _CLOCKED):
            began = time.perf_counter()
            await self._get(scope, key)
            times["read"].append(time.perf_counter() - began)
        return {what: statistics.median(each) * 1e6 for what, each in times.items()}

    async def batch(self, size: int) -> dict[str, float]:
        """Writes a second of a batch that is begun at once."""
        every = self._fresh(size)
        began = time.perf_counter()
        await asyncio.gather(*(self._put(*one) for one in every))
        return {"batch": size / (time.perf_counter() - began)}

    async def lost(self) -> dict[str, float]:
        """How many of the acknowledged records are not there."""
        found = [await self._get(scope, key) for scope, key in self._done]
        return {"lost": sum(one is None for one in found)}

    def _fresh(self, count: int) -> list[tuple[str, str, dict[str, Any]]]:
        self._next += count
        new = facts(self._next)[-count:]
        self._done += [(scope, key) for scope, key, _ in new]
        return new


async def serve(arm: Arm, batch: int) -> None:
    """Do what each line asks for, and print what it took."""
    print("ready", flush=True)
    work = {"round": arm.round, "batch": lambda: arm.batch(batch), "lost": arm.lost}
    for line in sys.stdin:
        print(json.dumps(await work[line.strip()]()), flush=True)


async def synchronous(store: Any, count: int, batch: int) -> None:
    """Serve a store whose calls block."""

    async def put(scope: str, key: str, value: dict[str, Any]) -> None:
        store.write(scope, key, value)

    async def get(scope: str, key: str) -> object:
        return store.read(scope, key)

    arm = Arm(put, get, count)
    await arm.fill(count, batch)
    await serve(arm, batch)


async def langgraph_async(folder: Path, count: int, batch: int) -> None:
    """Serve langgraph's AsyncSqliteStore."""
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    async with AsyncSqliteStore.from_conn_string(str(folder / "store.db")) as store:
        await store.setup()

        async def put(scope: str, key: str, value: dict[str, Any]) -> None:
            await store.aput(tuple(scope.split("/")), key, value)

        async def get(scope: str, key: str) -> object:
            return await store.aget(tuple(scope.split("/")), key)

        arm = Arm(put, get, count)
        await arm.fill(count, batch)
        await serve(arm, batch)


async def ours_async(folder: Path, count: int, batch: int) -> None:
    """Serve our bridge, with drafts made as the server makes them."""
    from handoff_memory.bridge import Bridge
    from handoff_memory.core.names import Name
    from handoff_memory.services import reading
    from store.work import LIMITS, WHO, operation, source

    bridge = Bridge(source(folder / "ours.db", durable=True), deadline_s=60)

    async def put(scope: str, key: str, value: dict[str, Any]) -> None:
        await bridge.write(operation({"scope": scope, "key": key, "value": value}))

    async def get(scope: str, key: str) -> object:
        name = Name(scope, key)
        return await bridge.read(lambda tx: reading.read(tx, WHO, LIMITS, name))

    arm = Arm(put, get, count)
    await arm.fill(count, batch)
    await serve(arm, batch)
    await bridge.close()


def main() -> None:
    """Serve the one that was named."""
    name, folder, count, batch = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    on_loop = {"langgraph-async": langgraph_async, "ours-async": ours_async}
    if name in on_loop:
        asyncio.run(on_loop[name](folder, count, batch))
    else:
        store = {"langgraph": Langgraph, "amfs": Amfs, "ours": Ours}[name](folder)
        asyncio.run(synchronous(store, count, batch))


if __name__ == "__main__":
    main()
