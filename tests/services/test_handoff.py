"""The life of a handoff packet. Source: memory.md §4."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors import START_US, Agent, Clock, git
from handoff_memory import workspace
from handoff_memory.app import Local, Makers, open_local
from handoff_memory.core import canonical, times
from handoff_memory.core.author import Author
from handoff_memory.core.errors import (
    AlreadyClaimedError,
    ClaimLostError,
    EmptyHandoffError,
    InvalidArgumentError,
    NotFoundError,
    PacketClosedError,
    PinNotFoundError,
    TooLargeError,
)
from handoff_memory.services import packet_views
from handoff_memory.settings import Settings

Enter = Callable[..., Agent]
Head = Callable[[], tuple[int, bytes]]
LEASE_S = 3600


def state(agent: Agent, packet_id: str) -> str:
    found: str = agent.peek(packet_id)["packet"]["state"]
    return found


# --- what a packet is ----------------------------------------------------------------------------


def test_a_packet_arrives_as_it_was_written(scout: Agent, executor: Agent) -> None:
    details = {
        "severity": "watch",
        "objective": "two applications",
        "last_request": "apply to the good ones",
        "evidence": [{"grade": "observed", "ref": "run 7"}],
        "if_then": ["a 429 -> wait 60 s"],
        "dead_ends": ["the RSS feed is empty"],
        "decisions": [{"choice": "no proxy", "why": "robots.txt"}],
        "workspace": {"branch": "main"},
        "results": {"applied": 0},
    }

    sent = scout.create(
        "Two listings",
        done=["crawled"],
        next=["apply", "report"],
        open_questions=["longer penalty?"],
        to="executor",
        priority="high",
        details=details,
    )

    got = executor.pickup()["packet"]
    assert got["summary"] == "Two listings"
    assert got["done"] == ["crawled"]
    assert got["next"] == ["apply", "report"]
    assert got["open"] == ["longer penalty?"]
    assert got["details"] == details
    assert (got["from"], got["to"], got["priority"]) == ("scout", "executor", "high")
    assert (got["packet_id"], got["hash"]) == (sent["packet_id"], sent["hash"])
    assert got["at"] == times.iso(START_US)


def test_a_packet_id_is_h_and_eight_hex_digits(scout: Agent) -> None:
    packet_id = scout.create()["packet_id"]

    assert packet_id[:2] == "h_"
    assert len(bytes.fromhex(packet_id[2:])) == 4


def test_a_packet_id_grows_where_chance_repeats_itself(settings: Settings, clock: Clock) -> None:
    makers = Makers(clock, entropy=lambda size: b"\x0f" * size)
    with open_local(settings, makers) as local:
        agent = Agent(local, Author("scout", "s_1"))

        ids = [agent.create()["packet_id"] for _ in range(3)]

    assert ids == ["h_" + "0f" * size for size in (4, 5, 6)]


def test_without_done_and_next_there_is_nothing_to_hand_over(scout: Agent, head: Head) -> None:
    scout.write("a/b")
    before = head()

    with pytest.raises(EmptyHandoffError):
        scout.create(next=())

    assert head() == before


def test_done_alone_is_enough(scout: Agent, executor: Agent) -> None:
    scout.create(next=(), done=["all of it"])

    assert executor.pickup()["packet"]["done"] == ["all of it"]


@pytest.mark.parametrize("summary", ["", "  ", "two\nlines"])
def test_a_summary_is_one_line(summary: str, scout: Agent) -> None:
    with pytest.raises(InvalidArgumentError, match="one line"):
        scout.create(summary)


def test_a_status_without_a_packet_to_hand_back_is_refused(scout: Agent) -> None:
    with pytest.raises(InvalidArgumentError, match="in_reply_to"):
        scout.create(status="done")


@pytest.mark.parametrize(
    "details",
    [
        {"mood": "good"},
        {"severity": "dire"},
        {"evidence": "sure"},
        {"evidence": [{"grade": "certain"}]},
        {"evidence": [{"grade": "observed"}, {"grade": "observed"}]},
    ],
)
def test_details_that_nobody_knows_are_refused(details: dict[str, Any], scout: Agent) -> None:
    with pytest.raises(InvalidArgumentError):
        scout.create(done=["one"], details=details)


def sized(agent: Agent, size: int) -> dict[str, Any]:
    """Create a packet whose content takes that many characters."""
    empty = len('{"details":{},"done":[],"next":["go on"],"open":[],"summary":""}')
    return agent.create("x" * (size - empty))


def test_up_to_six_thousand_characters_no_word_is_said(scout: Agent) -> None:
    assert "warnings" not in sized(scout, 6_000)


def test_from_six_thousand_characters_on_there_is_a_warning(scout: Agent, executor: Agent) -> None:
    (warning,) = sized(scout, 6_001)["warnings"]

    assert "6001 characters" in warning
    assert "summary" in warning
    assert executor.pickup()["packet"]["next"] == ["go on"]


def test_twelve_thousand_characters_are_taken_whole(scout: Agent, executor: Agent) -> None:
    sized(scout, 12_000)

    assert set(executor.pickup()["packet"]["summary"]) == {"x"}


def test_one_character_more_is_refused_and_nothing_is_cut(scout: Agent, executor: Agent) -> None:
    with pytest.raises(TooLargeError, match="12001 characters"):
        sized(scout, 12_001)

    assert executor.pickup()["packet"] is None


def test_the_limit_counts_characters_and_not_bytes(scout: Agent, executor: Agent) -> None:
    summary = "界" * 11_000

    scout.create(summary)

    assert executor.pickup()["packet"]["summary"] == summary


def test_a_clean_name_is_one_agent_in_any_spelling(scout: Agent, agent: Enter) -> None:
    scout.create(to="  \uff25\uff38\uff25\uff23utor ")

    assert agent("executor").pickup()["packet"]["to"] == "executor"


# --- pins ----------------------------------------------------------------------------------------


def test_a_pin_without_a_version_means_the_current_one(scout: Agent, executor: Agent) -> None:
    scout.write("plan/route", "north")
    scout.write("plan/route", "west")

    sent = scout.create(pins=["plan/route", "plan/route@1"])

    assert sent["pins"] == ["plan/route@2", "plan/route@1"]
    records = executor.pickup()["records"]
    assert [(r["version"], r["value"]) for r in records] == [(2, "west"), (1, "north")]


@pytest.mark.parametrize("pin", ["plan/rout", "plan/route@2"])
def test_a_pin_that_does_not_exist_is_named_and_no_packet_is_written(
    pin: str, scout: Agent, executor: Agent, head: Head
) -> None:
    scout.write("plan/route")
    before = head()

    with pytest.raises(PinNotFoundError, match=pin) as error:
        scout.create(pins=["plan/route", pin])

    assert error.value.facts["nearest"][0].startswith("plan/route")
    assert head() == before
    assert executor.waiting == 0


def test_the_receiver_gets_the_pinned_version_and_is_told_that_it_moved(
    scout: Agent, executor: Agent, agent: Enter, clock: Clock
) -> None:
    names = ["listing/482/assessment", "listing/553/assessment", "listing/553/budget", "site/limit"]
    for name in names:
        scout.write(name, "at first")
    scout.create(pins=names)
    clock.forward(60)
    agent("editor").write(names[1], "at last", source="the page changed")
    agent("editor").write(names[1], "at very last", source="it changed again")

    got = executor.pickup()

    assert [r["value"] for r in got["records"]] == ["at first"] * 4
    assert [r["version"] for r in got["records"]] == [1] * 4
    assert [r.get("superseded_by") for r in got["records"]] == [None, 3, None, None]
    assert got["stale"] == [
        {
            "name": names[1],
            "pinned": 1,
            "current": 3,
            "by": "editor",
            "at": times.iso(START_US + 60_000_000),
            "source": "it changed again",
        }
    ]
    assert got["pins_moved"] == "1 of 4 pins moved"


def test_that_no_pin_moved_is_said_too(scout: Agent, executor: Agent) -> None:
    names = [f"listing/{n}/assessment" for n in range(4)]
    for name in names:
        scout.write(name)
    scout.create(pins=names)

    got = executor.pickup()

    assert got["stale"] == []
    assert got["pins_moved"] == "0 of 4 pins moved"


def test_many_large_pins_leave_the_packet_whole_and_the_reply_bounded(
    scout: Agent, executor: Agent
) -> None:
    names = [f"plan/{n}" for n in range(100)]
    for name in names:
        scout.write(name, name * 1000)
    steps = [f"step {n}" for n in range(100)]
    scout.create(next=steps, pins=names)

    got = executor.pickup()

    assert got["packet"]["next"] == steps
    shown = [r.get("name", f"{r.get('scope')}/{r.get('key')}@1") for r in got["records"]]
    assert shown == [f"{name}@1" for name in names]
    named_only = 100 * len('{"name":"plan/99@1","hint":"memory_read plan/99@1 gives it"},')
    limit = executor.local.settings.limits.reply_bytes
    assert len(canonical.encode(got["records"])) <= limit + named_only
    assert "memory_read" in got["records"][-1]["hint"]


# --- who gets what -------------------------------------------------------------------------------


def test_nothing_waiting_is_a_reply_and_no_error(executor: Agent, head: Head) -> None:
    executor.write("a/b")
    before = head()

    reply = executor.pickup()

    assert reply["packet"] is None
    assert head() == before


def test_the_highest_priority_comes_first_and_then_the_oldest(
    scout: Agent, executor: Agent, clock: Clock
) -> None:
    for summary, priority in (
        ("3", "normal"),
        ("5", "low"),
        ("1", "urgent"),
        ("4", "normal"),
        ("2", "high"),
    ):
        scout.create(summary, priority=priority)
        clock.forward(1)

    taken = []
    while (got := executor.pickup())["packet"]:
        taken.append(got["packet"]["summary"])
        executor.hand_back(got["packet"]["packet_id"], "done")

    assert taken == ["1", "2", "3", "4", "5"]


def test_a_packet_for_somebody_else_is_not_handed_out(scout: Agent, executor: Agent) -> None:
    packet_id = scout.create(to="critic")["packet_id"]

    assert executor.pickup()["packet"] is None
    assert executor.waiting == 0
    with pytest.raises(AlreadyClaimedError, match="is for critic"):
        executor.pickup(packet_id)


def test_the_writing_session_does_not_get_its_own_packet_for_nobody(
    scout: Agent, executor: Agent
) -> None:
    scout.create()

    assert scout.pickup()["packet"] is None
    assert scout.waiting == 0
    assert executor.waiting == 1


def test_the_next_session_of_the_same_agent_gets_it(scout: Agent, agent: Enter) -> None:
    packet_id = scout.create()["packet_id"]
    again = agent("scout")

    assert again.waiting == 1
    assert again.pickup()["packet"]["packet_id"] == packet_id


def test_a_packet_to_oneself_is_handed_out_at_once(scout: Agent) -> None:
    packet_id = scout.create(to="scout")["packet_id"]

    assert scout.pickup()["packet"]["packet_id"] == packet_id


def test_a_packet_waits_for_an_agent_that_nobody_has_seen(scout: Agent, agent: Enter) -> None:
    packet_id = scout.create(to="newcomer")["packet_id"]

    newcomer = agent("newcomer")

    assert newcomer.waiting == 1
    assert newcomer.pickup()["packet"]["packet_id"] == packet_id


def test_one_packet_goes_to_one_agent_however_many_ask(scout: Agent, agent: Enter) -> None:
    scout.create()

    replies = [agent(f"racer {n}").pickup()["packet"] for n in range(8)]

    assert [reply is None for reply in replies] == [False] + [True] * 7


def test_a_packet_can_be_asked_for_by_its_id(scout: Agent, executor: Agent) -> None:
    scout.create("first", priority="urgent")
    wanted = scout.create("second", priority="low")["packet_id"]

    assert executor.pickup(wanted)["packet"]["summary"] == "second"


def test_an_unknown_packet_is_not_found(executor: Agent) -> None:
    with pytest.raises(NotFoundError, match="h_ffffffff"):
        executor.pickup("h_ffffffff")


def test_looking_five_times_changes_nothing(scout: Agent, executor: Agent, head: Head) -> None:
    packet_id = scout.create(to="executor")["packet_id"]
    before = head()

    seen = [executor.peek() for _ in range(5)] + [scout.peek(packet_id)]

    assert head() == before
    assert {look["packet"]["packet_id"] for look in seen} == {packet_id}
    assert {look["packet"]["state"] for look in seen} == {"waiting"}
    assert {look["packet"]["deliveries"] for look in seen} == {0}
    assert executor.waiting == 1


# --- the lease -----------------------------------------------------------------------------------


def test_a_claim_is_a_lease_of_an_hour_with_a_token(
    scout: Agent, executor: Agent, head: Head
) -> None:
    scout.create()

    got = executor.pickup()

    assert got["packet"]["state"] == "claimed"
    assert got["packet"]["holder"] == "executor"
    assert got["lease_until"] == times.iso(START_US + LEASE_S * 1_000_000)
    assert got["token"] == head()[0]


def test_whoever_asks_for_a_held_packet_is_told_who_has_it_and_until_when(
    scout: Agent, executor: Agent, agent: Enter, head: Head
) -> None:
    packet_id = scout.create()["packet_id"]
    until = executor.pickup()["lease_until"]
    before = head()

    with pytest.raises(AlreadyClaimedError) as error:
        agent("critic").pickup(packet_id)

    assert error.value.facts == {"holder": "executor", "lease_until": until}
    assert agent("critic").pickup()["packet"] is None
    assert head() == before


def test_a_microsecond_before_its_end_a_lease_holds(
    scout: Agent, executor: Agent, agent: Enter, clock: Clock
) -> None:
    scout.create()
    executor.pickup()

    clock.now += LEASE_S * 1_000_000 - 1

    assert agent("critic").pickup()["packet"] is None


def test_at_the_instant_of_its_end_the_packet_waits_again(
    scout: Agent, executor: Agent, agent: Enter, clock: Clock
) -> None:
    packet_id = scout.create()["packet_id"]
    first = executor.pickup()
    critic = agent("critic")

    clock.now += LEASE_S * 1_000_000

    assert state(scout, packet_id) == "waiting"
    assert critic.waiting == 1
    got = critic.pickup()
    assert got["packet"]["packet_id"] == packet_id
    assert got["packet"]["deliveries"] == 2
    assert got["held_before"] == {"by": "executor", "until": first["lease_until"]}
    assert got["token"] > first["token"]


def test_each_write_of_the_holder_renews_the_lease(
    scout: Agent, executor: Agent, agent: Enter, clock: Clock
) -> None:
    scout.write("a/b")
    scout.create()
    executor.pickup()
    writes: list[Callable[[], Any]] = [
        lambda: executor.write("a/c"),
        lambda: executor.report("a/b", "success"),
        lambda: executor.create("a side packet", to="critic"),
        executor.pickup,
    ]

    for write in writes:
        clock.forward(LEASE_S - 1)
        write()

    clock.forward(LEASE_S - 1)
    assert agent("third").pickup()["packet"] is None
    clock.forward(1)
    assert agent("third").pickup()["packet"] is not None


def test_reading_renews_no_lease(scout: Agent, executor: Agent, agent: Enter, clock: Clock) -> None:
    scout.write("a/b")
    packet_id = scout.create()["packet_id"]
    executor.pickup()

    clock.forward(LEASE_S - 1)
    executor.read("a/b")
    executor.search("fact")
    executor.peek(packet_id)
    clock.forward(1)

    assert agent("critic").pickup()["packet"]["packet_id"] == packet_id


def test_a_write_of_somebody_else_renews_no_lease(
    scout: Agent, executor: Agent, agent: Enter, clock: Clock
) -> None:
    packet_id = scout.create()["packet_id"]
    executor.pickup()

    clock.forward(LEASE_S - 1)
    scout.write("a/b")
    agent("executor").write("a/c")  # another session of the same agent
    clock.forward(1)

    assert state(scout, packet_id) == "waiting"


def test_a_write_after_the_end_does_not_bring_a_lease_back(
    scout: Agent, executor: Agent, clock: Clock
) -> None:
    packet_id = scout.create()["packet_id"]
    executor.pickup()

    clock.forward(LEASE_S)
    executor.write("a/b")

    assert state(scout, packet_id) == "waiting"


def test_a_clock_set_back_by_years_does_not_keep_a_packet_for_years(
    scout: Agent, executor: Agent, clock: Clock
) -> None:
    packet_id = scout.create()["packet_id"]
    executor.pickup()

    clock.forward(-3 * 365 * 86_400)

    assert state(scout, packet_id) == "waiting"


def test_the_holder_that_asks_again_gets_its_own_packet_with_the_same_token(
    scout: Agent, executor: Agent, clock: Clock
) -> None:
    scout.create("mine", priority="low")
    first = executor.pickup()
    scout.create("another", priority="urgent")
    clock.forward(60)

    again = executor.pickup()

    assert again["resumed"] is True
    assert again["packet"]["summary"] == "mine"
    assert again["packet"]["deliveries"] == 1
    assert again["token"] == first["token"]
    assert again["lease_until"] == times.iso(START_US + (LEASE_S + 60) * 1_000_000)


def test_a_living_session_keeps_its_packet_from_its_own_twin(
    scout: Agent, executor: Agent, agent: Enter
) -> None:
    packet_id = scout.create()["packet_id"]
    executor.pickup()
    twin = agent("executor")

    assert twin.pickup()["packet"] is None
    with pytest.raises(AlreadyClaimedError):
        twin.pickup(packet_id)


def test_after_a_session_has_died_the_agents_next_one_resumes_at_once_with_a_new_token(
    scout: Agent, executor: Agent, agent: Enter
) -> None:
    packet_id = scout.create()["packet_id"]
    old = executor.pickup()["token"]
    executor.dead.add(executor.who.session)
    successor = agent("executor")

    got = successor.pickup()

    assert got["resumed"] is True
    assert got["packet"]["packet_id"] == packet_id
    assert got["packet"]["deliveries"] == 2
    assert got["token"] > old
    with pytest.raises(ClaimLostError):
        executor.hand_back(packet_id, "done", token=old)


def test_after_a_session_has_died_another_agent_waits_for_the_lease(
    scout: Agent, executor: Agent, agent: Enter
) -> None:
    scout.create()
    executor.pickup()
    executor.dead.add(executor.who.session)

    assert agent("critic").pickup()["packet"] is None


# --- the old holder ------------------------------------------------------------------------------


@pytest.fixture
def overtaken(
    scout: Agent, executor: Agent, agent: Enter, clock: Clock
) -> tuple[str, int, int, Agent]:
    """A packet, the executor's old token, the critic's new one, and the critic."""
    packet_id = scout.create()["packet_id"]
    old = executor.pickup()["token"]
    clock.forward(LEASE_S)
    critic = agent("critic")
    return packet_id, old, critic.pickup()["token"], critic


@pytest.mark.parametrize("status", ["done", "returned", "released"])
@pytest.mark.parametrize("names_token", [True, False])
def test_what_the_old_holder_hands_back_is_refused_and_changes_nothing(
    *,
    status: str,
    names_token: bool,
    executor: Agent,
    overtaken: tuple[str, int, int, Agent],
    head: Head,
) -> None:
    packet_id, old, _, critic = overtaken
    before = head()

    with pytest.raises(ClaimLostError, match="held by critic"):
        executor.hand_back(packet_id, status, token=old if names_token else None)

    assert head() == before
    assert critic.peek(packet_id)["packet"]["holder"] == "critic"


def test_what_the_old_holder_reads_back_is_refused_and_changes_nothing(
    executor: Agent, overtaken: tuple[str, int, int, Agent], head: Head
) -> None:
    packet_id, old, _, _ = overtaken
    before = head()

    with pytest.raises((ClaimLostError, AlreadyClaimedError)):
        executor.pickup(packet_id, token=old, read_back="still mine")

    assert head() == before


def test_the_new_holder_hands_back_with_its_own_token(
    overtaken: tuple[str, int, int, Agent],
) -> None:
    packet_id, _, new, critic = overtaken

    critic.hand_back(packet_id, "done", token=new)

    assert state(critic, packet_id) == "done"


def test_even_its_holder_is_refused_once_the_lease_is_over(
    scout: Agent, executor: Agent, clock: Clock, head: Head
) -> None:
    packet_id = scout.create()["packet_id"]
    token = executor.pickup()["token"]
    clock.forward(LEASE_S)
    before = head()

    with pytest.raises(ClaimLostError, match="waiting"):
        executor.hand_back(packet_id, "done", token=token)

    assert head() == before


def test_a_guessed_token_is_refused(scout: Agent, executor: Agent, head: Head) -> None:
    packet_id = scout.create()["packet_id"]
    token = executor.pickup()["token"]
    before = head()

    with pytest.raises(ClaimLostError):
        executor.hand_back(packet_id, "done", token=token + 1)

    assert head() == before


def test_nobody_hands_back_what_was_never_picked_up(scout: Agent, executor: Agent) -> None:
    packet_id = scout.create()["packet_id"]

    with pytest.raises(ClaimLostError, match="no claim of yours"):
        executor.hand_back(packet_id, "done")


# --- reading back, handing back, threads ---------------------------------------------------------


def test_the_sender_sees_what_the_receiver_understood(
    scout: Agent, executor: Agent, clock: Clock
) -> None:
    packet_id = scout.create(done=["crawled"])["packet_id"]
    token = executor.pickup()["token"]
    clock.forward(5)

    executor.pickup(token=token, read_back="Apply to both; first draft 482. crawled: verified")

    assert scout.peek(packet_id)["read_back"] == [
        {
            "by": "executor",
            "at": times.iso(START_US + 5_000_000),
            "text": "Apply to both; first draft 482. crawled: verified",
        }
    ]


@pytest.mark.parametrize("status", ["done", "returned"])
def test_handing_back_ends_the_claim_and_tells_the_sender(
    status: str, scout: Agent, executor: Agent
) -> None:
    scout.write("plan/route")
    packet_id = scout.create()["packet_id"]
    token = executor.pickup()["token"]

    reply = executor.hand_back(packet_id, status, token=token, pins=["plan/route"], done=["sent"])

    assert reply["closed"] == {"packet_id": packet_id, "status": status}
    assert reply["to"] == "scout"
    assert state(scout, packet_id) == status
    assert scout.waiting == 1
    got = scout.pickup()
    assert got["packet"]["packet_id"] == reply["packet_id"]
    assert (got["packet"]["status"], got["packet"]["in_reply_to"]) == (status, packet_id)
    assert got["packet"]["done"] == ["sent"]
    assert got["records"][0]["key"] == "route"


def test_an_answer_is_closed_by_reading_it(scout: Agent, executor: Agent) -> None:
    packet_id = scout.create()["packet_id"]
    executor.pickup()
    answer = executor.hand_back(packet_id, "done")["packet_id"]

    got = scout.pickup()

    assert got["packet"]["state"] == "done"
    assert "token" not in got
    assert scout.waiting == 0
    assert scout.pickup()["packet"] is None
    assert state(scout, answer) == "done"


def test_the_senders_next_session_gets_the_answer(
    scout: Agent, executor: Agent, agent: Enter
) -> None:
    packet_id = scout.create()["packet_id"]
    executor.pickup()
    executor.hand_back(packet_id, "done")

    assert agent("scout").pickup()["packet"]["in_reply_to"] == packet_id


def test_a_released_packet_waits_again_for_anybody(
    scout: Agent, executor: Agent, agent: Enter
) -> None:
    packet_id = scout.create()["packet_id"]
    executor.pickup()

    executor.hand_back(packet_id, "released")

    assert state(scout, packet_id) == "waiting"
    assert scout.pickup()["packet"]["status"] == "released"
    got = agent("critic").pickup()
    assert got["packet"]["packet_id"] == packet_id
    assert got["packet"]["deliveries"] == 2


def test_its_author_withdraws_a_packet_and_it_stays_in_the_history(
    scout: Agent, executor: Agent
) -> None:
    packet_id = scout.create()["packet_id"]

    scout.hand_back(packet_id, "withdrawn")

    assert executor.waiting == 0
    assert executor.pickup()["packet"] is None
    assert scout.waiting == 0
    assert executor.peek(packet_id)["packet"]["state"] == "withdrawn"


def test_a_withdrawal_of_a_claimed_packet_goes_to_whoever_works_on_it(
    scout: Agent, executor: Agent
) -> None:
    packet_id = scout.create()["packet_id"]
    token = executor.pickup()["token"]

    scout.hand_back(packet_id, "withdrawn")

    assert executor.pickup()["packet"]["status"] == "withdrawn"
    with pytest.raises(PacketClosedError, match="withdrawn"):
        executor.hand_back(packet_id, "done", token=token)


def test_only_its_author_withdraws_a_packet(scout: Agent, executor: Agent, head: Head) -> None:
    packet_id = scout.create()["packet_id"]
    executor.pickup()
    before = head()

    with pytest.raises(ClaimLostError, match="only scout"):
        executor.hand_back(packet_id, "withdrawn")

    assert head() == before


@pytest.mark.parametrize("status", ["done", "returned", "withdrawn"])
def test_a_closed_packet_is_neither_picked_up_nor_handed_back(
    status: str, scout: Agent, executor: Agent
) -> None:
    packet_id = scout.create()["packet_id"]
    executor.pickup()
    (scout if status == "withdrawn" else executor).hand_back(packet_id, status)

    with pytest.raises(PacketClosedError, match=status):
        executor.pickup(packet_id)
    with pytest.raises(PacketClosedError, match=status):
        executor.hand_back(packet_id, "done")


def test_a_packet_expires_on_time_without_anybody_sweeping(
    scout: Agent, executor: Agent, clock: Clock
) -> None:
    packet_id = scout.create(expires_in=60)["packet_id"]
    clock.now += 60_000_000 - 1
    assert executor.waiting == 1

    clock.now += 1

    assert executor.waiting == 0
    assert executor.pickup()["packet"] is None
    assert state(scout, packet_id) == "expired"
    with pytest.raises(PacketClosedError, match="expired"):
        executor.pickup(packet_id)


def test_who_claimed_in_time_may_finish_after_the_expiry(
    scout: Agent, executor: Agent, clock: Clock
) -> None:
    packet_id = scout.create(expires_in=60)["packet_id"]
    executor.pickup()
    clock.forward(120)

    executor.hand_back(packet_id, "done")

    assert state(scout, packet_id) == "done"


def test_a_chain_of_packets_is_read_as_one_thread(
    scout: Agent, executor: Agent, agent: Enter
) -> None:
    first = scout.create("first")["packet_id"]
    scout.create("no part of it")
    executor.pickup(first)
    second = executor.create("second", in_reply_to=first, to="critic")["packet_id"]
    third = executor.hand_back(first, "done")["packet_id"]

    found = scout.local.read(lambda tx: packet_views.thread(tx, scout.who, third))

    assert found["thread"] == first
    assert [packet["packet_id"] for packet in found["packets"]] == [first, second, third]
    events = [(event["action"], event["agent"]) for event in found["packets"][0]["events"]]
    assert events == [("claimed", "executor"), ("done", "executor")]


# --- the checkout --------------------------------------------------------------------------------


def test_a_packet_says_where_the_senders_checkout_stood(
    checkout: Path, scout: Agent, executor: Agent
) -> None:
    scout.create(workspace=workspace.state(checkout))

    there = executor.pickup()["packet"]["details"]["workspace"]

    assert there == {"branch": "main", "commit": git(checkout, "rev-parse", "HEAD"), "dirty": False}


def test_the_same_checkout_is_no_news(checkout: Path, scout: Agent, executor: Agent) -> None:
    scout.create(workspace=workspace.state(checkout))

    assert "workspace" not in executor.pickup(here=workspace.state(checkout))


@pytest.mark.parametrize("differs", ["branch", "commit", "dirty"])
def test_a_checkout_that_stands_elsewhere_is_said(
    differs: str, checkout: Path, scout: Agent, executor: Agent
) -> None:
    scout.create(workspace=workspace.state(checkout))
    if differs == "branch":
        git(checkout, "switch", "-q", "-c", "side")
    elif differs == "commit":
        git(checkout, "commit", "-q", "--allow-empty", "-m", "two")
    else:
        (checkout / "a.txt").write_text("two")

    moved = executor.pickup(here=workspace.state(checkout))["workspace"]

    assert moved["note"] == f"your checkout stands elsewhere: {differs} differ"
    assert moved["yours"] == workspace.state(checkout)


def test_outside_a_checkout_nothing_is_said_of_one(
    tmp_path: Path, scout: Agent, executor: Agent
) -> None:
    scout.create(workspace=workspace.state(tmp_path))

    got = executor.pickup(here=None)

    assert "workspace" not in got["packet"]["details"]
    assert "workspace" not in got


def test_the_database_of_a_whole_life_verifies(
    scout: Agent, executor: Agent, clock: Clock, local: Local, verified: Callable[[], Any]
) -> None:
    for status in ("released", "returned", "done"):
        packet_id = scout.create(to="executor")["packet_id"]
        executor.pickup(packet_id)
        clock.forward(LEASE_S - 1)
        executor.write("a/b")
        executor.hand_back(packet_id, status)
        scout.pickup()

    assert verified()["ok"]
