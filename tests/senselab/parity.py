"""One session through AgentMemory on either adapter, and what it leaves, in a comparable form.

As a script it prints what a new process finds: `python parity.py filesystem|ours FOLDER`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from amfs import AgentMemory, ConflictPolicy, OutcomeType
from amfs_core.abc import AdapterABC
from amfs_core.exceptions import StaleWriteError, VersionConflictError
from amfs_core.models import MemoryEntry, MemoryType
from amfs_filesystem.adapter import FilesystemAdapter

from handoff_memory.amfs import MemoryAdapter

Steps = dict[str, Any]

SCOUT, EXECUTOR = "scout-agent", "executor-agent"
ROUTE, BUDGET, NOTE = ("plan/trip", "route"), ("plan/trip", "budget"), ("plan", "note")
SECRET = ("plan/trip", "private")
PACKET = ("handoff", "packet")
NAMES = (ROUTE, BUDGET, NOTE, SECRET, PACKET)


def adapter(kind: str, folder: Path) -> AdapterABC:
    if kind == "filesystem":
        return FilesystemAdapter(folder / "files")
    return MemoryAdapter(folder / "memory.db", durability="relaxed")


def session(store: AdapterABC) -> Steps:
    """The twelve steps but the last, by name."""
    scout = AgentMemory(SCOUT, session_id="s-scout", adapter=store)
    executor = AgentMemory(EXECUTOR, session_id="s-executor", adapter=store)
    steps: Steps = {}
    written = [
        scout.write(*ROUTE, {"via": ["Köln", "Paris"], "km": 500}, confidence=0.7),
        scout.write(*BUDGET, 300.5, confidence=0.8, memory_type=MemoryType.BELIEF),
        scout.write(*NOTE, "größe 預算 \u0000 🚲", pattern_refs=["plan/trip/route"]),
        scout.write(*ROUTE, {"via": ["Liège", "Paris"], "km": 480}, confidence=0.7),
    ]
    steps["1 writes"] = shown(written)
    steps["2 private"] = shown([scout.write(*SECRET, {"pin": 1}, shared=False)])
    with scout.transaction("handoff") as handoff:
        handoff.write(*PACKET, {"pins": {"plan/trip/route": 2, "plan/trip/budget": 1}})
        handoff.write("handoff", "status", "over")
    steps["3 transaction"] = shown(handoff.entries)
    steps["4 commits"] = commits(scout)
    steps["chains"] = chains(scout)
    packet = executor.read(*PACKET)
    steps["5 reads"] = [
        shown([packet]),
        shown([executor.read(*name.rsplit("/", 1)) for name in sorted(packet.value["pins"])]),
        executor.read(*SECRET),
        executor.read("plan/trip", "absent"),
        executor.read(*ROUTE, min_confidence=0.9),
        executor.read_log,
    ]
    steps["6 success"] = shown(executor.commit_outcome("run-1", OutcomeType.SUCCESS))
    cited = ["plan/trip/budget", "plan/nowhere", "plan/note"]
    steps["7 failure"] = shown(
        executor.commit_outcome("run-2", OutcomeType.FAILURE, causal_entry_keys=cited)
    )
    same = executor.read(*ROUTE).value
    steps["8 same claim"] = shown([executor.write(*ROUTE, dict(reversed(same.items())))])
    steps["9 changed claim"] = shown([executor.write(*BUDGET, 280.0, confidence=0.6)])
    steps["10 seen"] = seen(scout)
    steps["11 refusals"] = [stale(store), conflict(store)]
    return steps


def seen(memory: AgentMemory) -> Steps:
    """Everything that can be read without being counted as a recall."""
    stats = memory.stats()
    return {
        "list": shown(memory.list()),
        "list of a path": shown(memory.list("plan/trip")),
        "superseded": shown(memory.list(include_superseded=True)),
        "search": shown(memory.search(query="PARIS")),
        "search by agent": shown(memory.search(agent_id=EXECUTOR, sort_by="recency")),
        "search by trust": shown(memory.search(min_confidence=0.65, limit=3)),
        "search by pattern": shown(memory.search(pattern_ref="plan/trip/route")),
        "history": {"/".join(name): shown(memory.history(*name)) for name in NAMES},
        "first": shown([memory.adapter.read_at_version(*name, 1) for name in NAMES]),
        "stats": stats.model_dump(mode="json", exclude={"oldest_entry_at", "newest_entry_at"}),
        "commits": commits(memory),
        "corrupted": memory.verify()["corrupted"],
        "checked": memory.verify()["total_checked"],
    }


def stale(store: AdapterABC) -> str:
    """What a writer is told whose reading was overtaken, under RAISE."""
    one = AgentMemory("one", session_id="s1", adapter=store, conflict_policy=ConflictPolicy.RAISE)
    other = AgentMemory("other", session_id="s2", adapter=store)
    one.read(*NOTE)
    other.write(*NOTE, "overtaken")
    try:
        one.write(*NOTE, "too late")
    except StaleWriteError as error:
        return str(error)
    return "written"


def conflict(store: AdapterABC) -> str:
    """What the adapter says of a version that is not the next one."""
    entry = store.read(*NOTE, branch="main")
    assert entry is not None
    try:
        store.write(entry.model_copy(update={"version": 7}))
    except VersionConflictError as error:
        return str(error)
    return "written"


def shown(found: list[Any]) -> list[Steps]:
    return [one(entry) for entry in found]


def one(entry: MemoryEntry) -> Steps:
    whole = entry.model_dump(mode="json")
    left = {
        name: value
        for name, value in whole.items()
        if name not in {"integrity_chain", "commit_id", "last_outcome_at", "discredited_at"}
    }
    del left["provenance"]["written_at"]
    for name in ("confidence", "evidence_success", "evidence_failure", "prior_confidence"):
        left[name] = None if left[name] is None else round(left[name], 9)
    return {
        **left,
        "in a commit": entry.commit_id is not None,
        "discredited": entry.discredited_at is not None,
        "status": entry.evidence_status,
    }


def commits(memory: AgentMemory) -> list[Steps]:
    return [
        {
            "message": commit.message,
            "entries": [entry.model_dump() for entry in commit.entries],
            "parents": len(commit.parent_ids),
            "tree": commit.tree_hash,
        }
        for commit in memory.commit_log()
    ]


def chains(memory: AgentMemory) -> list[str | None]:
    return [entry.integrity_chain for entry in memory.list(include_superseded=True)]


if __name__ == "__main__":
    with AgentMemory(
        SCOUT, session_id="s-new", adapter=adapter(sys.argv[1], Path(sys.argv[2]))
    ) as new:
        sys.stdout.write(json.dumps(seen(new)))
