from __future__ import annotations

from fractions import Fraction
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core.confidence import (
    DEFAULT,
    ONE,
    OUTCOMES,
    Outcome,
    from_fraction,
    moved,
    to_fraction,
)

MILLIONTHS = st.integers(0, ONE)
# memory.md §3, in exact fractions
TABLE = {
    "success": lambda c: c + Fraction(20, 100) * (ONE - c),
    "partial": lambda c: c + Fraction(5, 100) * (ONE - c),
    "failure": lambda c: Fraction(65, 100) * c,
    "critical_failure": lambda c: Fraction(40, 100) * c,
}


@pytest.mark.parametrize(
    ("outcome", "before", "after"),
    [
        ("success", 800_000, 840_000),
        ("failure", 600_000, 390_000),
        ("partial", 0, 50_000),
        ("critical_failure", ONE, 400_000),
        ("success", 3, 200_002),
        ("failure", 10, 7),  # 6.5 rounds up
        ("success", ONE, ONE),
        ("failure", 0, 0),
    ],
)
def test_the_table(outcome: Outcome, before: int, after: int) -> None:
    assert moved(before, outcome) == after


@given(MILLIONTHS, st.sampled_from(OUTCOMES))
def test_a_move_is_the_exact_one_rounded_half_up(before: int, outcome: Outcome) -> None:
    exact = TABLE[outcome](Fraction(before))

    assert moved(before, outcome) == floor(exact + Fraction(1, 2))
    assert 0 <= moved(before, outcome) <= ONE


@given(MILLIONTHS, MILLIONTHS, st.sampled_from(OUTCOMES))
def test_who_is_trusted_more_stays_so(one: int, other: int, outcome: Outcome) -> None:
    low, high = sorted((one, other))

    assert moved(low, outcome) <= moved(high, outcome)


@given(MILLIONTHS)
def test_a_fraction_goes_there_and_back(millionths: int) -> None:
    assert from_fraction(to_fraction(millionths)) == millionths


def test_confidence_begins_at_seventy_percent() -> None:
    assert to_fraction(DEFAULT) == 0.7
