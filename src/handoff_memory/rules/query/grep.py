"""Lines that hold a pattern, with the lines around them, numbered as grep does it.

A line of more than 2,000 characters is never shown whole: each match in it counts by itself, and is
shown with what stands around it and the byte at which it starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from handoff_memory.rules.query import pattern as patterns
from handoff_memory.rules.query.answer import Answer, clipped
from handoff_memory.rules.query.question import Grep
from handoff_memory.rules.query.source import line_end, whole_before, whole_characters

LONG_LINE: Final = 2000
_AROUND: Final = 200
_PREFIX: Final = 64


@dataclass(frozen=True, slots=True)
class _Hit:
    number: int  # of the line, from 1
    start: int  # of the line
    end: int
    match: int
    match_end: int
    is_long: bool


def grep(
    text: bytes, asked: Grep, budget: int, clock: Callable[[], float], engine: patterns.Engine
) -> Answer:
    """The matching lines from the position on."""
    patterns.check(asked.pattern)
    if asked.regex or (asked.ignore_case and not asked.pattern.isascii()):
        plain = asked.pattern if asked.regex else re.escape(asked.pattern)
        find = patterns.expression(
            text, plain, ignore_case=asked.ignore_case, clock=clock, engine=engine
        )
    elif asked.ignore_case:
        find = patterns.literal(text.lower(), asked.pattern.lower())  # ASCII only: same positions
    else:
        find = patterns.literal(text, asked.pattern)
    long_line = min(LONG_LINE, (budget - _PREFIX) // 4)
    kept: list[_Hit] = []
    total = 0
    for hit in _hits(text, find, whole_characters(text, asked.position), long_line):
        total += 1
        if len(kept) <= asked.max_matches:  # one more, so that context knows where it has to end
            kept.append(hit)
    return _Rendering(text, asked, budget, long_line).render(kept, total)


def _hits(text: bytes, find: patterns.Find, position: int, long_line: int) -> Iterator[_Hit]:
    number, counted, start, end = 1, 0, 0, -1
    rest: patterns.Span | None = None
    while position <= len(text) and (found := rest or find(position)) is not None:
        match, match_end = found
        if match == len(text) and (not text or text.endswith(b"\n")):
            return  # an empty match after the last line
        if match > end:
            start = text.rfind(b"\n", max(end, 0), match) + 1
            end = line_end(text, match)
            number += text.count(b"\n", counted, start)
            counted = start
        is_long = end - start > long_line and _is_long(text, start, end, long_line)
        yield _Hit(number, start, end, match, match_end, is_long)
        step = min(match_end, match + _around(long_line)) + _around(long_line)
        position = max(match + 1, whole_before(text, step)) if is_long else end + 1
        # The rest of a match is known: a search for it would read megabytes again for each clip.
        rest = (position, match_end) if is_long and position < match_end else None


def _is_long(text: bytes, start: int, end: int, long_line: int) -> bool:
    # A character takes 4 bytes at most, so a very long line need not be read again for each match.
    return end - start > 4 * long_line or len(text[start:end].decode()) > long_line


def _around(long_line: int) -> int:
    return min(_AROUND, long_line // 2)


@dataclass(slots=True)
class _Rendering:
    """Lines as they are shown; `to` is the end of what was shown last."""

    text: bytes
    asked: Grep
    budget: int
    long_line: int
    to: int = -1
    clips: int = 0

    def render(self, hits: list[_Hit], total: int) -> Answer:
        lines: list[str] = []
        room, shown = self.budget, 0
        for at, hit in enumerate(hits[: self.asked.max_matches]):
            limit = hits[at + 1].start if at + 1 < len(hits) else len(self.text)
            block = self._block(hit, limit)
            size = _size(block)
            if size > room and not lines:
                block = [self._line(hit)]
                size = _size(block)
                self.to = hit.end
            elif size > room:
                break
            lines += block
            room -= size
            shown += 1
        left = total - shown
        position = self._position(hits, shown) if left and shown else None
        answer = Answer("\n".join(lines), "matches", shown, left, position)
        if not self.clips:
            return answer
        return answer.noting(f"clipped: lines of more than {self.long_line:,} characters")

    def _position(self, hits: list[_Hit], shown: int) -> int:
        hit = hits[shown]
        return hit.match if hit.is_long else hit.start

    def _block(self, hit: _Hit, limit: int) -> list[str]:
        before = self._before(hit)
        first = before[0][1] if before else hit.start
        gap = self.asked.context and self.to >= 0 and self.to + 1 < first
        lines = ["--"] if gap else []
        lines += [self._context(number, start, end) for number, start, end in before]
        lines.append(self._line(hit))
        self.to = hit.end
        number, start = hit.number + 1, hit.end + 1
        while number <= hit.number + self.asked.context and start < limit:
            end = line_end(self.text, start)
            lines.append(self._context(number, start, end))
            self.to = end
            number, start = number + 1, end + 1
        return lines

    def _before(self, hit: _Hit) -> list[tuple[int, int, int]]:
        found: list[tuple[int, int, int]] = []
        end, number = hit.start - 1, hit.number - 1
        while len(found) < self.asked.context and end > self.to:
            start = self.text.rfind(b"\n", max(self.to, 0), end) + 1
            found.append((number, start, end))
            end, number = start - 1, number - 1
        return found[::-1]

    def _context(self, number: int, start: int, end: int) -> str:
        raw = self.text[start:end].removesuffix(b"\r")
        if len(raw) <= self.long_line:
            return f"{number}-{raw.decode()}"
        shown = clipped(raw.decode(), self.long_line)
        self.clips += shown.endswith("…")
        return f"{number}-{shown}"

    def _line(self, hit: _Hit) -> str:
        if not hit.is_long:
            raw = self.text[hit.start : hit.end].removesuffix(b"\r")
            return f"{hit.number}:{raw.decode()}"
        self.clips += 1
        around = _around(self.long_line)
        start = max(hit.start, whole_characters(self.text, hit.match - around))
        most = min(hit.match_end, hit.match + around) + around
        end = min(hit.end, whole_before(self.text, most))
        piece = self.text[start:end].decode()
        left, right = "…" * (start > hit.start), "…" * (end < hit.end)
        return f"{hit.number}@{hit.match}:{left}{piece}{right}"


def _size(block: list[str]) -> int:
    return sum(len(line.encode()) + 1 for line in block)
