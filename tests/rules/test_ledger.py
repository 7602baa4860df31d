from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core.prices import Price
from handoff_memory.rules import ledger
from handoff_memory.rules.ledger import Booking

PRICE = Price(Decimal(2), Decimal(10), Decimal("0.1"), Decimal("2.5"))


def exact(cause: ledger.Cause, tokens: int, **more: Any) -> Booking:
    return Booking(cause, tokens, "o200k_base", exact=True, **more)


def guessed(cause: ledger.Cause, tokens: int, **more: Any) -> Booking:
    return Booking(cause, tokens, "estimate", exact=False, **more)


SESSION = [
    exact("schema", 133),
    exact("payload_in", 800),
    exact("payload_avoided", 2_000, proven=True),
    guessed("payload_avoided", 700, ref="r2"),
    exact("stubs", 12),
    guessed("stubs", 14),
    exact("recalls", 150),
]


def test_the_parts_equal_the_whole() -> None:
    found = ledger.balance(SESSION, transcript_tokens=133 + 800 + 26 + 150)

    assert found.entered == 1_109
    assert found.overhead == 309
    assert found.raw == 3_500
    assert found.raw - found.proven - found.claimed + found.overhead == found.entered


def test_a_claim_is_credited_only_once_a_receipt_confirms_it() -> None:
    before = ledger.balance(SESSION)
    after = ledger.balance(SESSION, {"r2"})

    assert (before.proven, before.claimed, before.net) == (2_000, 700, 1_691)
    assert (after.proven, after.claimed, after.net) == (2_700, 0, 2_391)
    assert before.net_claimed == after.net


def test_a_receipt_for_what_nobody_booked_credits_nothing() -> None:
    assert ledger.balance(SESSION, {"r99"}) == ledger.balance(SESSION)


def test_a_negative_net_is_shown() -> None:
    found = ledger.balance([exact("schema", 1_019), exact("replies", 68)])

    assert found.net == -1_087
    assert ("net", "-1,087", "proven - overhead") in ledger.table(found)


def test_where_nothing_happened_nothing_is_saved() -> None:
    found = ledger.balance([])

    assert (found.raw, found.entered, found.proven, found.claimed, found.net) == (0, 0, 0, 0, 0)
    assert ledger.table(found)[1] == ("entered", "0", "counted by nothing")


def test_a_ledger_that_misses_tokens_of_the_transcript_is_refused() -> None:
    with pytest.raises(ledger.ImbalanceError, match="1109 tokens booked, the transcript has 1110"):
        ledger.balance(SESSION, transcript_tokens=1_110)


def test_a_negative_booking_is_refused() -> None:
    with pytest.raises(ledger.ImbalanceError, match="negative"):
        ledger.balance([exact("stubs", -1)])


def test_a_booking_without_a_known_cause_is_refused() -> None:
    with pytest.raises(ledger.ImbalanceError, match="0 tokens by cause, 5 entered"):
        ledger.balance([exact("luck", 5)])  # type: ignore[arg-type]


def test_the_table_says_which_numbers_are_estimates() -> None:
    rows = ledger.table(ledger.balance(SESSION))

    assert rows == (
        ("schema", "133", "exact"),
        ("stubs", "26", "~14 of it estimated"),
        ("recalls", "150", "exact"),
        ("payload_in", "800", "exact"),
        ("payload_avoided", "2,700", "~700 of it estimated"),
        ("raw", "3,500", "without the governor"),
        ("entered", "1,109", "counted by estimate, o200k_base"),
        ("overhead", "309", "the governor's own"),
        ("saved, proven", "2,000", "seen or confirmed"),
        ("saved, claimed", "700", "not confirmed"),
        ("net", "1,691", "proven - overhead"),
    )
    assert ledger.table(ledger.balance([guessed("stubs", 3)]))[0] == ("stubs", "3", "estimated")


def test_written_tokens_cost_the_output_price_and_avoided_ones_nothing() -> None:
    found = ledger.cost(
        [
            exact("payload_in", 1_000_000, model="m"),
            exact("arguments", 100_000, model="m"),
            exact("echoed", 100_000, model="m"),
            exact("payload_avoided", 9_000_000, model="m"),
        ],
        {"m": PRICE},
    )

    assert found == ledger.Cost(Decimal(4), 0)
    assert found.as_of == "2026-10-24"


def test_tokens_of_a_model_without_a_price_are_named_and_not_guessed() -> None:
    found = ledger.cost([exact("replies", 7, model="x"), exact("replies", 5)], {"m": PRICE})

    assert found == ledger.Cost(Decimal(0), 12)


def test_what_the_client_would_have_cut_is_no_saving() -> None:
    assert ledger.avoided(80_000, 300, ceiling=25_000) == 24_700
    assert ledger.avoided(2_000, 12) == 1_988
    assert ledger.avoided(10, 12) == 0


BOOKINGS = st.lists(
    st.builds(
        Booking,
        cause=st.sampled_from(ledger.CAUSES),
        tokens=st.integers(0, 9_999),
        counter=st.sampled_from(["estimate", "o200k_base"]),
        exact=st.booleans(),
        ref=st.none() | st.sampled_from(["r1", "r2"]),
        proven=st.booleans(),
    )
)


@given(BOOKINGS, st.sets(st.sampled_from(["r1", "r2", "r3"])))
def test_every_ledger_balances(bookings: list[Booking], receipts: set[str]) -> None:
    found = ledger.balance(bookings, receipts)

    entered = sum(one.tokens for one in bookings if one.cause != "payload_avoided")
    assert sum(one.tokens for one in found.amounts) == found.entered + found.proven + found.claimed
    assert found.entered == entered == found.raw - found.proven - found.claimed + found.overhead
    assert 0 <= found.proven <= found.raw
    assert found.net <= found.net_claimed
