"""Ranges of lines and bytes, the first lines and the last; joined, the pieces are the whole."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final, assert_never

from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.rules.query.answer import Answer
from handoff_memory.rules.query.question import Form, Head, Range, Tail
from handoff_memory.rules.query.source import read, whole_before, whole_characters

_WRITTEN: Final[dict[str, Callable[[bytes], str]]] = {
    "text": lambda piece: piece.decode(),
    "hex": lambda piece: piece.hex(),
    "base64": lambda piece: base64.b64encode(piece).decode(),
}


def piece(text: bytes, asked: Range | Head | Tail, budget: int) -> Answer:
    """Lines of the text, each with its newline; what exceeds the budget goes on at a position."""
    match asked:
        case Range():
            return _line_range(text, asked, budget)
        case Head():
            return _forward(text, asked.position, _after_newlines(text, 0, asked.lines), budget)
        case Tail():
            return _tail(text, asked, budget)
        case _:
            assert_never(asked)


def _line_range(text: bytes, asked: Range, budget: int) -> Answer:
    first = 1 if asked.first is None else asked.first
    if first < 1 or (asked.last is not None and asked.last < first):
        raise InvalidArgumentError("lines count from 1, and last is not before first")
    start = _after_newlines(text, 0, first - 1)
    end = len(text) if asked.last is None else _after_newlines(text, start, asked.last - first + 1)
    answer = _forward(text, max(start, asked.position), end, budget)
    return answer if answer.text else answer.noting(f"the payload has {_lines(text):,} lines")


def _tail(text: bytes, asked: Tail, budget: int) -> Answer:
    # Where they exceed the budget: the end of them, and a position further up.
    start = len(text)
    if asked.lines:
        at = len(text) - text.endswith(b"\n")
        for _ in range(asked.lines):
            at = text.rfind(b"\n", 0, max(at, 0))
            if at < 0:
                break
        start = at + 1
    end = len(text) if asked.position is None else whole_before(text, asked.position)
    begin = whole_characters(text, max(start, end - budget))
    left = text[start:begin]
    return _piece(text[begin:end], left, begin if left else None)


def byte_range(data: bytes, asked: Range, budget: int) -> Answer:
    """Bytes as text, hex or base64. A character belongs to the piece in which it starts."""
    first = asked.first or 0
    if asked.last is not None and asked.last < first:
        raise InvalidArgumentError("last is not before first")
    end = len(data) if asked.last is None else min(asked.last + 1, len(data))
    start = min(max(first, asked.position), end)
    form = _form(data, asked.form)
    if form == "text":
        start, end = whole_characters(data, start), whole_characters(data, end)
        stop = end if end - start <= budget else whole_before(data, start + budget)
    else:
        room = budget // 2 if form == "hex" else budget // 4 * 3
        stop = min(end, start + room)
    answer = Answer(
        _WRITTEN[form](data[start:stop]),
        "bytes",
        stop - start,
        end - stop,
        stop if stop < end else None,
        binary=form != "text" and read(data) is None,
    )
    return answer.noting(f"bytes {start}-{stop} of {len(data)}, as {form}")


def _form(data: bytes, form: Form) -> str:
    if form in ("hex", "base64"):
        return form
    source = read(data)
    if source is not None and source.text is data:
        return "text"
    if form == "text":
        raise InvalidArgumentError("the payload is no UTF-8: read its bytes as hex or base64")
    return "base64"


def _after_newlines(text: bytes, at: int, count: int) -> int:
    """The position after so many newlines, or the end."""
    for _ in range(count):
        at = text.find(b"\n", at) + 1
        if at == 0:
            return len(text)
    return at


def _forward(text: bytes, start: int, end: int, budget: int) -> Answer:
    start = min(whole_characters(text, start), end)
    stop = end if end - start <= budget else whole_before(text, start + budget)
    return _piece(text[start:stop], text[stop:end], stop if stop < end else None)


def _piece(shown: bytes, left: bytes, position: int | None) -> Answer:
    answer = Answer(shown.decode(), "lines", _lines(shown), _lines(left), position)
    if position is None:
        return answer
    return answer.noting(f"cut at byte {position}; {len(left):,} bytes left")


def _lines(text: bytes) -> int:
    return text.count(b"\n") + (not text.endswith(b"\n") if text else 0)
