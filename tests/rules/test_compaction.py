from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.rules import compaction
from handoff_memory.rules.compaction import Compacted, Item, Refused

SESSION = (
    Item("i0", "objective", "fix PowerShell profile bug", 0),
    Item("i1", "constraint", "no new dependency", 0),
    Item("i2", "payload", "two thousand lines of log\n" * 50, 1, "r1"),
    Item("i3", "decision", "patch the loader,\n  not the profile", 2),
    Item("i4", "step", "[x] reproduce", 2),
    Item("i5", "message", "I think it is the encoding.", 3, "r2"),
    Item("i6", "file", "src/profile.ps1 sha256:3f9a1c8d", 3, "r3"),
    Item("i7", "failure", "ParserError at line 7, 2 attempts", 4, "r4"),
    Item("i8", "lesson", "save the file as UTF-8 with BOM", 5, "r5"),
    Item("i9", "ref", "r1 pytest log, 2041 tokens", 5, "r6"),
    Item("i10", "payload", "the newest result", 6, "r7"),
)
KEPT = {item.ref: item.text for item in SESSION if item.ref}


def words(text: str) -> int:
    return len(text.split())


def made(found: Compacted | Refused) -> Compacted:
    assert isinstance(found, Compacted)
    return found


def left(found: Compacted) -> list[str]:
    return [gap.id for gap in found.undo]


def test_trim_drops_what_can_be_read_again_and_keeps_recent_turns() -> None:
    found = made(compaction.trim(SESSION, keep_turns=2, budget=100, count=words))

    assert left(found) == ["i2", "i5", "i6", "i7"]
    assert found.text == (
        "trimmed: 4 items, 264 tokens, each kept under its ref\n"
        "r1 payload, turn 1, 250 tokens\n"
        "r2 message, turn 3, 6 tokens\n"
        "r3 file, turn 3, 2 tokens\n"
        "r4 failure, turn 4, 6 tokens"
    )
    assert compaction.restore(found, KEPT.__getitem__) == SESSION


def test_trim_keeps_its_budget_and_says_that_there_is_more() -> None:
    found = made(compaction.trim(SESSION, keep_turns=0, budget=26, count=words))

    assert found.tokens <= 26
    assert found.text.endswith("and 6 more in the undo")
    assert len(found.undo) == 7


def test_trim_keeps_what_has_no_ref() -> None:
    bare = (Item("a", "message", "only here", 0), Item("b", "message", "newest", 9))

    assert made(compaction.trim(bare, 1, 50, words)).undo == ()


def test_an_empty_session_is_trimmed_to_nothing() -> None:
    found = made(compaction.trim((), 1, 50, words))

    assert compaction.restore(found, KEPT.__getitem__) == ()


def test_compact_makes_a_skeleton_with_pinned_items_verbatim() -> None:
    found = made(compaction.compact(SESSION, budget=200, count=words))

    assert found.text == (
        "objective:\n- fix PowerShell profile bug\n"
        "constraints:\n- no new dependency\n"
        "decisions:\n- patch the loader,\n  not the profile\n"
        "plan:\n- [x] reproduce\n"
        "open refs:\n- r1 pytest log, 2041 tokens\n"
        "files read:\n- src/profile.ps1 sha256:3f9a1c8d\n"
        "failures:\n- ParserError at line 7, 2 attempts\n"
        "lessons:\n- save the file as UTF-8 with BOM\n"
        "left out: 3 items, 259 tokens, each kept under its ref"
    )
    assert left(found) == ["i2", "i5", "i10"]
    assert compaction.restore(found, KEPT.__getitem__) == SESSION


def test_under_a_small_budget_lessons_stay_longest() -> None:
    found = made(compaction.compact(SESSION, budget=48, count=words))

    assert found.tokens <= 48
    assert "lessons:" in found.text
    assert "files read:" not in found.text
    assert {"i6", "i9"} <= set(left(found))
    assert compaction.restore(found, KEPT.__getitem__) == SESSION


def test_clear_starts_from_the_manifest() -> None:
    found = made(compaction.clear(SESSION, "OSIRIS/1 task=7c3f", budget=200, count=words))

    assert found.mode == "clear"
    assert found.text.startswith("OSIRIS/1 task=7c3f\nobjective:\n- fix PowerShell")
    assert compaction.restore(found, KEPT.__getitem__) == SESSION


def test_pinned_items_are_never_cut_to_fit_a_budget() -> None:
    found = compaction.compact(SESSION, budget=10, count=words)

    assert found == Refused("the pinned parts alone need 34 tokens, the budget is 10")
    assert compaction.trim(SESSION, 0, 3, words) == Refused(
        "the budget of 3 tokens does not hold one line"
    )


def test_what_has_no_ref_is_named_before_it_could_be_lost() -> None:
    session = (*SESSION, Item("bare", "message", "said and kept nowhere", 6))

    assert compaction.compact(session, 200, words) == Refused(
        "1 items would leave and have no ref yet", ("bare",)
    )


def test_a_counter_that_does_not_grow_with_every_line_cannot_break_the_budget() -> None:
    def odd(text: str) -> int:
        return 60 if text.count("\n") == 11 else words(text)

    assert made(compaction.compact(SESSION, 55, odd)).tokens <= 55


KINDS = st.sampled_from(get_args(compaction.Kind))


@st.composite
def sessions(draw: st.DrawFn, *, always_ref: bool = False) -> tuple[Item, ...]:
    items = draw(
        st.lists(st.builds(Item, st.just(""), KINDS, st.text(max_size=20), st.integers(0, 9)))
    )
    return tuple(
        replace(item, id=f"i{at}", ref=f"r{at}" if always_ref or draw(st.booleans()) else None)
        for at, item in enumerate(items)
    )


def back(found: Compacted, items: tuple[Item, ...]) -> tuple[Item, ...]:
    texts = {item.ref: item.text for item in items if item.ref}
    return compaction.restore(found, texts.__getitem__)


@given(sessions(), st.integers(0, 9), st.integers(0, 80))
def test_a_trimmed_session_comes_back_whole(
    items: tuple[Item, ...], keep_turns: int, budget: int
) -> None:
    found = compaction.trim(items, keep_turns, budget, words)

    if isinstance(found, Compacted):
        assert found.tokens <= budget
        assert back(found, items) == items
    else:
        assert budget < 30


@given(sessions(always_ref=True), st.integers(0, 120), st.booleans())
def test_a_compacted_session_comes_back_whole(
    items: tuple[Item, ...],
    budget: int,
    is_clear: bool,
) -> None:
    found = (
        compaction.clear(items, "OSIRIS/1", budget, words)
        if is_clear
        else compaction.compact(items, budget, words)
    )

    if isinstance(found, Compacted):
        assert found.tokens <= budget
        assert back(found, items) == items
        assert all(gap.ref for gap in found.undo)
        pinned = [item for item in items if item.kind in {"objective", "constraint", "decision"}]
        assert all(item.text in found.text for item in pinned)


@given(sessions())
def test_no_item_without_a_ref_ever_leaves(items: tuple[Item, ...]) -> None:
    bare = {item.id for item in items if item.ref is None}

    for found in (compaction.trim(items, 0, 999, words), compaction.compact(items, 999, words)):
        if isinstance(found, Compacted):
            assert bare.isdisjoint(gap.id for gap in found.undo)
        else:
            assert set(found.without_ref) <= bare


def test_a_ref_that_cannot_be_fetched_is_an_error_and_not_a_hole() -> None:
    texts: dict[str, str] = {}

    with pytest.raises(KeyError):
        compaction.restore(made(compaction.compact(SESSION, 200, words)), texts.__getitem__)
