"""Logs and other plain text: times, levels, landmarks of tests and traces, and line templates."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from handoff_memory.core import lazy

_LINE_CHARS: Final = 400
_TEMPLATES: Final = 2000  # kept apart; lines of further ones are counted together
_SHOWN: Final = 30
_LANDMARKS: Final = 40
_TIME: Final = lazy.pattern(
    r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d(?: [+-]\d{4})?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
)
_LEVEL: Final = lazy.pattern(
    r"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL|PANIC)\b"
    r"|\blevel=\"?(trace|debug|info|warn(?:ing)?|error|fatal)\b"
    r"|\[(trace|debug|info|notice|warn(?:ing)?|error|crit|alert|emerg)\]"
)
_LANDMARK: Final = lazy.pattern(
    r"Traceback \(most recent call last\)|=+ .*\b(?:passed|failed|errors?|FAILURES|ERRORS)\b.*=+$"
    r"|(?:FAILED|ERROR) \S+::|_{3,} .+ _{3,}$|thread '.*' panicked at |error(?:\[E\d+\])?: "
    r"|--- FAIL: |panic: |npm (?:ERR!|error) |Caused by: |Exception in thread |test result: "
    r"|Tests?(?: Suites)?: +\d|[A-Za-z_][\w.]*(?:Error|Exception)(?::|$)"
)
_DIGITS: Final = str.maketrans("123456789", "0" * 9)
_NUMBERED: Final = lazy.pattern(r"[^=:,()\[\]]*0[^=:,()\[\]]*")


@dataclass(slots=True)
class _Template:
    """Lines that differ in numbers and spaces only; what is found in one holds for all."""

    text: str
    first: int
    level: str | None
    is_timed: bool
    is_landmark: bool
    count: int = 0


def log(body: str) -> list[str]:
    """Entries of a plain text, the most telling first."""
    templates: dict[str, _Template] = {}
    levels: Counter[str] = Counter()
    landmarks: list[str] = []
    timed: list[str] = []  # the first and the last line with a time
    marked = times = longest = other = 0
    for number, whole in enumerate(body.split("\n"), 1):
        longest = max(longest, len(whole))
        line = whole[:_LINE_CHARS].strip()
        if not line:
            continue
        text = _masked(line)
        found = templates.get(text)
        if found is None:
            found = _template(line, text, number)
            if len(templates) < _TEMPLATES:
                templates[text] = found
            else:
                other += 1
        found.count += 1
        if found.level is not None:
            levels[found.level] += 1
        if found.is_timed:
            times += 1
            timed[1 if timed else 0 :] = [line]
        if found.is_landmark:
            marked += 1
            landmarks += [f"{number} {line[:160]}"] if marked <= _LANDMARKS else []
    entries = [f"longest line: {longest:,} characters"] if longest > 2000 else []
    entries += [_times(times, timed)] if times else []
    entries += (
        [" ".join(f"{name}={many:,}" for name, many in levels.most_common())] if levels else []
    )
    entries += landmarks
    entries += [f"{marked - _LANDMARKS:,} more landmarks"] if marked > _LANDMARKS else []
    return entries + _ranked(list(templates.values()), other)


def _masked(line: str) -> str:
    words = line.translate(_DIGITS).split()
    return " ".join([_without_numbers(word) if "0" in word else word for word in words])[:160]


@lru_cache(maxsize=_TEMPLATES)  # with all digits alike, the words of a log are few
def _without_numbers(word: str) -> str:
    return _NUMBERED.sub("#", word)


def _template(line: str, text: str, number: int) -> _Template:
    level = _LEVEL.search(line, 0, 200)
    named = next(name for name in level.groups() if name) if level else None
    if named is not None:
        named = "WARN" if named.upper() == "WARNING" else named.upper()
    is_timed = _TIME.search(line, 0, 100) is not None
    return _Template(text, number, named, is_timed, _LANDMARK.match(line) is not None)


def _times(count: int, lines: list[str]) -> str:
    # The first line was looked at itself; a last one without a time has only its template's word.
    found = [time[0] for line in (lines[0], lines[-1]) if (time := _TIME.search(line))]
    return f"{count:,} lines with a time, from {found[0]} to {found[-1]}"


def _ranked(templates: list[_Template], other: int) -> list[str]:
    """Templates by how often they occur, each with the line of its first occurrence."""
    if not templates:
        return []
    ranked = sorted(templates, key=lambda one: (-one.count, one.first))
    shown = [f"x{one.count:,} from {one.first}: {one.text}" for one in ranked[:_SHOWN]]
    rest = sum(one.count for one in ranked[_SHOWN:]) + other
    kinds = f"kinds of lines: {len(templates):,}{'+' if other else ''}"
    return [kinds, *shown, *([f"x{rest:,} of other kinds"] if rest else [])]
