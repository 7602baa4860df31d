"""The figures as a picture: cost by size, and how far each figure is from what was asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from store.figures import Figure

_GROWTH: Final = re.compile(r"(write|read|newest) at ([\d,]+) beside ([\d,]+)")


def draw(figures: Sequence[Figure], path: Path) -> bool:
    """Draw the picture; False where matplotlib is not installed."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        return False
    mpl.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 6), width_ratios=(2, 3))
    for step, line in grown(figures).items():
        left.plot(list(line), list(line.values()), marker="o", label=step)
    left.set(xscale="log", yscale="log", xlabel="versions in the database", title="microseconds")
    left.grid(visible=True, alpha=0.3)
    left.legend()
    asked = [one for one in figures if one.asked is not None][::-1]
    colors = ["tab:green" if one.holds else "tab:red" for one in asked]
    right.barh([one.name for one in asked], [margin(one) for one in asked], color=colors)
    right.axvline(1, color="black", linewidth=1)
    right.set(xscale="log", title="how many times what was asked for")
    right.tick_params(axis="y", labelsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
    return True


def grown(figures: Sequence[Figure]) -> dict[str, dict[int, float]]:
    """Microseconds by number of versions, for each step that was measured at several sizes."""
    found: dict[str, dict[int, float]] = {}
    for one in figures:
        if match := _GROWTH.fullmatch(one.name):
            line = found.setdefault(match[1], {_number(match[3]): one.other})
            line[_number(match[2])] = one.ours
    return found


def margin(one: Figure) -> float:
    """How many times better than asked for a figure is; below 1 it falls short."""
    if one.asked is None:
        raise ValueError(f"{one.name}: nothing was asked for")
    return one.asked / one.ratio if one.at_most else one.ratio / one.asked


def _number(text: str) -> int:
    return int(text.replace(",", ""))
