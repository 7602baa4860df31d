"""Agents on either side see each other's facts, and each side keeps what only it can say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("amfs")

from amfs import AgentMemory, OutcomeType
from amfs_core.models import MemoryEntry, MemoryType

from actors import Agent, Reply
from handoff_memory.amfs import MemoryAdapter
from handoff_memory.app import Local, open_local
from handoff_memory.core.names import Name
from handoff_memory.services import reading
from handoff_memory.settings import Settings
from handoff_memory.store import journal

NAME = ("listing/553", "assessment")


@pytest.fixture
def local(settings: Settings) -> Iterator[Local]:
    """The shared memory as another process has it, on the real clock."""
    with open_local(settings) as opened:
        yield opened


@pytest.fixture
def memory(settings: Settings) -> Iterator[AgentMemory]:
    adapter = MemoryAdapter(settings.database, durability="relaxed")
    with AgentMemory("Scout-Agent", session_id="s-amfs", adapter=adapter) as opened:
        yield opened


def record(local: Local, *name: str) -> Reply:
    return local.read(lambda tx: reading.describe(tx, reading.get(tx, "", Name(*name))))


def told(entry: MemoryEntry | None) -> tuple[Any, ...]:
    assert entry is not None
    return entry.version, entry.value, entry.provenance.agent_id, entry.confidence


def test_what_amfs_writes_is_a_record(
    memory: AgentMemory, local: Local, scout: Agent, verified: Callable[[], Reply]
) -> None:
    memory.write(*NAME, {"verdict": "apply"}, confidence=0.7)
    memory.write(*NAME, {"verdict": "maybe"}, confidence=0.6, memory_type=MemoryType.BELIEF)

    found = scout.read("listing/553/assessment")

    assert found["value"] == {"verdict": "maybe"}
    assert {name: found[name] for name in ("version", "agent", "confidence", "tags", "source")} == {
        "version": 2,
        "agent": "scout-agent",
        "confidence": 0.6,
        "tags": ["belief"],
        "source": "AMFS",
    }
    assert [hit["key"] for hit in scout.search("maybe")["results"]] == ["assessment"]
    assert verified()["problems"] == []


def test_what_the_shared_memory_writes_is_the_next_version(
    memory: AgentMemory, scout: Agent, verified: Callable[[], Reply]
) -> None:
    memory.write(*NAME, "one", confidence=0.7)
    scout.write("listing/553/assessment", "two", confidence_share=0.5)
    scout.write("listing/9/new", ["three"])

    assert told(memory.read(*NAME)) == (2, "two", "scout", 0.5)
    assert told(memory.read("listing/9", "new")) == (1, ["three"], "scout", 0.7)
    assert memory.write(*NAME, "four").version == 3
    assert [entry.value for entry in memory.history(*NAME)] == ["one", "two", "four"]
    assert [entry.value for entry in memory.search(query="THREE")] == [["three"]]
    assert memory.verify()["chain_breaks"] == memory.verify()["corrupted"] == []
    assert verified()["problems"] == []


def test_a_read_is_answered_while_the_shared_memory_goes_on_writing(
    memory: AgentMemory, scout: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.write(*NAME, "one")
    connections = memory.adapter._connections
    read, values = connections.read, iter(["two", "three"])

    def meddled(*given: Any, **more: Any) -> Any:
        if value := next(values, None):
            scout.write("listing/553/assessment", value)
        return read(*given, **more)

    monkeypatch.setattr(connections, "read", meddled)
    seen = memory.adapter.read(*NAME)

    assert told(seen)[:2] == (2, "two")


def test_a_write_that_did_not_see_the_other_side_conflicts(
    memory: AgentMemory, scout: Agent
) -> None:
    seen = memory.write(*NAME, "one")
    scout.write("listing/553/assessment", "two")

    stored = memory.adapter.write(seen.model_copy(update={"version": 1, "value": "three"}))

    assert stored.version == 3
    assert [entry.value for entry in memory.history(*NAME)] == ["one", "two", "three"]


def test_an_outcome_of_amfs_leaves_the_record_alone(
    memory: AgentMemory, local: Local, verified: Callable[[], Reply]
) -> None:
    memory.write(*NAME, "one", confidence=0.7)
    (moved,) = memory.commit_outcome("run", OutcomeType.FAILURE, causal_entry_keys=["/".join(NAME)])

    assert (moved.version, record(local, *NAME)["version"]) == (2, 1)
    assert (round(moved.confidence, 4), record(local, *NAME)["confidence"]) == (0.2593, 0.7)
    assert verified()["problems"] == []


def test_an_outcome_of_the_shared_memory_is_seen_until_amfs_has_its_own(
    memory: AgentMemory, scout: Agent
) -> None:
    scout.write("listing/553/assessment", "one", confidence_share=0.6)
    scout.report("listing/553/assessment", "failure")
    before = memory.read(*NAME)
    (moved,) = memory.commit_outcome("run", OutcomeType.SUCCESS, causal_entry_keys=["/".join(NAME)])

    assert told(before) == (1, "one", "scout", 0.39)
    assert moved.prior_confidence == 0.39
    assert moved.version == 2


@pytest.mark.parametrize(
    ("path", "key", "more"),
    [
        ("a", "private", {"shared": False}),
        ("a", "branched", {"branch": "exp"}),
        ("a", "key@2", {}),
        ("../x", "key", {}),
        ("a//b", "key", {}),
        (" blank", "key", {}),
        ("osiris/task/t1", "key", {}),
        ("e\u0301", "key", {}),
        ("a", "expired", {"ttl_at": datetime.now(UTC) - timedelta(seconds=5)}),
    ],
)
def test_what_no_record_can_say_stays_with_amfs(
    memory: AgentMemory,
    local: Local,
    verified: Callable[[], Reply],
    path: str,
    key: str,
    more: dict[str, Any],
) -> None:
    memory.write(path, key, "v", **more)

    report = verified()

    assert report["problems"] == []
    assert (report["checked"]["record"], report["checked"]["amfs_entry"]) == (0, 1)
    assert [e.value for e in memory.list(branch=more.get("branch", "main"))] == ["v"]


def test_an_entry_that_becomes_private_leaves_its_record_as_it_was(
    memory: AgentMemory, local: Local, scout: Agent, verified: Callable[[], Reply]
) -> None:
    memory.write(*NAME, "shared")
    memory.write(*NAME, "private", shared=False)
    assert record(local, *NAME)["version"] == 1

    memory.write(*NAME, "shared again")

    assert record(local, *NAME)["version"] == 2
    assert [entry.value for entry in memory.history(*NAME)] == [
        "shared",
        "private",
        "shared again",
    ]
    assert verified()["problems"] == []


def test_the_log_tells_what_amfs_wrote(memory: AgentMemory, local: Local) -> None:
    memory.write(*NAME, "one")
    memory.commit_outcome("run", OutcomeType.SUCCESS, causal_entry_keys=["/".join(NAME)])

    lines = local.read(lambda tx: journal.log(tx, after=None, limit=10))

    assert [(line["subject"], line["action"], line["agent"]) for line in lines] == [
        ("Scout-Agent", "agent", "scout-agent"),
        ("listing/553/assessment@1", "written", "scout-agent"),
        ("listing/553/assessment@1", "written", "scout-agent"),
        ("listing/553/assessment@2", "written", "scout-agent"),
        ("run", "outcome", "scout-agent"),
        (memory.list_traces()[0].id, "trace", "scout-agent"),
    ]


def test_the_end_of_an_entry_is_the_end_of_its_record(memory: AgentMemory, scout: Agent) -> None:
    memory.write(*NAME, "soon gone", ttl_at=datetime.now(UTC) + timedelta(hours=1))
    scout.write("listing/9/new", "gone as well", expires_in=3600)

    ends = [
        scout.read("listing/553/assessment")["expires_at"],
        *(entry.ttl_at for entry in memory.list("listing/9")),
    ]

    assert all(ends)


def test_the_governors_own_records_are_not_entries(
    memory: AgentMemory, scout: Agent, verified: Callable[[], Reply]
) -> None:
    scout.write("osiris/task/t1/plan", "the governor's", reserved=True)
    scout.write("listing/1/k", "an agent's")

    assert [entry.value for entry in memory.list()] == ["an agent's"]
    assert verified()["problems"] == []


def test_projects_of_the_home_database_are_apart(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSIRIS_HOME", str(settings.home))
    monkeypatch.delenv("MEMORY_DB", raising=False)
    memories = {}
    for project in ("one", "two"):
        monkeypatch.setenv("MEMORY_PROJECT", project)
        memories[project] = AgentMemory("scout", adapter=MemoryAdapter())
        memories[project].write("plan", "route", project)
        memories[project].write("global/facts", project, project)

    values = {
        project: [entry.value for entry in memory.list()] for project, memory in memories.items()
    }

    assert values == {"one": ["one", "two", "one"], "two": ["one", "two", "two"]}
    for memory in memories.values():
        memory.close()
