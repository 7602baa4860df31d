"""Volatile tokens: text in a head or a tool contract that differs next time and breaks a cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from handoff_memory.core import lazy

VolatileKind = Literal[
    "timestamp", "uuid", "temp_path", "home_path", "pid", "counter", "address", "random_id"
]
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
# Every repetition is bounded or runs over one class that nothing behind it can take up again, so
# the time is linear. Where two kinds begin at one place, the first in the list is named.
_KINDS: Final[dict[VolatileKind, str]] = {
    "timestamp": (
        r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)"
        rf"|\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? \d{{4}}(?: \d\d:\d\d(?::\d\d)?)?\b"
        rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b"
        r"|\b\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\b"
        r"|\b1[5-9]\d{8}(?:\d{3}){0,3}\b"
    ),
    "uuid": r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b",
    "temp_path": (
        r"(?<![\w.-])/(?:private/)?(?:tmp|var/tmp|var/folders)/[^\s\"'<>|]{1,200}"
        r"|\b[A-Za-z]:\\{1,2}Users\\{1,2}[^\\\s]{1,64}\\{1,2}AppData\\{1,2}Local\\{1,2}Temp\b"
    ),
    "home_path": (
        r"(?<![\w.-])/(?:home|Users)/[^/\s\"'<>]{1,64}"
        r"|(?<![\w.-])/root(?![\w.-])"
        r"|\b[A-Za-z]:\\{1,2}Users\\{1,2}[^\\\s\"'<>]{1,64}"
    ),
    "pid": r"(?i:\b(?:pid|process id|process)[ =:#]{1,3}\d{1,10}\b)",
    "counter": (
        r"(?i:\b(?:turn|request|iteration|attempt|message|call|round|session|run|build)"
        r"(?: {1,3}|[=:] ?)(?:#|no\.? ?|number )?\d{1,9}\b)"
    ),
    "address": r"\b0x[0-9a-fA-F]{6,32}\b",
    "random_id": (
        r"(?<![0-9A-Za-z])[0-9a-fA-F]{12,}(?![0-9A-Za-z])"
        # Base64 of 12 bytes and more: both cases, and digits in two places (Base64Encoder is none).
        r"|(?<![0-9A-Za-z+/])(?=[0-9A-Z+/]*[a-z])(?=[0-9a-z+/]*[A-Z])"
        r"(?=[A-Za-z+]*[0-9]+[A-Za-z+]+[0-9])[0-9A-Za-z+/]{16,}={0,2}"
    ),
}
_VOLATILE: Final = lazy.pattern("|".join(f"(?P<{kind}>{form})" for kind, form in _KINDS.items()))
_SHOWN_CHARS: Final = 40


@dataclass(frozen=True, slots=True)
class Volatile:
    """A piece of text that will differ next time.

    Attributes:
        kind: What it looks like.
        offset: Characters before it.
        line: From 1.
        column: From 1, in characters.
        text: Shortened to 40 characters.
    """

    kind: str
    offset: int
    line: int
    column: int
    text: str


def find(text: str) -> tuple[Volatile, ...]:
    """Everything in a head or a tool contract that would break a prompt cache, in order."""
    found: list[Volatile] = []
    line, line_start, seen = 1, 0, 0
    for hit in _VOLATILE.finditer(text):
        line += text.count("\n", seen, hit.start())
        line_start = text.rfind("\n", seen, hit.start()) + 1 or line_start
        seen = hit.start()
        shown = hit[0] if len(hit[0]) <= _SHOWN_CHARS else hit[0][: _SHOWN_CHARS - 1] + "…"
        place = line, hit.start() - line_start + 1
        found.append(Volatile(str(hit.lastgroup), hit.start(), *place, shown))
    return tuple(found)
