"""The contract that AMFS's callers rely on, point by point, through AgentMemory where it leads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("amfs")

from amfs import AgentMemory, OutcomeType
from amfs.factory import create_adapter
from amfs_core.exceptions import AdapterError, VersionConflictError
from amfs_core.models import (
    ArtifactRef,
    Commit,
    DecisionTrace,
    Event,
    EventType,
    LayerConfig,
    MemoryEntry,
    SearchQuery,
)
from amfs_core.pagination import encode_cursor

from handoff_memory.amfs import MemoryAdapter, register
from handoff_memory.store.engine import Tx

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryAdapter]:
    adapter = MemoryAdapter(tmp_path / "memory.db", durability="relaxed")
    yield adapter
    adapter.close()


@pytest.fixture
def scout(store: MemoryAdapter) -> AgentMemory:
    return AgentMemory("Scout-Agent", session_id="s1", adapter=store)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def current(memory: AgentMemory, path: str = "a", key: str = "b") -> MemoryEntry:
    found = memory.adapter.read(path, key, branch="main")
    assert isinstance(found, MemoryEntry)
    return found


def reported(memory: AgentMemory, events: int) -> bool:
    """Whether so many events come; the SDK reports writes from a thread of its own."""
    until = time.monotonic() + 10
    while len(memory.timeline(limit=events + 1)) < events and time.monotonic() < until:
        time.sleep(0.01)
    return len(memory.timeline(limit=events + 1)) == events


# --- entries -----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["a/b", "/", "x/"])
def test_a_slash_in_a_key_is_refused_with_what_to_do(scout: AgentMemory, key: str) -> None:
    with pytest.raises(AdapterError, match=r"holds '/'.*into the entity path"):
        scout.write("path", key, 1)

    assert scout.list() == []


def test_version_one_asks_for_the_next_and_any_other_must_be_it(scout: AgentMemory) -> None:
    first = scout.write("a", "b", 1)
    again = scout.adapter.write(first.model_copy(update={"value": 2}))

    with pytest.raises(VersionConflictError, match="expected 2, found 2"):
        scout.adapter.write(first.model_copy(update={"version": 2, "value": 3}))

    assert (again.version, current(scout).value) == (2, 2)


def test_hashes_are_those_of_the_true_predecessor(scout: AgentMemory) -> None:
    entry = scout.write("a", "b", 1)
    blind = entry.model_copy(
        update={"value": 2, "version": 1, "content_hash": None, "integrity_chain": "0" * 64}
    )

    scout.adapter.write(blind)

    assert scout.verify()["chain_breaks"] == scout.verify()["corrupted"] == []
    assert current(scout).content_hash is not None


def test_an_expired_entry_is_hidden_but_listed_and_its_chain_goes_on(scout: AgentMemory) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    scout.write("a", "b", "old", ttl_at=past)

    assert scout.read("a", "b") is None
    assert [entry.value for entry in scout.list()] == ["old"]
    assert scout.write("a", "b", "new").version == 2
    assert scout.verify()["chain_breaks"] == []


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (Decimal("1.5"), "1.5"),
        (("a", 1), ["a", 1]),
        ({1: "int key"}, {"1": "int key"}),
        (b"bytes", "bytes"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
        (Path("a/b"), "a/b"),
        (None, None),
        ("\u0000 🚲 größe", "\u0000 🚲 größe"),
    ],
    ids=repr,
)
def test_a_value_is_what_its_json_says_and_verifies(
    scout: AgentMemory, value: Any, kept: Any
) -> None:
    written = scout.write("a", "b", value)

    assert written.value == current(scout).value == kept
    assert scout.verify()["corrupted"] == []


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 2**70, "\ud800", object(), nested(101), nested(300)],
    ids=["nan", "inf", "big", "half", "object", "deep", "deeper"],
)
def test_what_no_json_holds_is_refused_and_nothing_is_written(
    scout: AgentMemory, value: Any
) -> None:
    with pytest.raises(
        (AdapterError, UnicodeEncodeError)
    ):  # the SDK hashes a text before we see it
        scout.write("a", "b", value)

    assert scout.list() == []


def test_what_a_thread_reads_is_not_closed_under_it(store: MemoryAdapter) -> None:
    connections = store._connections
    closer = threading.Thread(target=connections.close)

    def read(tx: Tx) -> int:
        closer.start()
        closer.join(0.1)  # it waits
        found = tx.one("SELECT 7 AS found")
        return found["found"] if found else 0

    assert connections.read(read) == 7
    closer.join()
    assert connections.read(lambda tx: tx.one("SELECT 8 AS found")) is not None


def test_a_write_that_waited_while_its_connection_was_closed_goes_on(store: MemoryAdapter) -> None:
    connections = store._connections
    has_one, is_taken = threading.Event(), threading.Event()
    written: list[bool] = []

    def write() -> None:
        connections.write(lambda tx: None)
        has_one.set()
        is_taken.wait()
        connections.write(lambda tx: written.append(True))

    writer = threading.Thread(target=write)
    writer.start()
    has_one.wait()
    with connections.turn():
        is_taken.set()
        time.sleep(0.05)  # it waits for its turn
        connections.close()
    writer.join()

    assert written == [True]


def test_a_secret_is_replaced_before_anything_is_hashed(scout: AgentMemory, tmp_path: Path) -> None:
    written = scout.write(
        "a",
        "b",
        {"note": f"use {TOKEN}"},
        shared=False,
        pattern_refs=[f"see/{TOKEN}"],
        artifact_refs=[ArtifactRef(uri=f"https://host/?token={TOKEN}")],
    )
    scout.commit_outcome("run", OutcomeType.SUCCESS, task_input=f"with {TOKEN}")
    scout.adapter.close()

    said = (written.value["note"], written.artifact_refs[0].uri, *written.provenance.pattern_refs)
    assert ["[redacted:" in text for text in said] == [True] * 3
    assert scout.verify()["corrupted"] == []
    scout.adapter.close()
    assert TOKEN.encode() not in (tmp_path / "memory.db").read_bytes()


def test_a_secret_in_a_name_is_refused(scout: AgentMemory) -> None:
    with pytest.raises(AdapterError, match="looks like a secret"):
        scout.write(f"a/{TOKEN}", "b", 1)


def test_a_list_is_of_one_path_exactly(scout: AgentMemory) -> None:
    for path in ("a", "a/b", "a/bc"):
        scout.write(path, "k", path)

    found = scout.adapter.search(SearchQuery(entity_path="a/b", include_descendants=True))

    assert [entry.entity_path for entry in scout.list("a")] == ["a"]
    assert [entry.entity_path for entry in found] == ["a/b"]


def test_reads_are_counted_at_once_and_carried_on(scout: AgentMemory) -> None:
    scout.write("a", "b", 1)
    counts = [entry.recall_count for _ in range(3) if (entry := scout.read("a", "b"))]

    written = scout.write("a", "b", 2)

    assert counts == [0, 1, 2]
    assert written.recall_count == 3
    assert [entry.recall_count for entry in scout.history("a", "b")] == [3, 3]


def test_reads_of_another_adapter_are_counted_once_it_closes(
    scout: AgentMemory, tmp_path: Path
) -> None:
    scout.write("a", "b", 1)
    with AgentMemory("other", adapter=MemoryAdapter(tmp_path / "memory.db")) as other:
        for _ in range(5):
            other.read("a", "b")
        scout.write("a", "b", 2)  # the newest version is whose count it becomes

    assert current(scout).recall_count == 5


def test_namespaces_are_apart(scout: AgentMemory, tmp_path: Path) -> None:
    scout.write("a", "b", "default")
    other = MemoryAdapter(tmp_path / "memory.db", namespace="other")
    memory = AgentMemory("scout", adapter=other)

    assert memory.read("a", "b") is None
    memory.write("a", "b", "other")

    assert (current(scout).value, current(memory).value) == ("default", "other")
    other.close()


def test_the_factory_makes_it_from_options_that_are_texts(tmp_path: Path) -> None:
    register()
    options = {"database": str(tmp_path / "memory.db"), "durability": "relaxed"}

    made = create_adapter(LayerConfig(adapter="handoff-memory", options=options), "default")

    assert AgentMemory("scout", adapter=made).write("a", "b", 1).version == 1
    made.close()


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match="MEMORY_DURABILITY is full or relaxed"):
        MemoryAdapter(tmp_path / "memory.db", durability="fast")


def test_a_search_filters_and_sorts(scout: AgentMemory) -> None:
    for n, key in enumerate(["low", "high", "middle"]):
        scout.write("a", key, n, confidence=[0.2, 0.9, 0.5][n])
    scout.write("a", "low", "again", confidence=0.2)
    written = current(scout, "a", "high").provenance.written_at

    def keys(**wanted: Any) -> list[str]:
        return [entry.key for entry in scout.search(**wanted)]

    assert keys() == ["high", "middle", "low"]
    assert keys(min_confidence=0.4, max_confidence=0.6) == ["middle"]
    assert keys(since=written, sort_by="recency") == ["low", "middle", "high"]
    assert keys(sort_by="version", limit=1) == ["low"]
    assert sorted(keys(sort_by="priority")) == ["high", "low", "middle"]
    assert keys(agent_id="nobody") == []


# --- batches and exclusive ---------------------------------------------------------------------


def test_a_batch_is_written_whole_or_not_at_all(scout: AgentMemory) -> None:
    scout.write("a", "b", 1)
    good = current(scout).model_copy(update={"key": "c", "version": 1})
    bad = current(scout).model_copy(update={"version": 9})

    with pytest.raises(VersionConflictError):
        scout.adapter.write_batch([good, bad])

    assert [entry.key for entry in scout.list()] == ["b"]


def test_a_transaction_may_write_an_entry_twice(scout: AgentMemory) -> None:
    with scout.transaction("twice") as change:
        change.write("a", "b", 1)
        change.write("a", "b", 2)

    assert [entry.value for entry in scout.history("a", "b")] == [1, 2]
    assert scout.verify()["chain_breaks"] == []


def test_an_error_in_exclusive_undoes_all_of_it(
    scout: AgentMemory, store: MemoryAdapter, tmp_path: Path
) -> None:
    scout.write("a", "b", 1)
    other = MemoryAdapter(tmp_path / "memory.db")

    def change() -> None:
        with store.exclusive(), store.exclusive():
            scout.write("a", "b", 2)
            assert current(scout).value == 2
            seen = other.read("a", "b")
            assert seen is not None
            assert seen.value == 1
            raise KeyError("the caller's own")

    with pytest.raises(KeyError):
        change()

    assert [entry.value for entry in scout.history("a", "b")] == [1]
    other.close()


def test_threads_share_an_adapter(scout: AgentMemory, store: MemoryAdapter) -> None:
    scout.write("a", "count", 0)

    def count() -> None:
        for _ in range(25):
            with store.exclusive():
                entry = scout.read("a", "count")
                assert entry is not None
                scout.write("a", "count", entry.value + 1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert current(scout, "a", "count").value == 100
    assert reported(scout, 201)


# --- outcomes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "start", "outcome", "expected"),
    [
        ("evidence", 0.7, OutcomeType.SUCCESS, 0.8182),
        ("evidence", 0.7, OutcomeType.MINOR_FAILURE, 0.3077),
        ("evidence", 1.0, OutcomeType.FAILURE, 0.3333),
        ("evidence", 1.0, OutcomeType.CRITICAL_FAILURE, 0.25),
        ("multiplicative", 0.7, OutcomeType.SUCCESS, 0.721),
        ("multiplicative", 1.0, OutcomeType.SUCCESS, 1.0),
        ("multiplicative", 1.0, OutcomeType.CRITICAL_FAILURE, 0.85),
    ],
)
def test_confidence_moves_as_the_sdk_says(
    scout: AgentMemory,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    start: float,
    outcome: OutcomeType,
    expected: float,
) -> None:
    monkeypatch.setenv("AMFS_OUTCOME_MODEL", model)
    scout.write("a", "b", 1, confidence=start)

    (moved,) = scout.commit_outcome("run", outcome, causal_entry_keys=["a/b"])

    assert moved.confidence == pytest.approx(expected, abs=5e-5)
    assert current(scout).confidence == moved.confidence


def test_a_repeated_report_gets_the_versions_of_the_first(scout: AgentMemory) -> None:
    scout.write("a", "b", 1, confidence=0.7)
    said = {"outcome_ref": "run", "causal_entry_keys": ["a/b"]}

    first = scout.commit_outcome(outcome_type=OutcomeType.SUCCESS, **said)
    again = scout.commit_outcome(outcome_type=OutcomeType.SUCCESS, **said)
    other = scout.commit_outcome(outcome_type=OutcomeType.FAILURE, **said)

    assert [entry.version for entry in first] == [entry.version for entry in again] == [2]
    assert [entry.version for entry in other] == [3]
    assert [kept.outcome_type for kept in scout.adapter.list_outcomes(outcome_ref="run")] == [
        OutcomeType.FAILURE,
        OutcomeType.SUCCESS,
    ]


def test_an_outcome_keeps_an_entry_private(scout: AgentMemory) -> None:
    scout.write("a", "b", {"v": 1}, shared=False, ttl_at=datetime(2100, 1, 1, tzinfo=UTC))

    (moved,) = scout.commit_outcome("run", OutcomeType.SUCCESS, causal_entry_keys=["a/b"])

    assert (moved.shared, moved.value) == (False, {"v": 1})
    assert moved.ttl_at == datetime(2100, 1, 1, tzinfo=UTC)


def test_outcomes_are_found_by_path_time_and_number(scout: AgentMemory) -> None:
    scout.write("a", "b", 1)
    scout.write("c", "d", 1)
    for n, key in enumerate(["a/b", "c/d", "a/b"]):
        scout.commit_outcome(f"run-{n}", OutcomeType.SUCCESS, causal_entry_keys=[key])
    kept = scout.adapter.list_outcomes()

    assert [record.outcome_ref for record in kept] == ["run-2", "run-1", "run-0"]
    assert scout.adapter.count_outcomes(entity_path="a") == 2
    assert scout.adapter.count_outcomes(since=kept[1].committed_at) == 2
    assert len(scout.adapter.list_outcomes(limit=1)) == 1


# --- commits, traces, agents, the timeline -----------------------------------------------------


def test_commits_are_kept_once_and_listed_newest_first_then_by_id(store: MemoryAdapter) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    made = [
        Commit(id=name, author_agent_id="scout", created_at=at + timedelta(seconds=later))
        for name, later in [("b", 0), ("a", 0), ("c", -1), ("a", 5)]
    ]
    for commit in made:
        store.save_commit(commit)

    assert [commit.id for commit in store.list_commits()] == ["b", "a", "c"]
    assert store.get_commit("a") == made[1]
    assert store.get_commit("unknown") is None
    assert store.list_commits(branch="exp") == store.list_commits(namespace="other") == []


def test_commits_know_their_parents(scout: AgentMemory) -> None:
    for n in range(3):
        with scout.transaction(f"change {n}") as change:
            change.write("a", "b", n)

    newest, middle, oldest = scout.commit_log()

    assert (newest.parent_ids, middle.parent_ids) == ([middle.id], [oldest.id])
    assert scout.common_ancestor(newest.id, oldest.id) == oldest.id


def test_traces_get_ids_and_are_paged_by_cursor(scout: AgentMemory) -> None:
    scout.write("a", "b", 1)
    for n in range(3):
        scout.read("a", "b")
        scout.commit_outcome(f"run-{n}", OutcomeType.SUCCESS, decision_summary=f"d{n}")
    newest, *older = scout.list_traces()

    page = scout.adapter.list_traces(cursor=encode_cursor(newest.created_at, newest.id))

    assert len({trace.id for trace in (newest, *older)}) == 3
    assert page == older
    assert scout.get_trace(newest.id) == newest
    assert scout.get_trace("unknown") is None
    assert scout.adapter.count_traces(entity_path="a", outcome_type="success") == 3
    assert scout.adapter.count_traces(agent_id="nobody") == 0
    assert scout.adapter.list_traces(limit=1, offset=1) == older[:1]


def test_a_trace_that_has_an_id_keeps_it(store: MemoryAdapter) -> None:
    kept = store.save_trace(DecisionTrace(id="mine", agent_id="scout", session_id="s"))

    assert kept.id == "mine"
    assert store.get_trace("mine") == kept


def test_agents_are_known_by_what_they_declared(scout: AgentMemory) -> None:
    scout.set_profile(description="finds listings")
    scout.declare_capability("crawl", entity_paths=["listing"])
    AgentMemory("Executor", adapter=scout.adapter)

    assert [agent.agent_id for agent in scout.adapter.list_agents()] == ["Executor", "Scout-Agent"]
    (found,) = scout.discover_agents(capability="crawl")
    assert found.profile is not None
    assert found.profile.description == "finds listings"
    assert scout.adapter.get_agent("nobody") is None


def test_a_timeline_tells_reads_and_writes_newest_first(scout: AgentMemory) -> None:
    for n in range(3):
        scout.write("a", f"k{n}", n)
    scout.read("a", "k0")
    assert reported(scout, 4)
    newest, *older = scout.timeline()

    page = scout.adapter.list_events(
        "Scout-Agent", cursor=encode_cursor(newest.created_at, newest.id), limit=2
    )

    assert {event.event_type for event in (newest, *older)} == {EventType.READ, EventType.WRITE}
    assert page == older[:2]
    assert scout.adapter.get_event(newest.id) == newest
    assert scout.adapter.get_event("unknown") is None
    assert [event.event_type for event in scout.timeline(event_type="read")] == [EventType.READ]


def test_an_event_with_words_of_its_own_is_redacted(store: MemoryAdapter) -> None:
    event = Event(agent_id="scout", event_type=EventType.WEBHOOK, summary=f"got {TOKEN}")

    kept = store.get_event(store.log_event(event).id)

    assert kept is not None
    assert kept.summary == "got [redacted:github-token]"


def test_an_event_that_nothing_can_hold_keeps_no_other_back(
    store: MemoryAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    for said in ("\ud800", "plain"):
        store.log_event(Event(agent_id="scout", event_type=EventType.WEBHOOK, summary=said))

    assert [event.summary for event in store.list_events("scout")] == ["plain"]
    assert "an event of scout cannot be kept" in caplog.text


def test_counts_wait_while_another_process_holds_the_file(
    scout: AgentMemory, tmp_path: Path
) -> None:
    scout.write("a", "b", 1)
    other = MemoryAdapter(tmp_path / "memory.db")
    with other.exclusive():
        for _ in range(3):
            assert scout.read("a", "b") is not None
        time.sleep(0.5)  # longer than it takes to try, and to give up
    until = time.monotonic() + 10
    while (seen := other.read("a", "b")) and seen.recall_count < 3 and time.monotonic() < until:
        time.sleep(0.05)

    assert seen is not None
    assert seen.recall_count == 3
    other.close()


# --- watching ----------------------------------------------------------------------------------


def test_a_watch_sees_what_another_adapter_writes_below_its_path(
    store: MemoryAdapter, tmp_path: Path
) -> None:
    seen: list[str] = []
    three = threading.Event()

    def note(entry: MemoryEntry) -> None:
        seen.append(f"{entry.entry_key}@{entry.version}")
        if len(seen) == 3:
            three.set()
        raise ValueError("a callback's own fault ends nothing")

    handle = store.watch("plan", note)
    with AgentMemory("other", adapter=MemoryAdapter(tmp_path / "memory.db")) as other:
        for path in ("plan", "plans", "plan/b", "plan"):
            other.write(path, "k", path)
        assert three.wait(5)
        handle.cancel()
        handle.cancel()
        other.write("plan", "k", "unseen")
        three.wait(0.3)

    assert seen == ["plan/k@1", "plan/b/k@1", "plan/k@2"]
