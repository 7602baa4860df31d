"""One of several processes that write at once: as we do, or with SQLite's own wait and no groups.

Prints how many of its writes were acknowledged, the waits, and what failed, as one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from handoff_memory.bridge import Bridge
from handoff_memory.store import driver
from handoff_memory.store.engine import Operation
from handoff_memory.store.sqlite import Writer
from handoff_memory.store.transaction import Transaction
from store.work import Facts, operation, source

_IN_FLIGHT = 8
_POOL = 10_000  # more than either way writes in a window: a record written anew is other work
Write = Callable[[Operation[Any]], Awaitable[Any]]


async def contend(write: Write, number: int, seconds: float) -> dict[str, Any]:
    """Write with eight tasks for so long."""
    facts = Facts(number)
    work = [operation(facts.arguments(number * _POOL + n)) for n in range(_POOL)]
    waits: list[float] = []
    failed: list[str] = []
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    until = time.monotonic() + seconds

    async def task(first: int) -> None:
        at = first
        while (began := time.monotonic()) < until:
            try:
                await write(work[at % _POOL])
            except Exception as error:  # noqa: BLE001 - what is counted
                failed.append(type(error).__name__)
            else:
                waits.append(time.monotonic() - began)
            at += _IN_FLIGHT

    await asyncio.gather(*(task(first) for first in range(_IN_FLIGHT)))
    return {"acknowledged": len(waits), "worst_s": max(waits, default=0.0), "failed": failed}


async def ours(path: Path, number: int, seconds: float) -> dict[str, Any]:
    """Group commit and turns between processes."""
    bridge = Bridge(source(path, durable=True), deadline_s=60)
    await bridge.open()
    found = await contend(bridge.write, number, seconds)
    await bridge.close()
    return found


async def plain(path: Path, number: int, seconds: float) -> dict[str, Any]:
    """A connection with `busy_timeout` that commits each write by itself."""
    given = source(path, durable=True)
    Writer(given, deadline_s=60).close()  # makes the tables
    loop, turn = asyncio.get_running_loop(), asyncio.Lock()

    def one(write: Operation[Any]) -> Any:
        conn.execute("BEGIN IMMEDIATE")
        try:
            tx = Transaction(conn, given.clock(), given.entropy)
            result = write(tx)
            tx.settle()
            conn.execute("COMMIT")
        except BaseException:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            raise
        return result

    async def in_turn(write: Operation[Any]) -> Any:
        async with turn:
            return await loop.run_in_executor(None, one, write)

    conn = driver.connect(str(path), timeout=60, isolation_level=None, check_same_thread=False)
    conn.row_factory = driver.Row
    conn.execute("PRAGMA synchronous = FULL")
    found = await contend(in_turn, number, seconds)
    conn.close()
    return found


if __name__ == "__main__":
    arm, given_path, given_number, given_seconds = sys.argv[1:]
    run = {"ours": ours, "plain": plain}[arm]
    told = asyncio.run(run(Path(given_path), int(given_number), float(given_seconds)))
    print(json.dumps(told), flush=True)
