"""One session on both adapters: equal where they should be, each intended difference by itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("amfs")

from amfs import AgentMemory, OutcomeType
from amfs_core.abc import AdapterABC

from senselab import parity

Both = dict[str, AdapterABC]


@pytest.fixture(params=["evidence", "multiplicative"], autouse=True)
def model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AMFS_OUTCOME_MODEL", request.param)
    return str(request.param)


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    stores = {kind: parity.adapter(kind, tmp_path) for kind in ("filesystem", "ours")}
    yield stores
    for store in stores.values():
        store.close()


def in_a_new_process(kind: str, folder: Path) -> dict[str, Any]:
    found = subprocess.run(
        [sys.executable, parity.__file__, kind, str(folder)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    seen: dict[str, Any] = json.loads(found.stdout)
    return seen


@pytest.mark.processes
def test_a_session_of_twelve_steps_is_the_same_on_both(both: Both, tmp_path: Path) -> None:
    steps = {kind: parity.session(store) for kind, store in both.items()}

    for name, found in steps["filesystem"].items():
        assert steps["ours"][name] == found, name

    for store in both.values():
        store.close()
    reopened = {kind: in_a_new_process(kind, tmp_path) for kind in both}
    assert reopened["ours"] == reopened["filesystem"]


def test_ours_stays_clean_where_outcomes_break_the_chain_of_files(both: Both) -> None:
    memories = {}
    for kind, store in both.items():
        parity.session(store)
        memories[kind] = AgentMemory(parity.SCOUT, adapter=store)

    assert len(memories["filesystem"].verify()["chain_breaks"]) > 0
    assert memories["ours"].verify()["chain_breaks"] == []
    moved = [e for e in memories["ours"].history(*parity.NOTE) if e.outcome_count]
    before = memories["ours"].history(*parity.NOTE)[moved[0].version - 2]
    assert moved[0].integrity_chain != before.integrity_chain


def test_ours_keeps_outcomes_traces_agents_and_a_timeline(both: Both) -> None:
    found = {}
    for kind, store in both.items():
        parity.session(store)
        memory = AgentMemory(parity.EXECUTOR, adapter=store)
        found[kind] = [
            store.list_outcomes(),
            memory.list_traces(),
            memory.timeline(),
            memory.discover_agents(),
        ]

    assert found["filesystem"] == [[], [], [], []]
    assert [len(kept) > 0 for kept in found["ours"]] == [True] * 4


def test_ours_takes_the_same_report_once(both: Both) -> None:
    counts = {}
    for kind, store in both.items():
        memory = AgentMemory("scout", adapter=store)
        memory.write("a", "b", 1, confidence=0.7)
        for _ in range(3):
            memory.commit_outcome("once", OutcomeType.SUCCESS, causal_entry_keys=["a/b"])
        entry = memory.read("a", "b")
        assert entry is not None
        counts[kind] = entry.outcome_count

    assert counts == {"filesystem": 3, "ours": 1}


def test_ours_keeps_branches_apart(both: Both) -> None:
    values = {}
    for kind, store in both.items():
        memory = AgentMemory("scout", adapter=store)
        memory.write("a", "b", "main")
        memory.write("a", "b", "experiment", branch="exp")
        entries = (memory.read("a", "b"), memory.read("a", "b", branch="exp"))
        values[kind] = [entry and entry.value for entry in entries]

    assert values["filesystem"] == ["experiment", "experiment"]
    assert values["ours"] == ["main", "experiment"]


@pytest.mark.parametrize("path", ["../../x", "..", "/etc", "a/../../b", "~", "C:\\x", "a//b"])
def test_a_path_out_of_the_store_is_a_plain_name(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "deep" / "deeper"
    store = parity.adapter("ours", folder)
    memory = AgentMemory("scout", adapter=store)

    memory.write(path, "key", {"a": 1})

    entry = memory.read(path, "key")
    assert entry is not None
    assert (entry.entity_path, entry.value) == (path, {"a": 1})
    assert [e.entity_path for e in memory.list()] == [path]
    store.close()
    assert [file.name for file in tmp_path.iterdir()] == ["deep"]
    assert {file.name.removesuffix("-wal").removesuffix("-shm") for file in folder.iterdir()} <= {
        "memory.db",
        "memory.db.lock",
    }
