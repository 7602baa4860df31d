"""Budgets: what may still begin.

A budget warns at 80 % and is hard at 100 %: then new expensive work is refused, but never what
saves or hands over the work that was done.
"""

from decimal import Decimal
from typing import Final, Literal, NamedTuple

State = Literal["ok", "low", "exhausted"]
Work = Literal["checkpoint", "handoff", "recall", "read", "other"]
Dimension = Literal["tokens", "cost_usd", "calls", "time_s"]

SOFT_PERCENT: Final = 80
_ALWAYS_ALLOWED: Final[frozenset[Work]] = frozenset({"checkpoint", "handoff", "recall", "read"})
_RANK: Final[dict[State, int]] = {"ok": 0, "low": 1, "exhausted": 2}


class Budget(NamedTuple):
    """Hard limits of a task; None is no limit."""

    tokens: int | None = None
    cost_usd: Decimal | None = None
    calls: int | None = None
    time_s: int | None = None


class Spent(NamedTuple):
    """What a task used up, or an action is expected to; reservations of others belong in it."""

    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    calls: int = 0
    time_s: int = 0

    def plus(self, more: "Spent") -> "Spent":
        """The sum of both."""
        return Spent(
            self.tokens + more.tokens,
            self.cost_usd + more.cost_usd,
            self.calls + more.calls,
            self.time_s + more.time_s,
        )


class Line(NamedTuple):
    """One limit: `percent` is rounded down, and 100 where the limit is 0."""

    dimension: Dimension
    spent: Decimal
    limit: Decimal
    percent: int
    state: State


class Standing(NamedTuple):
    """How a task stands: the worst of its limits, and each of them."""

    state: State
    lines: tuple[Line, ...]


class Allow(NamedTuple):
    """The action is within the budget, or never refused."""


class Warn(NamedTuple):
    """The action is within the budget, which runs low."""

    why: str


class Refuse(NamedTuple):
    """The action would go beyond a hard budget."""

    why: str
    way_out: str = "Checkpoint or hand the task over, or ask for a larger budget."


def standing(budget: Budget, spent: Spent) -> Standing:
    """How much of each limit is used up."""
    lines = tuple(_lines(budget, spent))
    states: list[State] = ["ok", *(line.state for line in lines)]
    return Standing(max(states, key=_RANK.__getitem__), lines)


def precheck(
    budget: Budget, spent: Spent, work: Work, expected: Spent | None = None
) -> Allow | Warn | Refuse:
    """Whether an action may begin.

    Args:
        budget: The task's.
        spent: So far.
        work: What the action is; checkpoints, handoffs, recalls and reads are never refused.
        expected: What it will use up; one call of unknown size where it is not known.
    """
    if work in _ALWAYS_ALLOWED:
        return Allow()
    gone = next((line for line in _lines(budget, spent) if line.state == "exhausted"), None)
    if gone is not None:
        return Refuse(f"{gone.dimension} exhausted: {gone.spent} of {gone.limit}")
    after = list(_lines(budget, spent.plus(expected or Spent(calls=1))))
    beyond = next((line for line in after if line.spent > line.limit), None)
    if beyond is not None:
        return Refuse(f"{beyond.dimension} would reach {beyond.spent} of {beyond.limit}")
    low = [f"{line.dimension} {line.percent} %" for line in after if line.state != "ok"]
    return Warn("budget low: " + ", ".join(low)) if low else Allow()


def _lines(budget: Budget, spent: Spent) -> list[Line]:
    pairs: tuple[tuple[Dimension, Decimal | int, Decimal | int | None], ...] = (
        ("tokens", spent.tokens, budget.tokens),
        ("cost_usd", spent.cost_usd, budget.cost_usd),
        ("calls", spent.calls, budget.calls),
        ("time_s", spent.time_s, budget.time_s),
    )
    return [
        _line(dimension, Decimal(used), Decimal(limit))
        for dimension, used, limit in pairs
        if limit is not None
    ]


def _line(dimension: Dimension, used: Decimal, limit: Decimal) -> Line:
    percent = int(100 * used / limit) if limit > 0 else 100
    state: State = "exhausted" if used >= limit else "low" if percent >= SOFT_PERCENT else "ok"
    return Line(dimension, used, limit, percent, state)
