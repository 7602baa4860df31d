"""The report in Markdown: the original's table and ours side by side, and all that lies behind."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any, Final

from context.counting import SECOND_TOKENIZER, TOKENIZER
from context.rows import TARGETS, Row
from context.transcript import CACHED, CAUSES, NEW, WRITTEN

# payload: baseline, fixed, adaptive, net percent, mode, overhead. Source: governor §12.
ORIGINAL: Final[Mapping[int, tuple[int, int, int, float, str, int]]] = {
    200: (1_583, 2_687, 1_651, -4.30, "bystander", 34),
    800: (3_851, 3_755, 3_261, 15.32, "light", 1_810),
    2_000: (9_015, 5_229, 5_233, 41.95, "standard", 2_492),
    5_000: (20_979, 8_171, 8_168, 61.07, "standard", 2_439),
    20_000: (82_135, 23_427, 23_440, 71.46, "full", 2_422),
}
_TEMPLATE: Final = Path(__file__).with_suffix(".md")


def machine(seed: int) -> dict[str, Any]:
    """What a figure depends on, beside the code."""
    packages = ("handoff-memory-mcp", "toktok-rs", "mcp", "pydantic", "orjson")
    return {
        "tokenizers": [TOKENIZER, SECOND_TOKENIZER],
        "seed": seed,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        **{name: version(name) for name in packages},
    }


def markdown(
    rows: Sequence[Row], sessions: Sequence[Row], about: Mapping[str, Any], plot: str | None
) -> str:
    """The whole report."""
    parts = {
        "side_by_side": side_by_side(rows),
        "plot": [f"![Context and cost by size]({plot})", ""] if plot else [],
        "every": _all(rows),
        "causes": _causes(rows),
        "sessions": _sessions(sessions),
        "about": [f"- {name}: {_text(value)}" for name, value in about.items()],
    }
    numbers = {"tokenizer": TOKENIZER, "cached": CACHED, "new": NEW, "written": WRITTEN}
    texts = {name: "\n".join(lines) for name, lines in parts.items()}
    return Template(_TEMPLATE.read_text()).substitute(texts, **numbers)


def side_by_side(rows: Sequence[Row]) -> list[str]:
    """The original's table and ours, on the dispatch surface."""
    found = {(row["payload"], row["arm"], row["surface"]): row for row in rows}
    lines = []
    for size in sorted({row["payload"] for row in rows}):
        base, fixed, adaptive, net, mode, over = ORIGINAL[size]
        kept, chosen, hooks = (
            found[size, arm, "dispatch"] for arm in ("fixed", "adaptive", "hooks")
        )
        asked, by_hooks = TARGETS["fixed"][size], TARGETS["hooks"][size]
        cells = [
            *(f"{size:,}", f"{base:,}", f"{fixed:,}", f"{adaptive:,}", f"{net:+.2f} %", mode),
            *(f"{over:,}", f"{kept['baseline_tokens']:,.0f}", _net(kept, asked)),
            *(_net(chosen, asked), chosen["mode"], f"{chosen['overhead_tokens']:,.0f}"),
            _net(hooks, by_hooks),
        ]
        lines.append(cells)
    head = (
        "payload|original: baseline|fixed|adaptive|net|mode|overhead"
        "|ours: baseline|fixed|adaptive|mode|overhead|hooks"
    )
    return _table(head.split("|"), lines)


def _net(row: Row, asked: int) -> str:
    return f"{row['context_tokens']:,.0f} = {row['net_percent']:+.2f} % ({asked:+})"


def _all(rows: Iterable[Row]) -> list[str]:
    head = (
        "payload|arm|surface|mode|baseline|context|overhead|net|worst kind|against native"
        "|cl100k|cost|cost, 20 turns on|facts"
    )
    return _table(head.split("|"), [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    return [
        *(f"{row['payload']:,}", row["arm"], row["surface"], row["mode"]),
        *(f"{row['baseline_tokens']:,.0f}", f"{row['context_tokens']:,.0f}"),
        *(f"{row['overhead_tokens']:,.0f}", f"{row['net_percent']:+.2f} %"),
        f"{row['worst_net_percent']:+.2f} % {row['worst_kind']}",
        f"{row['net_percent_against_native']:+.1f} % of {row['native_tokens']:,.0f}",
        f"{row['net_percent_cl100k']:+.1f} %",
        f"{row['cost']:,.0f} of {row['baseline_cost']:,.0f} = {row['cost_net_percent']:+.1f} %",
        f"{row['cost_net_percent_after_20_turns']:+.1f} %",
        "all" if row["answerable"] else "missing",
    ]


def _causes(rows: Iterable[Row]) -> list[str]:
    shown = [row for row in rows if row["surface"] in {"dispatch", "none"}]
    present = [one for one in CAUSES if any(row["causes"].get(one) for row in shown)]
    lines = [
        [f"{row['payload']:,}", row["arm"], row["surface"]]
        + [f"{row['causes'].get(one, 0):,.0f}" for one in present]
        for row in shown
    ]
    return _table(["payload", "arm", "surface", *present], lines)


def _sessions(sessions: Iterable[Row]) -> list[str]:
    head = "payload|surface|tasks|baseline|context|net tokens|net|first need|cost"
    return _table(
        head.split("|"),
        [
            [
                *(f"{row['payload']:,}", row["surface"], str(row["tasks"])),
                *(f"{row['baseline_tokens']:,}", f"{row['context_tokens']:,}"),
                *(f"{row['net_tokens']:+,}", f"{row['net_percent']:+.1f} %"),
                f"{row['first_need_net_tokens']:+,}" if row["tasks"] == 1 else "",
                f"{row['cost_net_percent']:+.1f} %",
            ]
            for row in sessions
        ],
    )


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in _with_rule(head, lines)]


def _with_rule(head: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    yield head
    yield ["---"] * len(head)
    yield from lines


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
