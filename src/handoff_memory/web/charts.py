"""The geometry of the charts: numbers in, coordinates out; the templates draw them as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

WIDTH: Final = 600
HEIGHT: Final = 120
_PAD: Final = 8
_GAP: Final = 2


class Bar(NamedTuple):
    """One bar of a bar chart, and what it stands for."""

    x: float
    y: float
    width: float
    height: float
    at: str
    writes: int


class Point(NamedTuple):
    """One point of the line of confidence: what was believed after something happened.

    Attributes:
        x: From the left.
        y: From the top.
        what: `written`, or an outcome.
        version: Of which version.
        before: Percent before; None where a version begins.
        after: Percent after.
        agent: Who wrote or reported.
        at: ISO time.
        note: What was said about it.
    """

    x: float
    y: float
    what: str
    version: int
    before: float | None
    after: float
    agent: str
    at: str
    note: str = ""


class Segment(NamedTuple):
    """A part of the bar of context pressure."""

    name: str
    tokens: int
    x: float
    width: float


def bars(told: Sequence[dict[str, Any]]) -> list[Bar]:
    """Writes over time as bars; the highest fills the chart."""
    most = max((bar["writes"] for bar in told), default=0) or 1
    step = WIDTH / max(1, len(told))
    found = []
    for at, bar in enumerate(told):
        height = round(bar["writes"] / most * (HEIGHT - _PAD), 1)
        if bar["writes"]:
            height = max(height, 1.5)
        x = round(at * step, 1)
        width = round(step - _GAP, 1)
        found.append(Bar(x, HEIGHT - height, width, height, bar["at"], bar["writes"]))
    return found


def confidence(history: Sequence[dict[str, Any]]) -> list[Point]:
    """What was believed over all versions, oldest first; `history` is as services give it."""
    steps: list[tuple[Any, ...]] = []
    for version in reversed(history):
        number = version["version"]
        first = ("written", number, None, version["believed_at_first"])
        steps.append((*first, version["agent"], version["at"], ""))
        for told in version["outcomes"]:
            moved = (told["outcome"], number, told["before"], told["after"])
            steps.append((*moved, told["agent"], told["at"], told.get("note", "")))
    between = (WIDTH - 2 * _PAD) / max(1, len(steps) - 1)
    return [
        Point(round(_PAD + at * between, 1), _y(step[3]), *step) for at, step in enumerate(steps)
    ]


def path(points: Sequence[Point]) -> str:
    """The line through those points as SVG path data: belief holds until it is moved."""
    if not points:
        return ""
    moves = "".join(f"H{point.x}V{point.y}" for point in points[1:])
    return f"M{points[0].x} {points[0].y}{moves}"


def pressure(parts: Sequence[tuple[str, int]], window_tokens: int) -> list[Segment]:
    """How full the window is, part after part; what exceeds it is squeezed in."""
    whole = max(window_tokens, sum(tokens for _, tokens in parts), 1)
    found, x = [], 0.0
    for name, tokens in parts:
        width = round(tokens / whole * WIDTH, 1)
        if tokens:
            found.append(Segment(name, tokens, round(x, 1), max(width, 1.0)))
        x += width
    return found


def _y(share: float) -> float:
    return round(_PAD + (1 - share) * (HEIGHT - 2 * _PAD), 1)
