"""Group commit in one process: 16 writes in flight beside one at a time, each synced."""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path

from handoff_memory.bridge import Bridge
from handoff_memory.store.engine import Operation
from store.figures import Figure
from store.work import Facts, operation, source

_WIDTH = 16


def measure(folder: Path, *, writes: int, rounds: int) -> list[Figure]:
    """Writes a second of both, in alternating rounds."""
    return asyncio.run(_measure(folder, writes, rounds))


async def _measure(folder: Path, writes: int, rounds: int) -> list[Figure]:
    facts, number = Facts(), 0
    rates: dict[int, list[float]] = {1: [], _WIDTH: []}
    bridge = Bridge(source(folder / "batches.db", durable=True), deadline_s=30)
    await bridge.open()
    for _ in range(rounds):
        for width, found in rates.items():
            count = writes if width > 1 else writes // 4
            work = [operation(facts.arguments(number + n)) for n in range(count)]
            number += count
            began = time.perf_counter()
            await asyncio.gather(*(_in_turn(bridge, work[n::width]) for n in range(width)))
            found.append(count / (time.perf_counter() - began))
    await bridge.close()
    single, many = (statistics.median(found) for found in rates.values())
    return [Figure("group commit: 16 in flight beside single commits", many, single, "/s", 3.0)]


async def _in_turn(bridge: Bridge, work: list[Operation[object]]) -> None:
    for one in work:
        await bridge.write(one)
