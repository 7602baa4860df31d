"""Geometry, comparisons and words of the pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.web import charts, differences, rendering
from handoff_memory.web.differences import Line


def test_bars_share_the_width_and_the_highest_fills_the_chart() -> None:
    found = charts.bars([{"at": "t", "writes": n} for n in (0, 5, 10)])

    assert [bar.height for bar in found] == [0, 56.0, 112.0]
    assert [bar.x for bar in found] == [0, 200.0, 400.0]
    assert found[2].y == 8.0


def test_a_single_write_is_seen_beside_many() -> None:
    assert charts.bars([{"at": "t", "writes": n} for n in (1, 100_000)])[0].height == 1.5


def test_no_writes_are_no_bars_of_any_height() -> None:
    assert [bar.height for bar in charts.bars([{"at": "t", "writes": 0}])] == [0]


def test_the_line_of_confidence_has_a_point_for_each_version_and_outcome() -> None:
    told = {"outcome": "success", "before": 0.5, "after": 0.6, "agent": "b", "at": "t"}
    history = [
        {"version": 2, "believed_at_first": 1, "agent": "a", "at": "t", "outcomes": []},
        {"version": 1, "believed_at_first": 0.5, "agent": "a", "at": "t", "outcomes": [told]},
    ]

    points = charts.confidence(history)

    assert [(p.what, p.version, p.after) for p in points] == [
        ("written", 1, 0.5),
        ("success", 1, 0.6),
        ("written", 2, 1),
    ]
    assert charts.path(points) == "M8.0 60.0H300.0V49.6H592.0V8"
    assert charts.path([]) == ""


def test_what_exceeds_the_window_is_squeezed_in() -> None:
    found = charts.pressure([("measured", 300), ("declared", 0), ("estimated", 300)], 400)

    assert [(part.name, part.x, part.width) for part in found] == [
        ("measured", 0, 300.0),
        ("estimated", 300.0, 300.0),
    ]


def test_a_comparison_tells_lines_that_came_and_went() -> None:
    assert differences.compare("a\nb\nc", "a\nB\nc") == [
        Line("gap", "@@ -1,3 +1,3 @@"),
        Line("same", "a"),
        Line("gone", "b"),
        Line("new", "B"),
        Line("same", "c"),
    ]
    assert differences.compare("same", "same") == []


@pytest.mark.parametrize("text", ["x" * 200_001, "\n" * 2002])
def test_what_is_too_large_is_not_compared(text: str) -> None:
    assert differences.compare("", text) is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_comparison_loses_no_line_that_changed(before: str, after: str) -> None:
    found = differences.compare(before, after) or []

    gone = [line.text for line in found if line.mark in {"gone", "same"}]
    new = [line.text for line in found if line.mark in {"new", "same"}]
    assert len(gone) <= len(before.splitlines())
    assert len(new) <= len(after.splitlines())
    assert bool(found) == (before.splitlines() != after.splitlines())


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "now"), (1, "1 s ago"), (185, "3 min ago"), (-7200, "in 2 h"), (200_000, "2 d ago")],
)
def test_ages(seconds: int, said: str) -> None:
    assert rendering.age(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 20, "3.0 MiB"), (5 << 30, "5.0 GiB")],
)
def test_sizes(count: int, said: str) -> None:
    assert rendering.size(count) == said


@pytest.mark.parametrize(
    ("kind", "subject", "there"),
    [
        ("record", "a b/c@2", "/memory/record?name=a+b%2Fc%402"),
        ("outcome", "seq 4", None),
        ("claim", "h_1", "/handoffs/h_1"),
        ("event", "../x", "/tasks/..%2Fx"),
        ("payload", "r1 mem://sha256:00", "/refs/r1"),
        ("journal", "seq 4", None),
        ("record", None, None),
    ],
)
def test_where_a_subject_is_shown(kind: str, subject: str | None, there: str | None) -> None:
    assert rendering.subject_url(kind, subject) == there


def test_a_url_holds_only_what_says_something() -> None:
    assert rendering.url("/log", agent="a&b", kind="", task=None) == "/log?agent=a%26b"
    assert rendering.url("/log") == "/log"
