"""Rows of the report, one for each size, arm and surface, and what they must show."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from context.agent import CONSTANT_TOKENS
from context.arms import SIZES, Run

Row = dict[str, Any]

_OWN: Final = frozenset({"constant", "payload"})
SCHEMA_TOKENS: Final = 120
CONSTANT_SLACK: Final = 10
PRODUCT: Final = ("fixed", "adaptive", "hooks", "gateway")
# Net percent by size, on the dispatch surface. Source: governor §12.
_KEPT: Final = dict(zip(SIZES, (22, 55, 66, 71, 74), strict=True))
_HOOKS: Final = dict(zip(SIZES, (24, 62, 83, 93, 98), strict=True))
TARGETS: Final[Mapping[str, Mapping[int, int]]] = {
    "fixed": _KEPT,
    "adaptive": _KEPT,
    "hooks": _HOOKS,
}


def rows_of(runs: Sequence[Run]) -> list[Row]:
    """The rows of runs that hold the raw and the native ones of every kind and size."""
    raw = {(run.size, run.kind): run for run in runs if run.arm == "raw"}
    native = {(run.size, run.kind): run for run in runs if run.arm == "native"}
    groups: dict[tuple[int, str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.size, run.arm, run.surface), []).append(run)
    return [_row(group, raw, native) for group in groups.values()]


def session_row(governed: Run, raw: Run, tasks: int) -> Row:
    """A session of several tasks against the same one without a governor."""
    return {
        "payload": governed.size,
        "arm": governed.arm,
        "surface": governed.surface,
        "tasks": tasks,
        "baseline_tokens": raw.tokens.total,
        "context_tokens": governed.tokens.total,
        "net_tokens": raw.tokens.total - governed.tokens.total,
        "net_percent": _saved(raw.tokens.total, governed.tokens.total),
        "first_need_net_tokens": raw.tokens.first - governed.tokens.first,
        "cost_net_percent": _saved(raw.costs[0], governed.costs[0]),
        "answerable": not governed.missed,
    }


def shortfalls(rows: Iterable[Row], sessions: Iterable[Row]) -> Iterator[str]:
    """What falls short of what was promised, in words."""
    for row in rows:
        name = f"{row['arm']}, {row['surface']}, {row['payload']:,}"
        yield from (f"{name}: {what}" for what in _faults(row))
    for row in sessions:
        is_gate = (row["arm"], row["surface"], row["payload"]) == ("hooks", "dispatch", 800)
        if is_gate and min(row["net_tokens"], row["first_need_net_tokens"]) <= 0:
            yield f"a session of {row['tasks']} tasks by hooks at 800: {row['net_tokens']} tokens"


def _faults(row: Row) -> Iterator[str]:
    if not row["answerable"]:
        yield f"facts were not found: {', '.join(row['missed'])}"
    if not row["lossless"]:
        yield "what was kept came back otherwise"
    if row["arm"] == "raw" and abs(row["causes"]["constant"] - CONSTANT_TOKENS) > CONSTANT_SLACK:
        yield f"the constant part has {row['causes']['constant']} tokens"
    if row["surface"] == "dispatch" and row["arm"] in PRODUCT:
        yield from _missed(row)


def _missed(row: Row) -> Iterator[str]:
    """Targets of the dispatch surface that a row does not reach."""
    if row["arm"] != "gateway" and row["causes"]["schema"] > SCHEMA_TOKENS:
        yield f"{row['causes']['schema']} tokens of schema, at most {SCHEMA_TOKENS}"
    if row["worst_net_percent"] < 0:
        yield f"{row['worst_net_percent']:+.2f} % of {row['worst_kind']}, below 0"
    target = TARGETS.get(row["arm"], {}).get(row["payload"])
    if target is not None and row["net_percent"] < target:
        yield f"{row['net_percent']:+.2f} %, asked for {target:+} %"
    is_priced = row["arm"] in {"hooks", "gateway"} and row["payload"] >= 800
    if is_priced and row["worst_cost_net_percent"] <= 0:
        yield f"costs {-row['worst_cost_net_percent']:.1f} % more than without"


def _row(
    group: Sequence[Run], raw: Mapping[tuple[int, str], Run], native: Mapping[tuple[int, str], Run]
) -> Row:
    base = [raw[run.size, run.kind] for run in group]
    hosts = [native[run.size, run.kind] for run in group]
    nets = {
        run.kind: _saved(against.tokens.total, run.tokens.total)
        for run, against in zip(group, base, strict=True)
    }
    costs = [_saved(b.costs[0], run.costs[0]) for run, b in zip(group, base, strict=True)]
    worst = min(nets, key=lambda kind: nets[kind])
    tokens, baseline = _mean(run.tokens.total for run in group), _mean(b.tokens.total for b in base)
    causes = sorted({cause for run in group for cause in run.tokens.causes})
    by_cause = {one: _mean(run.tokens.causes.get(one, 0) for run in group) for one in causes}
    return {
        "payload": group[0].size,
        "kind": "mean",
        "arm": group[0].arm,
        "surface": group[0].surface,
        "mode": group[0].mode,
        "baseline_tokens": baseline,
        "context_tokens": tokens,
        "overhead_tokens": round(sum(n for one, n in by_cause.items() if one not in _OWN), 1),
        "net_percent": _saved(baseline, tokens),
        "answerable": not any(run.missed for run in group),
        "missed": [missed for run in group for missed in run.missed],
        "lossless": all(run.lossless for run in group),
        "worst_kind": worst,
        "worst_net_percent": nets[worst],
        "net_percent_by_kind": nets,
        "causes": by_cause,
        "native_tokens": _mean(host.tokens.total for host in hosts),
        "net_percent_against_native": _saved(_mean(h.tokens.total for h in hosts), tokens),
        "net_percent_cl100k": _saved(
            _mean(b.second.total for b in base), _mean(run.second.total for run in group)
        ),
        "baseline_cost": _mean(b.costs[0] for b in base),
        "cost": _mean(run.costs[0] for run in group),
        "cost_net_percent": _saved(
            _mean(b.costs[0] for b in base), _mean(r.costs[0] for r in group)
        ),
        "worst_cost_net_percent": min(costs),
        "cost_net_percent_after_20_turns": _saved(
            _mean(b.costs[1] for b in base), _mean(run.costs[1] for run in group)
        ),
    }


def _mean(numbers: Iterable[float]) -> float:
    return round(statistics.fmean(numbers), 1)


def _saved(base: float, now: float) -> float:
    return round(100 - 100 * now / base, 2)
