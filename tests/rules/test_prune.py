from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.rules import prune
from handoff_memory.rules.prune import Item, Mode, Situation

ALIVE = Situation(idle_s=10, ttl_s=300, threshold_tokens=40_000, prefix_tokens=3_000, turn=20)
EXPIRED = ALIVE._replace(idle_s=301)


def item(name: str, zone: str, tokens: int, turn: int = 1, **more: str | None) -> Item:
    return Item(name, zone, tokens, **{"ref": f"ref-{name}", "turn": turn, **more})  # type: ignore[arg-type]


def moved(plan: prune.PrunePlan) -> list[str]:
    return [move.id for move in plan.moves]


# --- the formula ---------------------------------------------------------------------------------


def test_the_formula_is_the_one_of_the_specification() -> None:
    assert prune.net_savings(5_000, 3_000, 1, prefix_pruned=True) == 2_000
    assert prune.net_savings(5_000, 3_000, 0, prefix_pruned=True) == 5_000
    assert prune.net_savings(5_000, 3_000, 1, prefix_pruned=False) == 5_000
    assert prune.net_savings(1_000, 3_000, 1, prefix_pruned=True) == -2_000


@pytest.mark.parametrize(("idle_s", "probability"), [(0, 1), (299, 1), (300, 0), (301, 0)])
def test_only_a_living_cache_can_be_killed(idle_s: int, probability: int) -> None:
    assert prune.p_cache_dead(idle_s, 300) == probability


def test_pruning_costs_in_the_prefix_and_nothing_behind_it() -> None:
    assert [prune.zone_cost(zone, 70) for zone in ("A", "B", "C", "D")] == [70, 70, 0, 0]


@pytest.mark.parametrize(
    ("removed", "suffix", "breaks_even"),
    [(20_000, 5_000, 2.9), (20_000, 50_000, 29), (2_000, 50_000, 288)],
)
def test_the_priced_truth_breaks_even_where_the_notes_say(
    removed: int, suffix: int, breaks_even: float
) -> None:
    assert prune.priced(removed, suffix, int(breaks_even * 0.97)) < 0
    assert prune.priced(removed, suffix, int(breaks_even * 1.03) + 1) > 0


def test_an_expired_cache_makes_the_suffix_free() -> None:
    assert prune.priced(1_000, 50_000, 3, alive=False) == Decimal(300)
    assert prune.priced(1_000, 1_000, 3) == Decimal("300") - Decimal("1150")


# --- the modes -----------------------------------------------------------------------------------


def test_cache_ttl_waits_while_the_cache_lives() -> None:
    plan = prune.plan([item("a", "D", 90_000)], "cache_ttl", ALIVE)

    assert plan.moves == ()
    assert plan.why == "the cache is alive: idle 10 s of 300 s"
    assert prune.plan([item("a", "D", 9)], "cache_ttl", ALIVE._replace(idle_s=300)).moves == ()


def test_cache_ttl_moves_every_zone_once_the_cache_has_expired() -> None:
    items = [item(zone, zone, 10) for zone in "ABCD"]

    plan = prune.plan(items, "cache_ttl", EXPIRED)

    assert moved(plan) == ["A", "B", "C", "D"]
    assert plan.net == 40
    assert [move.cost for move in plan.moves] == [10, 10, 0, 0]


@pytest.mark.parametrize(
    ("mode", "threshold"), [("conservative", 80_000), ("balanced", 40_000), ("aggressive", 10_000)]
)
def test_each_mode_begins_above_its_multiple_of_the_threshold(mode: Mode, threshold: int) -> None:
    at, above = [item("a", "D", threshold)], [item("a", "D", threshold + 1)]

    assert prune.plan(at, mode, ALIVE).why == f"{threshold} tokens do not exceed {threshold}"
    assert moved(prune.plan(above, mode, ALIVE)) == ["a"]


def test_conservative_moves_payloads_of_c_and_d_only() -> None:
    items = [
        item("pinned", "A", 30_000),
        item("plan", "B", 30_000),
        item("said", "D", 30_000, kind="turn"),
        item("recent", "C", 30_000),
        item("cold", "D", 30_000),
    ]

    plan = prune.plan(items, "conservative", ALIVE)

    assert moved(plan) == ["recent", "cold"]
    assert [kept.why for kept in plan.kept] == [
        "is in the cached prefix",
        "is in the cached prefix",
        "is a turn, not a payload",
    ]


def test_balanced_moves_cold_turns_too_and_keeps_recent_ones() -> None:
    items = [
        item("cold", "D", 30_000, turn=12, kind="turn"),
        item("recent", "C", 30_000, turn=13, kind="turn"),
    ]

    plan = prune.plan(items, "balanced", ALIVE)

    assert moved(plan) == ["cold"]
    assert plan.kept == (prune.Kept("recent", "is a recent turn"),)


def test_aggressive_takes_from_the_prefix_what_still_nets_a_gain() -> None:
    items = [item("plan", "B", 6_000), item("recent", "C", 5_000, kind="turn")]

    plan = prune.plan(items, "aggressive", ALIVE)

    assert moved(plan) == ["plan", "recent"]
    assert plan.net == 11_000 - 3_000


def test_a_prune_of_the_prefix_that_nets_nothing_is_not_made_and_says_why() -> None:
    items = [item("plan", "B", 3_000), item("bare", "C", 20_000, ref=None)]

    plan = prune.plan(items, "aggressive", ALIVE)

    assert plan.moves == ()
    assert plan.net == 0
    assert plan.why == "pruning the live prefix would net 0 tokens"
    assert plan.kept[1].why == "has no ref"


def test_where_the_prefix_would_lose_the_rest_still_leaves() -> None:
    items = [item("plan", "B", 500), item("bare", "C", 20_000, ref=None), item("cold", "D", 2_000)]

    plan = prune.plan(items, "aggressive", ALIVE)

    assert moved(plan) == ["cold"]
    assert plan.kept[0].why == "pruning the live prefix would net -500 tokens"


def test_the_coldest_leave_first_and_only_down_to_half_the_threshold() -> None:
    items = [item(f"turn{turn}", "D", 10_000, turn) for turn in (3, 1, 4, 2, 5)]

    plan = prune.plan(items, "balanced", ALIVE)

    assert sorted(moved(plan)) == ["turn1", "turn2", "turn3"]
    assert plan.kept[0].why == "is not needed to reach the low water"


def test_after_a_prune_the_next_turn_begins_none() -> None:
    items = [item(f"turn{turn}", "D", 9_000, turn) for turn in range(5)]
    gone = set(moved(prune.plan(items, "balanced", ALIVE)))
    left = [one for one in items if one.id not in gone]

    again = prune.plan([*left, item("new", "C", 9_000, 21)], "balanced", ALIVE)

    assert gone
    assert again.moves == ()


def test_a_prune_that_frees_next_to_nothing_waits() -> None:
    items = [item("bare", "C", 50_000, ref=None), item("small", "D", 3_999)]

    plan = prune.plan(items, "balanced", ALIVE)

    assert plan.moves == ()
    assert plan.why == "only 3999 tokens would be freed: not worth a prune yet"


def test_where_nothing_has_a_ref_nothing_leaves() -> None:
    plan = prune.plan([item("bare", "D", 90_000, ref=None)], "cache_ttl", EXPIRED)

    assert plan.why == "nothing can leave: no item has a ref and may go"
    assert plan.kept == (prune.Kept("bare", "has no ref"),)


def test_the_plan_prices_what_stands_behind_the_first_move() -> None:
    items = [item("cold", "D", 50_000), item("recent", "C", 5_000, 20, kind="turn")]

    alive = prune.plan(items, "balanced", ALIVE._replace(turns_left=2))
    expired = prune.plan(items, "balanced", EXPIRED._replace(turns_left=2))

    assert alive.priced == Decimal(10_000) - Decimal(5_750)
    assert expired.priced == Decimal(10_000)


ITEMS = st.lists(
    st.builds(
        Item,
        id=st.uuids().map(str),
        zone=st.sampled_from("ABCD"),
        tokens=st.integers(0, 30_000),
        ref=st.none() | st.just("ref"),
        turn=st.integers(0, 30),
        kind=st.sampled_from(["payload", "turn"]),
    ),
    max_size=12,
    unique_by=lambda one: one.id,
)


@given(ITEMS, st.sampled_from(prune.MODES), st.integers(0, 600), st.integers(0, 60_000))
def test_no_item_is_lost_and_no_prune_is_made_at_a_loss(
    items: list[Item], mode: Mode, idle_s: int, prefix_tokens: int
) -> None:
    now = ALIVE._replace(idle_s=idle_s, prefix_tokens=prefix_tokens)

    plan = prune.plan(items, mode, now)

    named = [move.id for move in plan.moves] + [kept.id for kept in plan.kept]
    assert sorted(named) == sorted(one.id for one in items)
    assert {move.id for move in plan.moves} <= {one.id for one in items if one.ref}
    assert plan.net > 0 if plan.moves else plan.net == 0
