"""What two and four processes did to the filesystem adapter, on this one: nothing is lost.

Source: the same runs there lost reads to errors, outcomes and writes (docs/senselab-amfs.md).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("amfs")

from amfs import AgentMemory

from handoff_memory.amfs import MemoryAdapter
from senselab import worker

pytestmark = pytest.mark.stress


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[AgentMemory]:
    adapter = MemoryAdapter(tmp_path / "memory.db", durability="relaxed")
    with AgentMemory("first", adapter=adapter) as opened:
        opened.write(*worker.ENTRY, 0, confidence=0.7)
        yield opened


def at_once(tmp_path: Path, *roles: tuple[str, int]) -> list[list[Any]]:
    """What processes did, one of each role, all at the same time."""
    running = [
        subprocess.Popen(
            [
                *(sys.executable, worker.__file__, role),
                *(str(tmp_path / "memory.db"), f"agent-{number}", str(times)),
            ],
            env={**os.environ, "MEMORY_DEADLINE_S": "60"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, (role, times) in enumerate(roles)
    ]
    done = [process.communicate(timeout=240) for process in running]
    assert [process.returncode for process in running] == [0] * len(running), done
    return [json.loads(output) for output, _ in done]


def test_four_processes_read_one_entry(memory: AgentMemory, tmp_path: Path) -> None:
    found = at_once(tmp_path, *[("read", 300)] * 4)

    entry = memory.read(*worker.ENTRY)
    assert [len(versions) for versions in found] == [300] * 4
    assert entry is not None
    assert entry.recall_count == 1200


def test_outcomes_of_two_processes_are_all_counted(memory: AgentMemory, tmp_path: Path) -> None:
    found = at_once(tmp_path, ("report", 100), ("report", 100))

    entry = memory.read(*worker.ENTRY)
    assert entry is not None
    assert (entry.outcome_count, entry.version) == (200, 201)
    assert sorted(found[0] + found[1]) == list(range(2, 202))
    assert memory.verify()["chain_breaks"] == []


def test_no_outcome_takes_a_value_back(memory: AgentMemory, tmp_path: Path) -> None:
    climbed, reported = at_once(tmp_path, ("climb", 100), ("report", 100))

    versions = memory.history(*worker.ENTRY)
    values = [entry.value for entry in versions]
    assert len(versions) == 1 + len(climbed) + len(reported) == 201
    assert values == sorted(values)
    assert values[-1] == 100


def test_exclusive_counters_lose_nothing(memory: AgentMemory, tmp_path: Path) -> None:
    found = at_once(tmp_path, *[("count", 200)] * 4)

    entry = memory.read(*worker.ENTRY)
    assert entry is not None
    assert entry.value == 800
    assert Counter(n for counted in found for n in counted) == Counter(range(1, 801))


def test_four_writers_that_try_again_lose_nothing(memory: AgentMemory, tmp_path: Path) -> None:
    found = at_once(tmp_path, *[("write", 75)] * 4)

    versions = memory.history(*worker.ENTRY)
    acknowledged = [value for values in found for value in values]
    assert len(acknowledged) == 300
    assert sorted(entry.value for entry in versions[1:]) == sorted(acknowledged)
    assert [entry.version for entry in versions] == list(range(1, 302))
    assert memory.verify()["chain_breaks"] == []
