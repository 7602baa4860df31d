"""One process of a stress test: `python worker.py ROLE DATABASE NAME TIMES`; prints what it did."""

from __future__ import annotations

import json
import sys
from typing import Any

from amfs import AgentMemory, ConflictPolicy, OutcomeType
from amfs_core.exceptions import StaleWriteError, VersionConflictError

from handoff_memory.amfs import MemoryAdapter

ENTRY = ("stress", "entry")


def read(memory: AgentMemory, times: int) -> list[int]:
    """Versions that were read."""
    return [entry.version for _ in range(times) if (entry := memory.read(*ENTRY))]


def report(memory: AgentMemory, times: int) -> list[int]:
    """Versions that outcomes made."""
    made = []
    for n in range(times):
        ref = f"{memory.agent_id}-{n}"
        keys = ["/".join(ENTRY)]
        made += memory.commit_outcome(ref, OutcomeType.SUCCESS, causal_entry_keys=keys)
    return [entry.version for entry in made]


def write(memory: AgentMemory, times: int) -> list[str]:
    """Values that were acknowledged, each tried again until it was."""
    return [retried(memory, f"{memory.agent_id}-{n:04d}") for n in range(times)]


def climb(memory: AgentMemory, times: int) -> list[int]:
    """Numbers that grow, written one after the other."""
    return [retried(memory, n) for n in range(1, times + 1)]


def count(memory: AgentMemory, times: int) -> list[int]:
    """What the entry counted, read and written as one change."""
    counted = []
    for _ in range(times):
        with memory.adapter.exclusive():
            entry = memory.read(*ENTRY)
            counted.append(memory.write(*ENTRY, entry.value + 1).value)
    return counted


def retried(memory: AgentMemory, value: Any) -> Any:
    """The value, once it was acknowledged: the SDK raises, the caller reads and writes again."""
    while True:
        try:
            memory.read(*ENTRY)
            return memory.write(*ENTRY, value).value
        except (StaleWriteError, VersionConflictError):
            continue


ROLES = {"read": read, "report": report, "write": write, "climb": climb, "count": count}


def main(role: str, database: str, name: str, times: str) -> None:
    adapter = MemoryAdapter(database, durability="relaxed")
    with AgentMemory(name, adapter=adapter, conflict_policy=ConflictPolicy.RAISE) as memory:
        done = ROLES[role](memory, int(times))
    sys.stdout.write(json.dumps(done))


if __name__ == "__main__":
    main(*sys.argv[1:])
