"""Finds an agent's pattern in lines of text, in time that is bounded whatever the pattern is.

Literal text by default. Expressions run on RE2, which takes linear time, or on `regex`, which is
stopped when its time is over; never on `re`. Both get the syntax that RE2 has, so a pattern that
works in one place works in another. No match crosses a line.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any, Final, Literal

import regex

from handoff_memory.core.errors import InvalidPatternError, PatternTooSlowError
from handoff_memory.rules.query.source import line_end

try:
    import re2
except ImportError:  # pragma: no cover - the extra `re2` is not installed
    re2 = None

Engine = Literal["re2", "regex"]
Span = tuple[int, int]
Find = Callable[[int], Span | None]

DEFAULT_ENGINE: Final[Engine] = "regex" if re2 is None else "re2"
MAX_PATTERN_CHARS: Final = 1000
SECONDS: Final = 0.4  # for one line; `regex` looks at its clock from time to time only
LINE_SECONDS: Final = 10e-6  # for each further line
# What `regex` knows and RE2 does not: look-around, backreferences, recursion, atomic and
# conditional groups, possessive repeats, fuzzy matching.
_NOT_LINEAR: Final = re.compile(
    r"""(?P<escaped>\\[1-9ACGKLMNQRXZgkmz]) | \\[pPx]\{\^?\w+\} | \\. |
    (?P<group>\(\?(?!:|P<\w|<\w|[imsU]*(?:-[imsU]+)?[:)])) |
    (?P<repeat>(?:[*+?]|\{[0-9]+,?[0-9]*\})\+) |
    (?P<fuzzy>\{\s*(?:[0-9]*\s*[eisd]\s*[,+<:}]|[0-9]+\s*<)) |
    \[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]""",
    re.VERBOSE | re.DOTALL,
)
_FAULTS: Final = {
    "escaped": "a backreference, or an escape that has no place in one line of any engine",
    "group": "look-around, or another group that takes more than linear time",
    "repeat": "a possessive repeat",
    "fuzzy": "fuzzy matching",
}


def literal(text: bytes, pattern: str) -> Find:
    """Finds the pattern as it is written."""
    needle = pattern.encode()

    def find(start: int) -> Span | None:
        at = text.find(needle, start)
        return None if at < 0 else (at, at + len(needle))

    return find


def check(pattern: str) -> None:
    """Refuse what no engine shall get.

    Raises:
        InvalidPatternError
    """
    if not pattern or len(pattern) > MAX_PATTERN_CHARS:
        raise InvalidPatternError(f"a pattern has 1 to {MAX_PATTERN_CHARS:,} characters")
    if "\n" in pattern:
        raise InvalidPatternError("a pattern is found within one line; it holds a line break")


def expression(
    text: bytes,
    pattern: str,
    *,
    ignore_case: bool,
    clock: Callable[[], float],
    engine: Engine,
) -> Find:
    """Finds a regular expression.

    Raises:
        InvalidPatternError: It is malformed, or more than linear.
        PatternTooSlowError: By what is returned: its time was over.
    """
    for found in _NOT_LINEAR.finditer(pattern):
        if found.lastgroup is not None:
            fault = _FAULTS[found.lastgroup]
            raise InvalidPatternError(f"{fault}, at character {found.start() + 1}: {found[0]}")
    if engine == "re2":
        return _by_re2(text, pattern, ignore_case)
    return _by_regex(text, pattern, ignore_case, clock)


def _by_re2(text: bytes, pattern: str, ignore_case: bool) -> Find:
    options = re2.Options()
    options.never_nl = options.never_capture = True
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        # bytes, or each search would encode the whole text again
        compiled: Any = re2.compile(b"(?m)" + pattern.encode(), options)
    except re2.error as error:
        raise InvalidPatternError(f"the pattern is malformed: {_said(error)}") from error
    re2.purge()  # its cache would keep 128 automata of up to 8 MiB each
    # `$` stands before "\n" only, so a carriage return at the end of a line becomes one.
    subject = text.replace(b"\r\n", b"\n\n") if b"\r\n" in text else text
    if text.endswith(b"\r"):
        subject = subject[:-1] + b"\n"

    def find(start: int) -> Span | None:
        while start <= len(subject) and (found := compiled.search(subject, start)) is not None:
            at: int = found.start()
            if not (text[at - 1 : at] == b"\r" and text[at : at + 1] in (b"\n", b"")):
                return at, found.end()
            start = at + 1  # the empty line that a carriage return became
        return None

    return find


def _said(error: Exception) -> str:
    said = error.args[0] if error.args else error
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _by_regex(text: bytes, pattern: str, ignore_case: bool, clock: Callable[[], float]) -> Find:
    flags = regex.VERSION0 | regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0)
    try:
        with warnings.catch_warnings():  # of sets inside sets, which are read as RE2 reads them
            warnings.simplefilter("ignore")
            compiled = regex.compile(pattern, flags, cache_pattern=False)
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise InvalidPatternError(f"the pattern is malformed: {error}") from error
    return _ByLine(text, compiled, clock).find


class _ByLine:
    """Searches line by line until a deadline; a long line is decoded once."""

    def __init__(self, text: bytes, compiled: Any, clock: Callable[[], float]) -> None:
        self._text, self._compiled, self._clock = text, compiled, clock
        self._deadline = clock() + SECONDS + LINE_SECONDS * text.count(b"\n")
        self._end = -1  # of the line that is decoded
        self._line = ""
        self._byte, self._char = 0, 0  # the same place in the text and in the line

    def find(self, start: int) -> Span | None:
        while start <= len(self._text):
            self._go(start)
            if (found := self._search()) is not None:
                at, end = found
                self._advance(at)
                return self._byte, self._byte + len(self._line[at:end].encode())
            start = self._end + 1
        return None

    def _go(self, start: int) -> None:
        if start > self._end:
            self._byte = self._text.rfind(b"\n", max(self._end, 0), start) + 1
            self._char, self._end = 0, line_end(self._text, start)
            self._line = self._text[self._byte : self._end].removesuffix(b"\r").decode()
        self._advance(self._char + len(self._text[self._byte : start].decode()))

    def _advance(self, char: int) -> None:
        self._byte += len(self._line[self._char : char].encode())
        self._char = char

    def _search(self) -> Span | None:
        left = self._deadline - self._clock()
        try:
            if left > 0:
                found = self._compiled.search(
                    self._line, self._char, timeout=min(left, SECONDS), concurrent=True
                )
                return None if found is None else found.span()
        except (TimeoutError, MemoryError):
            pass
        raise PatternTooSlowError("the pattern took too long on this payload and was stopped")
