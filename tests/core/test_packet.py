from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core import packet
from handoff_memory.core.packet import Action, Claim, PacketState

LEASE = 3_600_000_000
AT = 10**15
HELD = PacketState("claimed", "executor", "s_1", 7, AT, LEASE, 1)


def claim(action: Action, at: int = AT, token: int = 9) -> Claim:
    return Claim(action, token, LEASE, "critic", "s_2", at)


@pytest.mark.parametrize(
    ("now", "held"),
    [
        (AT, True),
        (AT + LEASE - 1, True),
        (AT + LEASE, False),
        (AT - LEASE, True),
        (AT - LEASE - 1, False),
    ],
)
def test_a_lease_holds_until_its_very_end_and_not_into_a_wrong_future(now: int, held: bool) -> None:
    assert packet.is_held(HELD, now) is held
    assert packet.effective(HELD, None, now) == ("claimed" if held else "waiting")


@pytest.mark.parametrize(
    ("expires_at", "now", "state"),
    [
        (AT + 5, AT + 4, "claimed"),
        (AT + 5, AT + 5, "claimed"),  # who holds it may finish
        (AT + 5, AT + LEASE, "expired"),
        (AT + LEASE + 1, AT + LEASE, "waiting"),
    ],
)
def test_a_packet_expires_at_its_time_unless_it_is_held(
    expires_at: int, now: int, state: str
) -> None:
    assert packet.effective(HELD, expires_at, now) == state


@pytest.mark.parametrize("state", ["done", "returned", "withdrawn"])
def test_what_is_closed_stays_closed(state: packet.State) -> None:
    assert packet.effective(HELD._replace(state=state), 0, AT) == state


@pytest.mark.parametrize("action", ["claimed", "resumed"])
def test_a_claim_gives_holder_token_lease_and_a_delivery(action: Action) -> None:
    after = packet.applied(HELD, claim(action, AT + 5))

    assert after == PacketState("claimed", "critic", "s_2", 9, AT + 5, LEASE, 2)
    assert packet.lease_until(after) == AT + 5 + LEASE


@pytest.mark.parametrize("action", ["renewed", "read_back"])
def test_the_holders_word_renews_and_changes_nothing_else(action: Action) -> None:
    assert packet.applied(HELD, claim(action, AT + 5)) == HELD._replace(renewed_at=AT + 5)


@pytest.mark.parametrize("action", ["done", "returned", "withdrawn"])
def test_an_end_is_the_state_of_that_name(action: Action) -> None:
    assert packet.applied(HELD, claim(action)) == HELD._replace(state=action)


def test_reading_an_answer_closes_it() -> None:
    after = packet.applied(PacketState("waiting"), claim("read"))

    assert (after.state, after.deliveries) == ("done", 1)


def test_a_release_forgets_the_holder_and_not_the_deliveries() -> None:
    assert packet.applied(HELD, claim("released")) == PacketState("waiting", deliveries=1)


@given(st.integers(0, 2 * LEASE), st.sampled_from(["s_1", "s_2"]))
def test_a_write_renews_only_a_lease_of_its_session_that_is_in_force(
    later: int, session: str
) -> None:
    after = packet.renewed(HELD, session, AT + later)

    renews = session == "s_1" and later < LEASE
    assert after == (HELD._replace(renewed_at=AT + later) if renews else HELD)


@pytest.mark.parametrize(
    ("status", "author", "recipient", "state"),
    [
        (None, "a", "a", "waiting"),
        (None, "a", None, "waiting"),
        ("withdrawn", "a", "b", "waiting"),
        ("withdrawn", "a", "a", "done"),
        ("done", "a", "a", "waiting"),
    ],
)
def test_news_for_nobody_but_its_author_is_closed(
    status: str | None, author: str, recipient: str | None, state: str
) -> None:
    first = packet.first_state(status=status, author=author, recipient=recipient)

    assert first == PacketState(state)  # type: ignore[arg-type]


def test_every_action_is_one_that_can_be_applied() -> None:
    states = {action: packet.applied(HELD, claim(action)).state for action in packet.ACTIONS}

    assert set(states.values()) == {"claimed", "waiting", "done", "returned", "withdrawn"}
    assert {"claimed", "resumed", "renewed", "read_back", "read", *packet.STATUSES} == set(states)
