"""What changed between two versions, line by line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

_MOST_LINES: Final = 2000
_MOST_CHARS: Final = 200_000
_CONTEXT: Final = 3
_NOTE_LINES: Final = 2  # `---` and `+++`

Mark = Literal["same", "gone", "new", "gap"]
_MARKS: Final[dict[str, Mark]] = {" ": "same", "-": "gone", "+": "new", "@": "gap"}


class Line(NamedTuple):
    """A line of a comparison."""

    mark: Mark
    text: str


def compare(before: str, after: str) -> list[Line] | None:
    """The lines that differ with some around them; None where the texts are too large for it."""
    if max(len(before), len(after)) > _MOST_CHARS:
        return None
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _MOST_LINES:
        return None
    return list(_lines(old, new))


def _lines(old: list[str], new: list[str]) -> Iterator[Line]:
    told = difflib.unified_diff(old, new, n=_CONTEXT, lineterm="")
    for at, text in enumerate(told):
        if at >= _NOTE_LINES:
            yield Line(_MARKS[text[0]], text if text[0] == "@" else text[1:])
