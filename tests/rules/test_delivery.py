"""What enters a context whole, as a line, as a change, or as an outline."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.rules import delivery
from handoff_memory.rules.delivery import Earlier, Kept, Result, choose, difference

OUTLINE_FROM = 400
BIG = Result(2_000, "b1")
WHOLE = Earlier("r1", "b1", "whole", is_same_call=True)
STUB = WHOLE._replace(shown="stub")


@pytest.mark.parametrize(
    ("result", "before", "form"),
    [
        (BIG, [], "outline"),
        (BIG._replace(tokens=399), [], "whole"),
        (BIG._replace(is_partial=True), [WHOLE], "whole"),
        (BIG._replace(is_replaceable=False), [WHOLE], "whole"),
        (BIG._replace(is_text=False), [WHOLE], "whole"),
        (BIG._replace(tokens=119), [WHOLE], "whole"),
        (BIG._replace(tokens=120), [WHOLE], "unchanged"),
        (BIG, [WHOLE], "unchanged"),
        (BIG, [STUB], "whole"),
        (BIG, [STUB, WHOLE], "unchanged"),
        (BIG, [WHOLE, STUB], "whole"),
        (BIG, [WHOLE._replace(is_same_call=False)], "unchanged"),
        (BIG, [WHOLE._replace(raw="b0")], "changed"),
        (BIG._replace(folded="f1"), [STUB._replace(raw="b0")], "changed"),
        (BIG, [STUB._replace(raw="b0")], "whole"),
        (BIG._replace(progress=1), [STUB._replace(raw="b0")], "changed"),
        (BIG._replace(folded="f1"), [STUB._replace(raw="b0"), STUB._replace(raw="b9")], "whole"),
        (BIG._replace(folded="f1"), [WHOLE, STUB._replace(raw="b9")], "unchanged"),
        (
            BIG._replace(folded="f1"),
            [WHOLE._replace(raw="b0"), STUB._replace(raw="b9")],
            "changed",
        ),
        (BIG, [WHOLE._replace(raw="b0", is_same_call=False)], "outline"),
        (BIG._replace(is_edited=True), [], "whole"),
        (BIG._replace(is_edited=True), [WHOLE], "unchanged"),
        (BIG._replace(is_edited=True), [WHOLE._replace(raw="b0")], "whole"),
        (BIG._replace(is_edited=True, tokens=6_001), [], "outline"),
    ],
)
def test_the_form_of_a_result(result: Result, before: list[Earlier], form: str) -> None:
    assert choose(result, before, OUTLINE_FROM).form == form


earlier = st.builds(
    Earlier,
    st.sampled_from(["r1", "r2"]),
    st.sampled_from(["b1", "b2"]),
    st.sampled_from(["whole", "stub"]),
    st.booleans(),
)


@given(st.lists(earlier, max_size=8))
def test_who_asks_again_after_a_stub_always_gets_it_whole(before: list[Earlier]) -> None:
    first = choose(BIG, before, OUTLINE_FROM)
    shown = "whole" if first.form == "whole" else "stub"
    again = choose(BIG, [*before, Earlier("r9", BIG.raw, shown, is_same_call=True)], OUTLINE_FROM)

    assert "whole" in {first.form, again.form}


def test_a_stub_says_who_what_how_big_and_how_to_get_it() -> None:
    kept = Kept("r12", "3f9a1c8d0b7e" + "0" * 52, 2_041, 180)
    text = delivery.outlined(kept, ["text/plain, 180 lines", "2 failed, 178 passed"])

    assert text.splitlines()[1:] == ["text/plain, 180 lines", "2 failed, 178 passed"]
    for fact in ("handoff-memory", "r12", "2,041", "180 lines", "3f9a1c8d0b7e", "osiris_recall"):
        assert fact in text


def test_a_long_outline_is_cut_and_says_so() -> None:
    kept = Kept("r12", "0" * 64, 900, 180)
    text = delivery.outlined(kept, [f"entry {n} " + "x" * 500 for n in range(40)])

    assert len(text) < 1_600
    assert text.splitlines()[-1] == "… 39 more entries: op outline"


lines = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12)


@given(lines, lines)
def test_a_difference_turns_one_text_into_the_other(old: list[str], new: list[str]) -> None:
    padding = [f"line {n} that stays as it was" for n in range(60)]
    before, after = [*padding, *old, *padding], [*padding, *new, *padding]
    shown = difference("\n".join(before), "\n".join(after))

    assert shown is not None
    head, *rest = shown.split("\n")
    at, gone, added = (
        int(head.split()[1].split(",")[0][1:]) - 1,
        [line[1:] for line in rest if line.startswith("-")],
        [line[1:] for line in rest if line.startswith("+")],
    )
    assert before[at : at + len(gone)] == gone
    assert [*before[:at], *added, *before[at + len(gone) :]] == after


def test_a_large_difference_is_none() -> None:
    assert difference("a\n" * 100, "b\n" * 100) is None
