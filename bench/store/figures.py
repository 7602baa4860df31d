"""A figure: what we do beside what somebody else does, as a ratio with both absolute numbers."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import Any, NamedTuple

from handoff_memory.store import driver
from store.work import SEED


class Figure(NamedTuple):
    """One line of the table.

    Attributes:
        name: What was measured.
        ours: Our number.
        other: The number it is compared with.
        unit: Of both.
        asked: What the ratio must reach, or None where it is only told.
        at_most: Whether the ratio must stay below instead.
        note: What else is to be known.
    """

    name: str
    ours: float
    other: float
    unit: str = "/s"
    asked: float | None = None
    at_most: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        """Ours by the other's."""
        return self.ours / self.other if self.other else float("inf")

    @property
    def holds(self) -> bool:
        """Whether it is what was asked for."""
        if self.asked is None:
            return True
        return self.ratio <= self.asked if self.at_most else self.ratio >= self.asked

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {**self._asdict(), "ratio": self.ratio, "holds": self.holds}


def conditions() -> dict[str, Any]:
    """What the figures depend on."""
    packages = ("mcp", "pydantic", "orjson", "aiosqlite")
    return {
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "sqlite": driver.VERSION,
        **{name: version(name) for name in packages},
        "seed": SEED,
    }


def table(figures: list[Figure]) -> str:
    """The figures as Markdown."""
    lines = ["| | ours | beside | unit | ratio | asked for | |", "|---|---|---|---|---|---|---|"]
    for one in figures:
        sign = "" if one.asked is None else f"{'<=' if one.at_most else '>='} {one.asked:g}"
        verdict = "" if one.asked is None else "holds" if one.holds else "**missed**"
        verdict = "; ".join(part for part in (verdict, one.note) if part)
        lines.append(
            f"| {one.name} | {_short(one.ours)} | {_short(one.other)} | {one.unit} "
            f"| {one.ratio:.2f} | {sign} | {verdict} |"
        )
    return "\n".join(lines)


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:,.3g}"
