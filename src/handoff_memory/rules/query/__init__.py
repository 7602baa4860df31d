"""Recall: a question about a payload's bytes, and an answer that fits a reply.

`ask` is a pure function of the bytes, their media type and the question. An answer never exceeds
its ceiling; it says what it left out, and the position from which the same question goes on. The
work is linear in the payload. Where the payload comes from, and cursors, are for others.

What answers a question is imported when one is asked: a hook asks for an outline alone, and the
engines of the other questions would cost it more than its whole work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, assert_never

from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.rules.query.answer import NOTES_BYTES, Answer, said_to_be_binary
from handoff_memory.rules.query.question import (
    Aggregate,
    Grep,
    Head,
    Jsonl,
    Outline,
    Question,
    Range,
    Tail,
    question,
)
from handoff_memory.rules.query.source import Source, read

if TYPE_CHECKING:
    from handoff_memory.rules.query.pattern import Engine

__all__ = [
    "MIN_CEILING_BYTES",
    "Aggregate",
    "Answer",
    "Grep",
    "Head",
    "Jsonl",
    "Outline",
    "Question",
    "Range",
    "Tail",
    "ask",
    "question",
]

MIN_CEILING_BYTES: Final = 1024


def ask(
    data: bytes,
    media_type: str,
    asked: Question,
    *,
    ceiling_bytes: int,
    clock: Callable[[], float],
    engine: Engine | None = None,
) -> Answer:
    """What the payload says to the question, in at most ceiling_bytes.

    Args:
        data: The payload.
        media_type: What it is taken for; whether it is binary is judged by the bytes.
        asked: The question, as `question` parses it.
        ceiling_bytes: At least 1,024; the answer's text and notes together, in UTF-8.
        clock: Seconds that only grow, to stop a pattern that takes too long.
        engine: What matches patterns, else RE2 where it is installed.

    Raises:
        InvalidArgumentError, InvalidPatternError, PatternTooSlowError, InvalidExpressionError,
        NotRowsError
    """
    if ceiling_bytes < MIN_CEILING_BYTES:
        raise InvalidArgumentError(f"a ceiling has at least {MIN_CEILING_BYTES:,} bytes")
    for name, value in asked._asdict().items():
        if isinstance(value, str) and value.encode("utf-8", "replace").decode() != value:
            raise InvalidArgumentError(f"{name} holds half a character", argument=name)
    budget = ceiling_bytes - NOTES_BYTES
    if isinstance(asked, Range) and asked.unit == "bytes":
        from handoff_memory.rules.query.slices import byte_range  # noqa: PLC0415

        return byte_range(data, asked, budget)
    source = read(data)
    if source is None:
        return said_to_be_binary(data)
    answer = _text_answer(source, media_type, asked, budget, clock, engine)
    return answer.noting(source.note)


def _text_answer(
    source: Source,
    media_type: str,
    asked: Question,
    budget: int,
    clock: Callable[[], float],
    engine: Engine | None,
) -> Answer:
    match asked:
        case Grep():
            from handoff_memory.rules.query.grep import grep  # noqa: PLC0415
            from handoff_memory.rules.query.pattern import DEFAULT_ENGINE  # noqa: PLC0415

            return grep(source.text, asked, budget, clock, engine or DEFAULT_ENGINE)
        case Range() | Head() | Tail():
            from handoff_memory.rules.query.slices import piece  # noqa: PLC0415

            return piece(source.text, asked, budget)
        case Outline():
            from handoff_memory.rules.query.outline import outline  # noqa: PLC0415

            return outline(source.text, media_type, asked, budget)
        case Aggregate():
            from handoff_memory.rules.query.aggregate import aggregate  # noqa: PLC0415

            return aggregate(source.text, media_type, asked, budget)
        case Jsonl():
            from handoff_memory.rules.query.jsonl import jsonl  # noqa: PLC0415

            return jsonl(source.text, media_type, asked, budget)
        case _:
            assert_never(asked)
