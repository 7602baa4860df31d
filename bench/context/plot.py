"""Context and cost by size, as a picture; needs the extra `bench`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from context.arms import SIZES
from context.rows import Row

_SHOWN: Final = (
    ("raw", "none"),
    ("native", "none"),
    ("echo", "dispatch"),
    ("fixed", "dispatch"),
    ("hooks", "dispatch"),
    ("hooks", "all"),
    ("gateway", "dispatch"),
)


def draw(rows: Sequence[Row], path: Path) -> bool:
    """Draw the picture; False where matplotlib is not installed."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        return False
    mpl.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.5))
    for arm, surface in _SHOWN:
        line = [row for row in rows if (row["arm"], row["surface"]) == (arm, surface)]
        label = arm if surface == "none" else f"{arm}, {surface}"
        left.plot(SIZES, [row["context_tokens"] for row in line], marker="o", label=label)
        right.plot(SIZES, [row["cost"] for row in line], marker="o", label=label)
    for axes, title in ((left, "tokens in the context"), (right, "cost, in input tokens")):
        axes.set(xscale="log", yscale="log", xlabel="tokens of a payload, needed four times")
        axes.set_title(title)
        axes.set_xticks(SIZES, [f"{size:,}" for size in SIZES])
        axes.minorticks_off()
        axes.grid(visible=True, alpha=0.3)
    left.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
    return True
