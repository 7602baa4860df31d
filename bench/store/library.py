"""A store used in process: fill it, then clock single writes and reads, and 400 writes at once.

Runs in the peer's own environment: `library.py NAME FOLDER COUNT BATCH`; prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

_CLOCKED = 200
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
    """Our operations on one writing and one reading connection, each write synced."""

    def __init__(self, folder: Path) -> None:
        from store.work import source

        from handoff_memory.store.sqlite import Reader, Writer

        given = source(folder / "ours.db", durable=True)
        self._writer = Writer(given, deadline_s=10)
        self._reader = Reader(given, self._writer.watch)

    def write(self, scope: str, key: str, value: dict[str, Any]) -> None:
        """Write a version."""
        from store.work import operation

        one = operation({"scope": scope, "key": key, "value": value})
        (done,) = self._writer.write([one], until=time.monotonic() + 10)
        if isinstance(done, Exception):
            raise done

    def read(self, scope: str, key: str) -> object:
        """Read the current version."""
        from store.work import LIMITS, WHO

        from handoff_memory.core.names import Name
        from handoff_memory.services import reading

        name = Name(scope, key)
        return self._reader.read(lambda tx: reading.read(tx, WHO, LIMITS, name))


def clocked(store: Any, count: int) -> dict[str, float]:
    """Median microseconds of a write and a read at that size, and what was lost."""
    every = facts(count + _CLOCKED)
    for one in every[:count]:
        store.write(*one)
    times: dict[str, list[float]] = {"write": [], "read": []}
    for one in every[count:]:
        began = time.perf_counter()
        store.write(*one)
        times["write"].append(time.perf_counter() - began)
    for scope, key, _ in random.Random(1).sample(every, _CLOCKED):
        began = time.perf_counter()
        store.read(scope, key)
        times["read"].append(time.perf_counter() - began)
    lost = sum(store.read(scope, key) is None for scope, key, _ in every)
    return {**{what: statistics.median(each) * 1e6 for what, each in times.items()}, "lost": lost}


async def at_once(put: Any, count: int, batch: int) -> float:
    """Writes a second of a batch that is begun at once; the median of five."""
    rates = []
    for turn in range(5):
        every = facts(count + (turn + 1) * batch)[-batch:]
        began = time.perf_counter()
        await asyncio.gather(*(put(*one) for one in every))
        rates.append(batch / (time.perf_counter() - began))
    return statistics.median(rates)


async def langgraph_async(folder: Path, count: int, batch: int) -> dict[str, float]:
    """langgraph's AsyncSqliteStore."""
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    async with AsyncSqliteStore.from_conn_string(str(folder / "store.db")) as store:
        await store.setup()
        every = facts(count + _CLOCKED)
        for start in range(0, count, batch):
            some = every[start : min(start + batch, count)]
            await asyncio.gather(*(store.aput(tuple(s.split("/")), k, v) for s, k, v in some))
        times: dict[str, list[float]] = {"write": [], "read": []}
        for scope, key, value in every[count:]:
            began = time.perf_counter()
            await store.aput(tuple(scope.split("/")), key, value)
            times["write"].append(time.perf_counter() - began)
        for scope, key, _ in random.Random(1).sample(every, _CLOCKED):
            began = time.perf_counter()
            await store.aget(tuple(scope.split("/")), key)
            times["read"].append(time.perf_counter() - began)
        lost = [await store.aget(tuple(s.split("/")), k) is None for s, k, _ in every]

        async def put(scope: str, key: str, value: dict[str, Any]) -> None:
            await store.aput(tuple(scope.split("/")), key, value)

        rate = await at_once(put, count + _CLOCKED, batch)
    told = {what: statistics.median(each) * 1e6 for what, each in times.items()}
    return {**told, "lost": sum(lost), "batch": rate}


async def ours_at_once(folder: Path, count: int, batch: int) -> float:
    """Our bridge, with drafts made as the server makes them."""
    from store.work import operation, source

    from handoff_memory.bridge import Bridge

    bridge = Bridge(source(folder / "ours.db", durable=True), deadline_s=30)

    async def put(scope: str, key: str, value: dict[str, Any]) -> None:
        await bridge.write(operation({"scope": scope, "key": key, "value": value}))

    rate = await at_once(put, count + _CLOCKED, batch)
    await bridge.close()
    return rate


def main() -> None:
    """Measure the one that was named."""
    name, folder, count, batch = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    if name == "langgraph-async":
        told = asyncio.run(langgraph_async(folder, count, batch))
    else:
        store = {"langgraph": Langgraph, "amfs": Amfs, "ours": Ours}[name](folder)
        told = clocked(store, count)
        if name == "ours":
            told["batch"] = asyncio.run(ours_at_once(folder, count, batch))
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
