"""The questions that recall answers: one frozen value each, and how arguments become one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Final, Literal, get_args, get_type_hints

from handoff_memory.core.errors import InvalidArgumentError

Form = Literal["auto", "text", "hex", "base64"]
Measure = Literal["count", "sum", "min", "max", "avg"]

_MOST: Final = {"context": 20, "max_matches": 1000, "limit": 1000}


@dataclass(frozen=True, slots=True)
class Grep:
    """Lines that hold a pattern; the position is a byte of the text."""

    pattern: str
    regex: bool = False
    ignore_case: bool = False
    context: int = 0
    max_matches: int = 50
    position: int = 0


@dataclass(frozen=True, slots=True)
class Range:
    """Lines first to last, counted from 1, or bytes first to last, counted from 0; both included.

    `form` says how bytes are written: `auto` is text where the payload is text, else base64.
    """

    unit: Literal["lines", "bytes"] = "lines"
    first: int | None = None
    last: int | None = None
    form: Form = "auto"
    position: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """The first lines."""

    lines: int = 10
    position: int = 0


@dataclass(frozen=True, slots=True)
class Tail:
    """The last lines; its position goes backwards, and None is the end."""

    lines: int = 10
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """What is in it, with line numbers."""

    position: int = 0


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A measure over rows. Fields are names, or paths such as `user.id`."""

    measure: Measure = "count"
    field: str | None = None
    by: str | None = None
    position: int = 0


@dataclass(frozen=True, slots=True)
class Jsonl:
    """Rows for which `where` holds, as `select` projects them; both are JMESPath."""

    where: str | None = None
    select: str | None = None
    limit: int = 50
    position: int = 0


Question = Grep | Range | Head | Tail | Outline | Aggregate | Jsonl
OPERATIONS: Final[Mapping[str, type[Question]]] = {
    kind.__name__.lower(): kind for kind in get_args(Question)
}
_HINTS: Final = {kind: get_type_hints(kind) for kind in OPERATIONS.values()}


def question(op: str, arguments: Mapping[str, Any]) -> Question:
    """The question of an operation with these arguments; those that are None count as not given.

    Raises:
        InvalidArgumentError: Which argument is missing, unknown, of the wrong type or out of range.
    """
    kind = OPERATIONS.get(op)
    if kind is None:
        raise InvalidArgumentError(f"op is one of {', '.join(OPERATIONS)}", argument="op")
    given = {name: value for name, value in arguments.items() if value is not None}
    hints = _HINTS[kind]
    for name, value in given.items():
        if name not in hints:
            known = ", ".join(hints)
            raise InvalidArgumentError(f"{op} takes {known}; not {name}", argument=name)
        if (wanted := _fault(name, value, hints[name])) is not None:
            raise InvalidArgumentError(f"{name} is {wanted}", argument=name)
    for field in fields(kind):
        if field.default is MISSING and field.name not in given:
            raise InvalidArgumentError(f"{op} needs {field.name}", argument=field.name)
    return kind(**given)


def _fault(name: str, value: Any, hint: Any) -> str | None:
    """What the value should have been; None where it is fine."""
    if choices := [one for one in get_args(hint) if isinstance(one, str)]:
        return None if value in choices else f"one of {', '.join(choices)}"
    wanted = next((one for one in get_args(hint) if one is not type(None)), hint)
    if type(value) is not wanted:
        return {str: "a string", bool: "true or false", int: "a whole number"}[wanted]
    if wanted is int and not 0 <= value <= _MOST.get(name, 2**62):
        return f"between 0 and {_MOST.get(name, 2**62)}"
    if wanted is str and not value:
        return "not empty"
    return None
