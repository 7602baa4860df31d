"""Canonical JSON bytes: the one form in which a value is stored, hashed and given back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import orjson

from handoff_memory.core.errors import InvalidValueError

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)

MAX_DEPTH = 100
_SMALLEST_INT = -(2**63)
_LARGEST_INT = 2**64 - 1


def encode(value: Any) -> bytes:
    """The canonical bytes of a JSON value: UTF-8, keys sorted by code point, no white space.

    Raises:
        InvalidValueError: NaN, Infinity, half a surrogate pair, an integer beyond 64 bits, nesting
            deeper than 100 levels, or something that is no JSON.

    Source: format.md; string escapes as RFC 8785 §3.2.2.2.
    """
    try:
        data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:  # orjson's name for text that is not whole, among others
        _check(value, 1)
        if "surrogate" in str(error):
            raise InvalidValueError("the text holds half of a surrogate pair") from error
        raise InvalidValueError(f"this is no JSON value: {error}") from error
    # A walk over the value takes longer than all else, and most bytes show that it finds nothing.
    # Only of tuples orjson counts no levels, and some thousand crash it: none come from outside.
    if b"null" in data or data.count(b"[") + data.count(b"{") >= MAX_DEPTH:
        _check(value, 1)
    return data


def decode(data: bytes) -> Any:
    """The value of canonical bytes."""
    return orjson.loads(data)


def parse(text: str) -> Any:
    """A JSON value from text that a person wrote: strict, and no key twice in one object.

    Raises:
        InvalidValueError: The text is no JSON, names a key twice, or nests too deep.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except ValueError as error:  # an integer of thousands of digits raises a plain one
        raise InvalidValueError(f"this is no JSON: {error}") from error
    except RecursionError as error:
        raise InvalidValueError(f"JSON nested deeper than {MAX_DEPTH} levels") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InvalidValueError(f"the key {twice!r} stands twice in one object")
    return found


def _refuse_constant(name: str) -> Any:
    raise InvalidValueError(f"{name} is no JSON number")


def _check(value: Any, depth: int) -> None:
    # orjson alone would turn NaN into null, and name deep nesting by its own word.
    if depth > MAX_DEPTH:
        raise InvalidValueError(f"the value is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict | list | tuple):
        for child in value.values() if isinstance(value, dict) else value:
            _check(child, depth + 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidValueError("NaN and Infinity are no JSON numbers")
    elif isinstance(value, int) and not _SMALLEST_INT <= value <= _LARGEST_INT:
        raise InvalidValueError("an integer does not fit 64 bits; send it as a string")
