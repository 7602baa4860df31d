from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.rules import prefix
from handoff_memory.rules.prefix import Counts, PrefillPlan, Zones

ZONES = Zones(
    system_head="You are a coding agent.",
    rules=("tests-before-commit",),
    objective="fix PowerShell profile bug",
    global_plan=("reproduce", "fix", "test"),
    tool_contract="read\nwrite",
    constraints=("no new dependency",),
    decisions=("keep the module layout", "patch the loader"),
)
TOKENS = Counts(head=1_000, zone_b=200, constraints=(4,), decisions=(6, 7), rest=5_000)
TEXTS = st.lists(st.text(max_size=6), max_size=5).map(tuple)


def drift(tokens: Counts = TOKENS, **changed: Any) -> prefix.Drift:
    return prefix.drift(prefix.hashes(ZONES), prefix.hashes(ZONES._replace(**changed)), tokens)


def test_the_same_state_has_the_same_hashes_and_no_drift() -> None:
    found = drift()

    assert (found.verdict, found.cause, found.semantic_break) == ("none", None, False)
    assert found.prefill == PrefillPlan("nothing", 0)


@pytest.mark.parametrize("changed", [{"system_head": "New."}, {"rules": ()}])
def test_a_changed_head_is_major_and_everything_is_prefilled(changed: dict[str, Any]) -> None:
    found = drift(**changed)

    assert (found.verdict, found.cause) == ("major", "head_changed")
    assert found.prefill == PrefillPlan("everything", 1_000 + 200 + 17 + 5_000)


@pytest.mark.parametrize(
    "changed", [{"objective": "x"}, {"global_plan": ("fix",)}, {"tool_contract": "read"}]
)
def test_a_changed_zone_b_is_minor_and_costs_the_difference(changed: dict[str, Any]) -> None:
    found = drift(**changed)

    assert (found.verdict, found.cause) == ("minor", "zone_b_changed")
    assert found.prefill == PrefillPlan("difference", 200, behind=17 + 5_000)


def test_an_appended_decision_is_growth_and_costs_that_decision() -> None:
    tokens = TOKENS._replace(decisions=(6, 7, 8))

    found = drift(tokens, decisions=(*ZONES.decisions, "use CRLF"))

    assert (found.verdict, found.semantic_break) == ("growth", False)
    assert (found.findings[0].collection, found.findings[0].index) == ("decision", 2)
    assert found.prefill == PrefillPlan("difference", 8, behind=5_000)


def test_an_append_changes_the_tail_and_not_the_prefix() -> None:
    old = prefix.hashes(ZONES)
    new = prefix.hashes(ZONES._replace(constraints=(*ZONES.constraints, "ASCII only")))

    assert (old.prefix, old.head, old.zone_b) == (new.prefix, new.head, new.zone_b)
    assert (old.tail, old.zone_a) != (new.tail, new.zone_a)
    assert prefix.seal(old) != prefix.seal(new)


@pytest.mark.parametrize(
    ("decisions", "index", "broken"),
    [
        (("keep the module layout", "patch nothing"), 1, "rewritten"),
        (("keep the module layout",), 1, "removed"),
        (("patch the loader",), 0, "removed"),
        (("patch the loader", "keep the module layout"), 0, "reordered"),
        (("new", "keep the module layout", "patch the loader"), 0, "reordered"),
    ],
)
def test_a_touched_decision_breaks_the_task_and_not_the_cache(
    decisions: tuple[str, ...], index: int, broken: str
) -> None:
    found = drift(decisions=decisions)

    assert found.semantic_break
    assert (found.verdict, found.cause) == ("semantic", "pinned_rewrite")
    assert (found.findings[0].index, found.findings[0].broken) == (index, broken)
    assert found.prefill == PrefillPlan("nothing", 0)


def test_several_findings_stand_most_severe_first() -> None:
    found = drift(
        TOKENS._replace(decisions=(6, 7, 8)),
        objective="another",
        system_head="New.",
        constraints=("rewritten",),
        decisions=(*ZONES.decisions, "use CRLF"),
    )

    verdicts = [finding.verdict for finding in found.findings]
    assert verdicts == ["semantic", "major", "minor", "growth"]
    assert found.semantic_break
    assert found.prefill.reach == "everything"


def test_what_is_read_anew_twice_is_counted_once() -> None:
    tokens = TOKENS._replace(decisions=(6, 7, 8))

    both = drift(tokens, objective="another", decisions=(*ZONES.decisions, "use CRLF"))
    grown = drift(
        tokens._replace(constraints=(4, 3)),
        constraints=(*ZONES.constraints, "ASCII only"),
        decisions=(*ZONES.decisions, "use CRLF"),
    )

    assert both.prefill == PrefillPlan("difference", 200 + 8, behind=17 + 5_000)
    assert grown.prefill == PrefillPlan("difference", 3 + 8, behind=5_000)


def test_a_moved_boundary_between_two_parts_is_another_state() -> None:
    one = prefix.hashes(ZONES._replace(objective="ab", global_plan=("c", "d")))

    assert (
        one.zone_b != prefix.hashes(ZONES._replace(objective="a", global_plan=("bc", "d"))).zone_b
    )
    assert one.zone_b != prefix.hashes(ZONES._replace(objective="ab", global_plan=("cd",))).zone_b


def test_a_constraint_and_a_decision_of_the_same_words_are_not_the_same_item() -> None:
    items = prefix.hashes(ZONES._replace(constraints=("x",), decisions=("x",))).items

    assert items.constraints != items.decisions


def test_the_seal_has_64_digits_and_covers_prefix_and_tail() -> None:
    seals = {prefix.seal(prefix.hashes(ZONES))}
    for changed in ({"rules": ()}, {"objective": "x"}, {"decisions": ()}):
        seals.add(prefix.seal(prefix.hashes(ZONES._replace(**changed))))

    assert len(seals) == 4
    assert {len(digest) for digest in seals} == {64}


def test_the_zones_are_counted_by_the_given_counter() -> None:
    found = prefix.counts(ZONES, len, rest=9)

    assert found.head == len("You are a coding agent.\ntests-before-commit")
    assert found.constraints == (17,)
    assert found.tail == 17 + 22 + 16
    assert found.rest == 9


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_appending_is_never_a_semantic_break(
    constraints: tuple[str, ...],
    decisions: tuple[str, ...],
    more_constraints: tuple[str, ...],
    more_decisions: tuple[str, ...],
) -> None:
    old = ZONES._replace(constraints=constraints, decisions=decisions)
    new = old._replace(
        constraints=constraints + more_constraints,
        decisions=decisions + more_decisions,
    )

    found = prefix.drift(prefix.hashes(old), prefix.hashes(new), TOKENS)

    assert not found.semantic_break
    assert (found.verdict == "growth") == bool(more_constraints or more_decisions)


@given(TEXTS, TEXTS)
def test_anything_but_an_append_is_a_semantic_break(
    before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    old, new = ZONES._replace(decisions=before), ZONES._replace(decisions=after)

    found = prefix.drift(prefix.hashes(old), prefix.hashes(new), TOKENS)

    assert found.semantic_break == (after[: len(before)] != before)


@given(st.permutations(list(Zones._fields)))
def test_the_order_of_a_dictionary_changes_no_hash(order: list[str]) -> None:
    shuffled = Zones(**{name: getattr(ZONES, name) for name in order})

    assert prefix.hashes(shuffled) == prefix.hashes(ZONES)
