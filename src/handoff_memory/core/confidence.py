"""How an outcome moves confidence: the one table, in integer millionths."""

from __future__ import annotations

from typing import Final, Literal, get_args

Outcome = Literal["success", "partial", "failure", "critical_failure"]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
ONE: Final = 1_000_000
DEFAULT: Final = 700_000

# outcome -> (percent of the old confidence that stays, millionths·100 that are added)
_TABLE: Final[dict[Outcome, tuple[int, int]]] = {
    "success": (80, 20 * ONE),  # c + 0.20·(1 - c)
    "partial": (95, 5 * ONE),  # c + 0.05·(1 - c)
    "failure": (65, 0),  # 0.65·c
    "critical_failure": (40, 0),  # 0.40·c
}


def moved(confidence: int, outcome: Outcome) -> int:
    """The confidence after an outcome, in millionths, rounded half up. Source: memory.md §3."""
    share, added = _TABLE[outcome]
    return (share * confidence + added + 50) // 100


def from_fraction(value: float) -> int:
    """Millionths of a fraction 0..1, rounded half up."""
    return int(value * ONE + 0.5)


def to_fraction(millionths: int) -> float:
    """The fraction 0..1 of millionths, as replies show it."""
    return millionths / ONE
