"""Count, sum, min, max and avg over rows, for all of them or group by group."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from typing import Any, Final, assert_never

import orjson

from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.rules.query.answer import Answer, clipped, page
from handoff_memory.rules.query.question import Aggregate, Measure
from handoff_memory.rules.query.rows import Rows, rows

_EXACT: Final = Context(prec=34, traps=[])
_AVERAGE: Final = Context(prec=15, traps=[])
_NAME_BYTES: Final = 200
_LARGEST: Final = 1000  # powers of ten; what is beyond is taken for text
_MISSING: Final = object()


@dataclass(slots=True)
class _Group:
    """What is known of one group's values; numbers go before other texts."""

    count: int = 0
    numbers: int = 0
    total: Decimal = Decimal(0)
    low: Decimal | None = None
    high: Decimal | None = None
    first: str | None = None
    last: str | None = None

    def add(self, value: Any) -> None:
        self.count += 1
        number = _number(value)
        if number is not None:
            self.numbers += 1
            self.total = _EXACT.add(self.total, number)
            self.low = number if self.low is None else min(self.low, number)
            self.high = number if self.high is None else max(self.high, number)
        elif isinstance(value, str):
            self.first = value if self.first is None else min(self.first, value)
            self.last = value if self.last is None else max(self.last, value)

    def measure(self, name: Measure) -> Decimal | str | None:
        match name:
            case "count":
                return Decimal(self.count)
            case "sum":
                return self.total if self.numbers else None
            case "avg":
                return _AVERAGE.divide(self.total, Decimal(self.numbers)) if self.numbers else None
            case "min":
                return self.low if self.numbers else self.first
            case "max":
                return self.high if self.numbers else self.last
            case _:
                assert_never(name)


def aggregate(text: bytes, media_type: str, asked: Aggregate, budget: int) -> Answer:
    """One line a group: its name, a tab, its measure; the greatest first, then by name."""
    if asked.measure != "count" and asked.field is None:
        raise InvalidArgumentError(f"{asked.measure} needs field", argument="field")
    found = rows(text, media_type)
    _check_columns(found, asked)
    groups: dict[str, _Group] = {}
    total = unmeasured = 0
    for _, row in found:
        total += 1
        value = _at(row, asked.field) if asked.field else None
        if value is _MISSING:
            unmeasured += 1
            continue
        name = _name(_at(row, asked.by)) if asked.by else ""
        groups.setdefault(name, _Group()).add(value)
    if not asked.by:
        shown = _written(groups.get("", _Group()).measure(asked.measure))
        answer = Answer(clipped(shown, budget), "rows", total)
    else:
        answer = page(_lines(groups, asked.measure), asked.position, budget, "groups")
    without = f"{unmeasured:,} of {total:,} rows have no {asked.field}" if unmeasured else ""
    return answer.noting(found.note, without, _unmeasurable(groups, asked.measure))


def _check_columns(found: Rows, asked: Aggregate) -> None:
    for name in (asked.field, asked.by):
        if name is not None and found.columns and name not in found.columns:
            known = clipped(", ".join(found.columns), 500)
            raise InvalidArgumentError(f"no column {name}; there are {known}", argument="field")


def _unmeasurable(groups: dict[str, _Group], measure: str) -> str:
    odd = sum(group.count - group.numbers for group in groups.values())
    if measure == "count" or not odd:
        return ""
    return f"{odd:,} values are no numbers" + (" and left out" if measure in ("sum", "avg") else "")


def _lines(groups: dict[str, _Group], measure: Measure) -> list[str]:
    measured = [(name, group.measure(measure)) for name, group in groups.items()]
    return [f"{_shown(name)}\t{_written(value)}" for name, value in sorted(measured, key=_rank)]


def _shown(name: str) -> str:
    return clipped(" ".join(name[: 4 * _NAME_BYTES].split()), _NAME_BYTES)


def _rank(entry: tuple[str, Decimal | str | None]) -> tuple[int, Decimal, str, str]:
    name, value = entry
    if isinstance(value, Decimal):
        return 0, -value, "", name
    return (2, Decimal(0), "", name) if value is None else (1, Decimal(0), value, name)


def _at(row: Any, path: str) -> Any:
    """What stands at a name or, where that is missing, at a path of names."""
    if isinstance(row, dict) and path in row:
        return row[path]
    for part in path.split("."):
        if not isinstance(row, dict) or part not in row:
            return _MISSING
        row = row[part]
    return row


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) <= _LARGEST else None


def _name(value: Any) -> str:
    if value is _MISSING:
        return "(missing)"
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _written(value: Decimal | str | None) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return clipped(value, _NAME_BYTES)
    plain = _EXACT.plus(value)
    if plain == plain.to_integral_value() and abs(plain) < 10**30:
        return str(int(plain))
    return f"{plain:f}".rstrip("0") if -20 < plain.adjusted() < 30 else str(plain)
