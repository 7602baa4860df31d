"""The questions that recall answers: one frozen value each, and how arguments become one."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, get_args, get_type_hints

from handoff_memory.core.errors import InvalidArgumentError

Form = Literal["auto", "text", "hex", "base64"]
Measure = Literal["count", "sum", "min", "max", "avg"]

_MOST: Final = {"context": 20, "max_matches": 1000, "limit": 1000}


class Grep(NamedTuple):
    """Lines that hold a pattern; the position is a byte of the text."""

    pattern: str
    regex: bool = False
    ignore_case: bool = False
    context: int = 0
    max_matches: int = 50
    position: int = 0


class Range(NamedTuple):
    """Lines first to last, counted from 1, or bytes first to last, counted from 0; both included.

    `form` says how bytes are written: `auto` is text where the payload is text, else base64.
    """

    unit: Literal["lines", "bytes"] = "lines"
    first: int | None = None
    last: int | None = None
    form: Form = "auto"
    position: int = 0


class Head(NamedTuple):
    """The first lines."""

    lines: int = 10
    position: int = 0


class Tail(NamedTuple):
    """The last lines; its position goes backwards, and None is the end."""

    lines: int = 10
    position: int | None = None


class Outline(NamedTuple):
    """What is in it, with line numbers."""

    position: int = 0


class Aggregate(NamedTuple):
    """A measure over rows. Fields are names, or paths such as `user.id`."""

    measure: Measure = "count"
    field: str | None = None
    by: str | None = None
    position: int = 0


class Jsonl(NamedTuple):
    """Rows for which `where` holds, as `select` projects them; both are JMESPath."""

    where: str | None = None
    select: str | None = None
    limit: int = 50
    position: int = 0


Question = Grep | Range | Head | Tail | Outline | Aggregate | Jsonl
OPERATIONS: Final[Mapping[str, type[Question]]] = {
    kind.__name__.lower(): kind for kind in get_args(Question)
}


def question(op: str, arguments: Mapping[str, Any]) -> Question:
    """The question of an operation with these arguments; those that are None count as not given.

    Raises:
        InvalidArgumentError: Which argument is missing, unknown, of the wrong type or out of range.
    """
    kind = OPERATIONS.get(op)
    if kind is None:
        raise InvalidArgumentError(f"op is one of {', '.join(OPERATIONS)}", argument="op")
    given = {name: value for name, value in arguments.items() if value is not None}
    hints = get_type_hints(kind)
    for name, value in given.items():
        if name not in hints:
            known = ", ".join(hints)
            raise InvalidArgumentError(f"{op} takes {known}; not {name}", argument=name)
        if (wanted := _fault(name, value, hints[name])) is not None:
            raise InvalidArgumentError(f"{name} is {wanted}", argument=name)
    for name in kind._fields:
        if name not in given and name not in kind._field_defaults:
            raise InvalidArgumentError(f"{op} needs {name}", argument=name)
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
