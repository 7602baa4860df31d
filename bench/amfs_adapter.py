"""What AgentMemory costs on this adapter and on the SDK's own filesystem one, in one run.

    python bench/amfs_adapter.py [ENTRIES ...]

Each measure goes in short rounds from one store to the next, so that whatever else the machine does
meets all of them; a ratio is the median over the rounds. The filesystem adapter never syncs to the
disk: `relaxed` is its like, `full` is what this project does unless told otherwise.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from amfs import AgentMemory
from amfs_core.abc import AdapterABC
from amfs_filesystem.adapter import FilesystemAdapter

from handoff_memory.amfs import MemoryAdapter

ENTRIES = (1_000, 10_000)
ROUND = 100
READ_ROUNDS = 20
SEARCHES = 5
PER_PATH = 50

Times = dict[str, list[float]]


def value(n: int) -> dict[str, object]:
    """Something like what an agent notes: a few fields, 150 characters."""
    return {
        "verdict": "apply" if n % 3 else "skip",
        "budget": 100 + n % 900,
        "why": f"listing {n}: fixed price, ten days, {n % 40} applicants, a supplier's catalogue",
    }


def name(n: int) -> tuple[str, str]:
    """Entity path and key of an entry."""
    return f"board/listing-{n // PER_PATH}", f"assessment-{n % PER_PATH}"


def stores(folder: Path) -> dict[str, AdapterABC]:
    """The adapters that are compared, by the name they are printed with."""
    return {
        "filesystem": FilesystemAdapter(folder / "files"),
        "relaxed": MemoryAdapter(folder / "relaxed.db", durability="relaxed"),
        "full": MemoryAdapter(folder / "full.db", durability="full"),
    }


def timed(work: Callable[[], object]) -> float:
    """Seconds that it took."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(
    memories: dict[str, AgentMemory], rounds: int, work: Callable[[AgentMemory, int], object]
) -> Times:
    """Seconds of each round in each store; who comes first changes from round to round."""
    names = list(memories)
    found: Times = {label: [] for label in names}
    for n in range(rounds):
        for label in names[n % len(names) :] + names[: n % len(names)]:
            found[label].append(timed(lambda label=label, n=n: work(memories[label], n)))
    return found


def written(memory: AgentMemory, n: int) -> None:
    """One round of writes."""
    for i in range(n * ROUND, (n + 1) * ROUND):
        memory.write(*name(i), value(i), confidence=0.7)


def together(memory: AgentMemory, n: int) -> None:
    """One round of writes in a transaction of the SDK, to entries that are there."""
    with memory.transaction(f"round {n}") as change:
        for i in range(n * ROUND, (n + 1) * ROUND):
            change.write(*name(i), value(i + 1), confidence=0.7)


def reader(entries: int) -> Callable[[AgentMemory, int], None]:
    """One round of reads, spread over all entries."""

    def read(memory: AgentMemory, n: int) -> None:
        for i in range(ROUND):
            memory.read(*name((n * ROUND + i) * 7919 % entries))

    return read


def searched(memory: AgentMemory, n: int) -> None:
    """A search of the whole store, for a text that a few entries hold."""
    memory.search(query=f"listing {n * 17 + 3}:")


def told(what: str, times: Times, per_round: int) -> None:
    """Print medians a second (or milliseconds where one round is one call), and the ratios."""
    base = times["filesystem"]
    for label, seconds in times.items():
        ratio = statistics.median(b / s for b, s in zip(base, seconds, strict=True))
        middle = statistics.median(seconds)
        rate = f"{middle * 1000:10.1f} ms" if per_round == 1 else f"{per_round / middle:10.0f} /s"
        print(f"  {what:<20} {label:<12} {rate}   {ratio:6.2f} x the filesystem adapter")


def measure(entries: int, folder: Path) -> None:
    """Fill stores with so many entries, then read and search them."""
    memories = {
        label: AgentMemory("bench-agent", session_id="s", adapter=adapter)
        for label, adapter in stores(folder).items()
    }
    print(f"{entries} entries")
    # What one store syncs to the disk keeps the others waiting, so the durable one goes by itself.
    durable = {"full": memories["full"]}
    unsynced = {label: memory for label, memory in memories.items() if label not in durable}
    times = interleaved(unsynced, entries // ROUND, written)
    told("writes", times | interleaved(durable, entries // ROUND, written), ROUND)
    told("reads", interleaved(memories, READ_ROUNDS, reader(entries)), ROUND)
    told("whole-store search", interleaved(memories, SEARCHES, searched), 1)
    told("writes, 100 at once", interleaved(memories, 5, together), ROUND)
    told("verify", interleaved(memories, 1, lambda memory, _: memory.verify()), 1)
    for memory in memories.values():
        memory.close()


def main() -> None:
    """Measure each size that was asked for."""
    for entries in [int(given) for given in sys.argv[1:]] or ENTRIES:
        folder = Path(tempfile.mkdtemp(prefix="amfs-bench-"))
        try:
            measure(entries, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
