"""Who is there and what there is: counts, agents, twins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from actors import START_US, Agent, Clock
from handoff_memory.core import times
from handoff_memory.services import presence

Enter = Callable[..., Agent]


def stats(agent: Agent, **more: Any) -> Any:
    return agent.local.read(lambda tx: presence.stats(tx, agent.who, **more))


def test_everything_is_counted(scout: Agent) -> None:
    for _ in range(3):
        scout.write("a/b")
    scout.write("a/c")
    scout.report("a/b", "success")
    scout.create()

    assert stats(scout)["counts"] == {"records": 2, "versions": 4, "outcomes": 1, "packets": 1}


@pytest.mark.parametrize(("scope", "records"), [("", 4), ("listing", 2), ("listing/5", 1)])
def test_a_scope_counts_what_is_in_it_and_below(scope: str, records: int, scout: Agent) -> None:
    for name in ("listing/5/a", "listing/b", "listing-5/c", "listing.5/d"):
        scout.write(name)

    assert stats(scout, scope=scope)["counts"]["records"] == records


def test_packets_are_counted_by_what_they_are_at_this_time(
    scout: Agent, executor: Agent, clock: Clock
) -> None:
    for summary in ("done", "claimed", "waiting"):
        scout.create(summary)
    scout.create("expired", expires_in=10, to="nobody")
    executor.hand_back(executor.pickup()["packet"]["packet_id"], "done")
    executor.pickup()
    clock.forward(10)

    assert stats(scout)["packets"] == {"claimed": 1, "done": 1, "expired": 1, "waiting": 2}


def test_each_agent_is_shown_with_its_sessions_and_last_write(
    scout: Agent, agent: Enter, clock: Clock
) -> None:
    scout.write("a/b")
    clock.forward(5)
    agent("scout").report("a/b", "success")
    clock.forward(5)
    scout.local.write(lambda tx: presence.enter(tx, agent("reader").who))

    reader, writer = stats(scout)["agents"]

    assert reader == {"agent": "reader", "sessions": 1, "seen": times.iso(START_US + 10_000_000)}
    assert (writer["agent"], writer["sessions"]) == ("scout", 2)
    assert writer["last_write"] == "success a/b@1"
    assert writer["last_write_at"] == times.iso(START_US + 5_000_000)


def test_twins_are_other_sessions_of_one_agent_that_are_alive(
    scout: Agent, executor: Agent, agent: Enter
) -> None:
    gone, left = agent("scout"), agent("scout")
    for session in (scout, executor, gone, left):
        session.write("a/b")
    left.local.write(lambda tx: presence.leave(tx, left.who))
    newest = agent("scout")

    found = newest.local.read(
        lambda tx: presence.twins(tx, newest.who, lambda row: row["session"] != gone.who.session)
    )

    assert [twin["session"] for twin in found] == [scout.who.session]
