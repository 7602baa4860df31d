from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.rules import policy
from handoff_memory.rules.policy import Allow, Budget, Refuse, Spent, Warn, Work

BUDGET = Budget(tokens=1_000, cost_usd=Decimal("0.50"), calls=10, time_s=600)


@pytest.mark.parametrize(
    ("tokens", "state"), [(0, "ok"), (799, "ok"), (800, "low"), (999, "low"), (1_000, "exhausted")]
)
def test_a_budget_is_low_from_80_percent_and_exhausted_from_100(tokens: int, state: str) -> None:
    assert policy.standing(BUDGET, Spent(tokens=tokens)).state == state


def test_the_worst_of_the_limits_counts_and_each_is_shown() -> None:
    found = policy.standing(BUDGET, Spent(tokens=10, cost_usd=Decimal("0.45"), calls=10))

    assert found.state == "exhausted"
    assert [(line.dimension, line.percent, line.state) for line in found.lines] == [
        ("tokens", 1, "ok"),
        ("cost_usd", 90, "low"),
        ("calls", 100, "exhausted"),
        ("time_s", 0, "ok"),
    ]


def test_without_limits_nothing_runs_out() -> None:
    assert policy.standing(Budget(), Spent(tokens=10**9)) == policy.Standing("ok", ())


def test_a_limit_of_zero_is_exhausted_at_once() -> None:
    assert policy.standing(Budget(calls=0), Spent()).state == "exhausted"


def test_work_within_the_budget_is_allowed() -> None:
    assert policy.precheck(BUDGET, Spent(tokens=100), "other", Spent(tokens=100)) == Allow()


def test_work_that_makes_the_budget_low_is_warned_of() -> None:
    found = policy.precheck(BUDGET, Spent(tokens=700, calls=7), "other", Spent(tokens=150, calls=1))

    assert found == Warn("budget low: tokens 85 %, calls 80 %")


def test_work_that_fits_exactly_may_begin() -> None:
    assert isinstance(policy.precheck(BUDGET, Spent(calls=9), "other"), Warn)


def test_work_beyond_a_hard_budget_is_refused() -> None:
    found = policy.precheck(BUDGET, Spent(tokens=500), "other", Spent(tokens=501))

    assert isinstance(found, Refuse)
    assert found.why == "tokens would reach 1001 of 1000"


def test_new_work_after_the_budget_is_gone_is_refused_with_a_way_out() -> None:
    found = policy.precheck(BUDGET, Spent(cost_usd=Decimal("0.50")), "other", Spent())

    assert isinstance(found, Refuse)
    assert found.why == "cost_usd exhausted: 0.50 of 0.50"
    assert "hand the task over" in found.way_out


@pytest.mark.parametrize("work", ["checkpoint", "handoff", "recall", "read"])
def test_what_saves_the_work_is_never_refused(work: Work) -> None:
    assert policy.precheck(BUDGET, Spent(tokens=9_999), work, Spent(tokens=9_999)) == Allow()


AMOUNTS = st.builds(
    Spent,
    tokens=st.integers(0, 2_000),
    cost_usd=st.decimals(0, 1, places=4),
    calls=st.integers(0, 20),
    time_s=st.integers(0, 900),
)


@given(AMOUNTS, AMOUNTS)
def test_what_was_allowed_never_exceeds_a_limit(spent: Spent, expected: Spent) -> None:
    if not isinstance(policy.precheck(BUDGET, spent, "other", expected), Refuse):
        lines = policy.standing(BUDGET, spent.plus(expected)).lines

        assert all(line.spent <= line.limit for line in lines)
