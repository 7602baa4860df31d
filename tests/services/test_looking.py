"""What a dashboard asks the services for: the board, the log by filter, writes over time, loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import scene
from actors import Agent, Clock
from handoff_memory.app import Local, is_alive
from handoff_memory.core import times
from handoff_memory.core.author import Author
from handoff_memory.services import (
    observing,
    packet_views,
    planning,
    presence,
    sealing,
    tasks,
    timeline,
)

SCOUT = Author("scout", "s_1")


def rate(local: Local) -> dict[str, Any]:
    return local.read(timeline.rate)


def writes(local: Local) -> list[int]:
    return [bar["writes"] for bar in rate(local)["bars"]]


# --- writes over time ----------------------------------------------------------------------------


def test_each_write_is_in_the_bar_of_its_time(local: Local, scout: Agent, clock: Clock) -> None:
    for count in (3, 0, 5, 1):
        for n in range(count):
            scout.write(f"a/k{n}")
        clock.forward(60)

    assert writes(local)[-5:] == [3, 0, 5, 1, 0]
    assert sum(writes(local)) == 9
    assert rate(local)["span_s"] == 60


def test_a_bar_is_as_long_as_the_memory_is_old(local: Local, scout: Agent, clock: Clock) -> None:
    scout.write("a/first")
    clock.forward(20 * 86_400)
    scout.write("a/last")

    found = rate(local)

    assert found["span_s"] == 86_400
    assert [bar["writes"] for bar in found["bars"] if bar["writes"]] == [1, 1]


def test_what_is_older_than_all_bars_is_left_out(local: Local, scout: Agent, clock: Clock) -> None:
    scout.write("a/first")
    clock.forward(4000 * 86_400)
    scout.write("a/last")

    assert sum(writes(local)) == 1


def test_writes_of_every_kind_count(local: Local, agent: Callable[..., Agent]) -> None:
    scene.play(local, agent)

    assert sum(writes(local)) == local.read(timeline.head)


def test_an_empty_journal_has_bars_of_nothing(local: Local, scout: Agent) -> None:
    local.write(lambda tx: presence.enter(tx, SCOUT))

    assert set(writes(local)) == {0}


# --- the log -------------------------------------------------------------------------------------


def filtered(local: Local, below: int | None = None, limit: int = 100, **wanted: str) -> Any:
    asked = timeline.Wanted(**wanted)
    return local.read(lambda tx: timeline.filtered(tx, asked, below=below, limit=limit))


def test_the_log_by_filter_has_what_the_whole_log_has(
    local: Local, agent: Callable[..., Agent]
) -> None:
    scene.play(local, agent)
    every = local.read(lambda tx: timeline.entries(tx, limit=1000))[::-1]

    assert filtered(local)["entries"] == every
    for kind in timeline.KINDS:
        assert filtered(local, kind=kind)["entries"] == [e for e in every if e["kind"] == kind]
    for name in ("researcher", "builder", "nobody"):
        assert filtered(local, agent=name)["entries"] == [e for e in every if e["agent"] == name]


def test_the_log_of_a_task_has_its_events_and_its_records(
    local: Local, agent: Callable[..., Agent]
) -> None:
    scene.play(local, agent)

    found = filtered(local, task=scene.TASK)["entries"]

    assert {entry["kind"] for entry in found} == {"task", "event", "record"}
    assert all(scene.TASK in entry["subject"] for entry in found)
    assert filtered(local, task=scene.TASK[:-1])["entries"] == []


def test_a_filter_that_fits_few_gives_a_short_page_and_where_to_go_on(
    local: Local, scout: Agent, executor: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "_LOOKED_AT", 5)
    executor.write("a/b")
    for n in range(9):
        scout.write(f"a/k{n}")

    first = filtered(local, agent="executor")
    second = filtered(local, below=first["next_below"], agent="executor")

    assert (first["entries"], first["next_below"]) == ([], 6)
    assert ([entry["seq"] for entry in second["entries"]], second["next_below"]) == ([1], None)


# --- packets and agents --------------------------------------------------------------------------


def test_an_open_packet_that_expired_stands_with_the_closed_ones(
    local: Local, scout: Agent, clock: Clock
) -> None:
    packet = scout.create(expires_in=60)["packet_id"]
    clock.forward(120)

    found = local.read(lambda tx: packet_views.board(tx, "", limit=10))

    assert [(card["packet_id"], card["state"]) for card in found["closed"]] == [(packet, "expired")]
    assert found["waiting"] == found["claimed"] == []


def test_the_roll_tells_who_is_alive(local: Local, scout: Agent, executor: Agent) -> None:
    scout.write("a/b")
    executor.write("a/c")
    local.write(lambda tx: presence.leave(tx, executor.who))

    found = local.read(lambda tx: presence.roll(tx, lambda session: True, limit=5))

    assert {one["agent"]: one["alive"] for one in found} == {"scout": 1, "executor": 0}
    assert local.read(lambda tx: presence.roll(tx, is_alive, limit=1))[0]["sessions"] == 1


# --- tasks ---------------------------------------------------------------------------------------


def test_drifts_tell_a_pinned_item_that_was_rewritten(local: Local) -> None:
    def plan(**asked: Any) -> None:
        request = planning.PlanRequest(**asked)
        local.write(lambda tx: planning.plan(tx, SCOUT, scene.GOVERNING, request))

    plan(task="t1", objective="x", decisions=("first",))
    plan(decisions=("second",))
    plan(plan=("a step",))
    plan(mode="rewrite", decisions=("other",))

    found = local.read(lambda tx: sealing.drifts(tasks.get(tx, SCOUT, "t1")))

    assert [one["verdict"] for one in found] == ["growth", "minor", "semantic"]
    assert found[2]["cause"] == "pinned_rewrite"


def test_loops_in_the_window_are_told_again(local: Local, agent: Callable[..., Agent]) -> None:
    scene.play(local, agent)

    found = local.read(lambda tx: observing.loops(tasks.get(tx, SCOUT, scene.TASK)))

    assert [(one["tool"], one["verdict"]) for one in found] == [("Bash", "block")]


def test_what_happened_last_comes_first(local: Local, agent: Callable[..., Agent]) -> None:
    scene.play(local, agent)

    found = local.read(lambda tx: tasks.happenings(tx, scene.TASK, 3))

    assert found[0]["event"] == "gap"
    assert found[0]["data"] == {"why": "the hook took longer than its deadline"}
    assert times.parse(found[0]["at"], 0) == local.now()
