"""Rows filtered and projected with JMESPath, within bounds: an agent writes the expression.

JMESPath has no recursion and no root reference, so its work is bounded by the expression's size
times the row's, but for what doubles a value: a multi-select in a multi-select, to_string of
to_string. Both are limited here.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from typing import Any, Final

import jmespath
import orjson
from jmespath import exceptions, functions

from handoff_memory.core.errors import InvalidExpressionError
from handoff_memory.rules.query.answer import Answer, clipped, page
from handoff_memory.rules.query.question import Jsonl
from handoff_memory.rules.query.rows import rows

MAX_CHARS: Final = 500
MAX_DEPTH: Final = 16
MAX_WIDTH: Final = 1000
_MAX_STRING: Final = 1 << 16
_QUOTED_OR_BRACKET: Final = re.compile(
    r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|[(\[{]|[)\]}]"""
)
_ROW_ERRORS: Final = (
    exceptions.JMESPathTypeError,
    TypeError,
    ValueError,
    ArithmeticError,
    RecursionError,
)


class _Functions(functions.Functions):  # type: ignore[misc]
    """The standard functions, but for a to_string that cannot grow without end."""

    @functions.signature({"types": []})  # type: ignore[untyped-decorator]
    def _func_to_string(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        return written(value, _MAX_STRING)


_OPTIONS: Final = jmespath.Options(custom_functions=_Functions())


def jsonl(text: bytes, media_type: str, asked: Jsonl, budget: int) -> Answer:
    """One row a line, as compact JSON; the position is the number of matching rows before it."""
    where = _parsed(asked.where) if asked.where else None
    select = _parsed(asked.select) if asked.select else None
    found = rows(text, media_type)
    failed: list[int] = []
    shown: list[str] = []
    matches = 0
    for number, row in found:
        try:
            if where is not None and not _holds(_value(where, row)):
                continue
            if asked.position <= matches < asked.position + asked.limit:
                value = row if select is None else _value(select, row)
                shown.append(written(value, budget))
            matches += 1
        except _ROW_ERRORS:
            failed.append(number)
    answer = page(shown, 0, budget, "rows")
    left = max(0, matches - asked.position - answer.shown)
    going_on = asked.position + answer.shown if left and answer.shown else None
    return Answer(answer.text, "rows", answer.shown, left, going_on).noting(
        found.note, _said(failed, found.kind)
    )


def _said(failed: list[int], kind: str) -> str:
    if not failed:
        return ""
    named = ", ".join(map(str, failed[:10])) + (", …" if len(failed) > 10 else "")
    return f"the expression has a type error in {len(failed):,} {kind}: {named}"


def _parsed(expression: str) -> Any:
    if len(expression) > MAX_CHARS:
        raise InvalidExpressionError(f"an expression has at most {MAX_CHARS} characters")
    try:
        with warnings.catch_warnings():  # of an old form of literals, which is still read
            warnings.simplefilter("ignore")
            parsed = jmespath.compile(expression)
    except (exceptions.JMESPathError, ValueError, RecursionError) as error:
        said = clipped(" ".join(str(error).split()), 300)
        raise InvalidExpressionError(f"the expression is malformed: {said}") from error
    depth, width = _measured(parsed.parsed)
    if depth > MAX_DEPTH * 2 or _brackets(expression) > MAX_DEPTH:
        raise InvalidExpressionError(f"an expression is at most {MAX_DEPTH} levels deep")
    if width > MAX_WIDTH:
        raise InvalidExpressionError("the expression repeats too much: fewer selects in selects")
    return parsed


def _brackets(expression: str) -> int:
    depth = deepest = 0
    for found in _QUOTED_OR_BRACKET.finditer(expression):
        depth += (found[0] in "([{") - (found[0] in ")]}")
        deepest = max(deepest, depth)
    return deepest


def _measured(tree: dict[str, Any]) -> tuple[int, int]:
    """How deep an expression is, and how many times it may repeat what it is given."""
    depth, width = 0, 1
    level = [tree]
    while level:
        depth += 1
        for node in level:
            if node["type"] in ("multi_select_list", "multi_select_dict"):
                width *= max(1, len(node["children"]))
            elif node["type"] == "function_expression" and node["value"] == "to_string":
                width *= 2
        level = [child for node in level for child in node["children"] if isinstance(child, dict)]
    return depth, width


def _value(expression: Any, row: Any) -> Any:
    try:
        return expression.search(row, _OPTIONS)
    except (exceptions.UnknownFunctionError, exceptions.ArityError) as error:
        raise InvalidExpressionError(str(error)) from error


def _holds(value: Any) -> bool:
    """What JMESPath takes for true: zero is, empty things are not."""
    return True if type(value) in (int, float) else bool(value)


def written(value: Any, most: int) -> str:
    """Compact JSON of at most so many bytes; a longer one ends in an ellipsis, and is no JSON."""
    pieces: list[str] = []
    room = most
    for piece in _pieces(value, most):
        pieces.append(piece)
        room -= len(piece)
        if room < 0:
            break
    return clipped("".join(pieces), most)


def _pieces(value: Any, most: int) -> Iterator[str]:
    """The JSON bit by bit, so that what is too long is never made whole."""
    if isinstance(value, dict):
        yield "{"
        for at, (key, member) in enumerate(value.items()):
            yield ("," if at else "") + _scalar(key, most) + ":"
            yield from _pieces(member, most)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for at, member in enumerate(value):
            if at:
                yield ","
            yield from _pieces(member, most)
        yield "]"
    else:
        yield _scalar(value, most)


def _scalar(value: Any, most: int) -> str:
    if isinstance(value, str):
        return orjson.dumps(value[: most + 1]).decode()
    return json.dumps(value)
