from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.app import now_us
from handoff_memory.cli import rendering
from handoff_memory.core import times


@given(st.text())
def test_a_cleaned_text_is_one_line_without_control_characters(text: str) -> None:
    cleaned = rendering.clean(text)

    assert len(cleaned.splitlines()) <= 1
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in cleaned)


@given(st.text())
def test_a_block_keeps_line_breaks_alone_and_indents_each_line(text: str) -> None:
    lines = list(rendering.block(text))

    assert len(lines) == text.count("\n") + 1
    assert all(line == "" or line.startswith("  ") for line in lines)
    assert not any(ord(char) < 32 and char != "\t" for line in lines for char in line)


def test_wide_and_combining_characters_do_not_shift_a_column() -> None:
    rows = [("ab", "x"), ("字字", "x"), ("e\u0301", "x"), ("\x1b[1mbold\x1b[0m", "x")]

    assert [line.removesuffix("x").count(" ") for line in rendering.table(rows)] == [4, 2, 5, 2]


@pytest.mark.parametrize(
    ("seconds_ago", "said"),
    [
        (0, "now"),
        (90, "1 min ago"),
        (3 * 3600 + 60, "3 h ago"),
        (49 * 3600, "2 d ago"),
        (-3 * 3600 - 60, "in 3 h"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(seconds_ago: int, said: str) -> None:
    assert rendering.age(times.iso(now_us() - seconds_ago * times.SECOND)) == said


@pytest.mark.parametrize(
    ("share", "said"), [(0.0, "0%"), (0.84, "84%"), (0.615, "61.5%"), (1.0, "100%")]
)
def test_a_confidence_is_told_in_percent(share: float, said: str) -> None:
    assert rendering.percent(share) == said


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 30, "5.0 GiB")]
)
def test_a_size_is_told_in_its_unit(count: int, said: str) -> None:
    assert rendering.size(count) == said
