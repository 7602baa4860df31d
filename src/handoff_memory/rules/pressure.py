"""How full the context is: what was measured apart from what was said, guessed or never seen.

Tokens of different kinds are never added in silence: a sum says which kinds are in it, and where
the client reported the whole, the difference to what is known stands as unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Final, Literal, get_args

Kind = Literal["measured", "declared", "estimated"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Zone = Literal["A", "B", "C", "D"]
ZONES: Final[tuple[Zone, ...]] = get_args(Zone)
Level = Literal["calm", "watch", "high", "full"]

_LEVELS: Final[tuple[tuple[int, Level], ...]] = ((95, "full"), (80, "high"), (60, "watch"))
# Recent turns tell more of the next one than old ones.
_RECENT_TURNS: Final = 8


@dataclass(frozen=True, slots=True)
class Reading:
    """Tokens of something in the context; None where nobody knows its size."""

    zone: Zone
    kind: Kind
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Row:
    """One zone. `silent` counts the things of unknown size."""

    zone: Zone
    measured: int
    declared: int
    estimated: int
    silent: int


@dataclass(frozen=True, slots=True)
class Used:
    """How much of the window is taken.

    Attributes:
        tokens: By the basis.
        percent: Of the window, rounded down.
        basis: `client` where it reported the whole; else the kinds that were added, such as
            `measured+declared`.
        at_least: Whether more may be in use than that.
    """

    tokens: int
    percent: int
    basis: str
    at_least: bool


@dataclass(frozen=True, slots=True)
class Pressure:
    """The state of the context.

    Attributes:
        measured: A hook or the gateway saw them.
        declared: The agent said so.
        estimated: The estimator's.
        unknown: In use by the client's count, and known to nobody here; None without its count.
        silent: Things of unknown size.
        rows: One a zone, A to D.
        used: Share of the window.
        level: What that means.
        turns_left: Forecast; None where the context does not grow or no turn is known.
    """

    measured: int
    declared: int
    estimated: int
    unknown: int | None
    silent: int
    rows: tuple[Row, ...]
    used: Used
    level: Level
    turns_left: int | None


def judge(
    readings: Sequence[Reading],
    window_tokens: int,
    *,
    client_tokens: int | None = None,
    growth: Sequence[int] = (),
) -> Pressure:
    """The pressure on the context.

    Args:
        readings: What is known to be in it.
        window_tokens: The model's window, above 0.
        client_tokens: What the client reports to be in use, where it does.
        growth: Tokens that each past turn added, oldest first.
    """
    rows = tuple(_row(zone, readings) for zone in ZONES)
    sums = {kind: _sum(readings, kind) for kind in KINDS}
    silent = sum(row.silent for row in rows)
    known = sum(sums.values())
    used = _used(sums, window_tokens, client_tokens)
    return Pressure(
        **sums,
        unknown=None if client_tokens is None else max(0, client_tokens - known),
        silent=silent,
        rows=rows,
        used=used,
        level=next((level for least, level in _LEVELS if used.percent >= least), "calm"),
        turns_left=_turns_left(window_tokens - used.tokens, growth),
    )


def table(pressure: Pressure) -> tuple[tuple[str, ...], ...]:
    """The zone table as cells, its heading first and the sums last."""
    heading = ("zone", *KINDS, "of unknown size")
    rows = [
        (row.zone, *map(str, (row.measured, row.declared, row.estimated, row.silent)))
        for row in pressure.rows
    ]
    sums = (pressure.measured, pressure.declared, pressure.estimated, pressure.silent)
    return (heading, *rows, ("all", *map(str, sums)))


def _row(zone: Zone, readings: Sequence[Reading]) -> Row:
    here = [reading for reading in readings if reading.zone == zone]
    silent = sum(reading.tokens is None for reading in here)
    return Row(zone, **{kind: _sum(here, kind) for kind in KINDS}, silent=silent)


def _sum(readings: Sequence[Reading], kind: Kind) -> int:
    return sum(reading.tokens or 0 for reading in readings if reading.kind == kind)


def _used(sums: dict[Kind, int], window: int, client_tokens: int | None) -> Used:
    if client_tokens is not None:
        return Used(client_tokens, 100 * client_tokens // window, "client", at_least=False)
    known = sum(sums.values())
    basis = "+".join(kind for kind, tokens in sums.items() if tokens) or "nothing known"
    return Used(known, 100 * known // window, basis, at_least=True)


def _turns_left(free: int, growth: Sequence[int]) -> int | None:
    # The median: one large payload says little of the next turn.
    per_turn = median_low(growth[-_RECENT_TURNS:]) if growth else 0
    return max(0, free) // per_turn if per_turn > 0 else None
