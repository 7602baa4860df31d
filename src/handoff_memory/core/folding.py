"""Text without what differs at every run: clocks, process ids, addresses, temporary paths.

A part is folded to a placeholder that says of which kind it was. Arguments, results and errors are
compared for different ends, and so have kinds of their own (`signature` says which and why).

Every pattern is linear: each repetition is bounded or possessive. A text beyond 256 Ki characters
counts by its first and its last 128 Ki, so equal texts stay equal.

Source: governor §6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from handoff_memory.core import lazy

SAMPLED_CHARS: Final = 256 * 1024
_HALF: Final = SAMPLED_CHARS // 2

_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY: Final = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_CLOCK: Final = r"[0-2]?\d:[0-5]\d:[0-5]\d(?:[.,]\d{1,9})?"
_ZONE: Final = r"(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
_UNIT: Final = (
    r"(?:(?:ns|µs|us|ms|s|m|h|d)|[ ]?(?:nanosecond|microsecond|millisecond|msec|second|sec"
    r"|minute|min|hour|hr|day)s?|[ ](?:ns|µs|us|ms|s))\b"
)
_TIME: Final = (
    rf"(?:(?:{_DAY},? )?(?:\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{{1,9}})?)?)?"
    rf"|\d{{4}}/\d\d/\d\d {_CLOCK}"
    rf"|\d{{1,2}}[ /]{_MONTH}[ /]\d{{4}}[ :]{_CLOCK}"
    rf"|{_MONTH} {{1,2}}\d{{1,2}} {_CLOCK}(?: \d{{4}})?"
    rf"|{_CLOCK}|\d{{8}}T\d{{6}}){_ZONE}|1[5-9]\d{{8}}(?:\d{{3}}|\d{{6}}|\.\d{{1,9}})?)(?![\w])"
)
_DURATION: Final = (
    rf"\d{{1,15}}(?:\.\d{{1,12}})?{_UNIT}(?: ?\d{{1,9}}(?:\.\d{{1,9}})?{_UNIT}){{0,4}}"
)
_RATE: Final = r"\d{1,12}(?:\.\d{1,6})? ?(?:[kKMGT]i?)?(?:B|b|it|bytes|bits)/s\b"
_PID: Final = (
    r"\b(?:[Pp][Ii][Dd]|[Pp]rocess|[Pp]rocess id|[Tt]id|TID|[Tt]hread|goroutine|[Ww]orker)"
    r"(?:[ =:#(]{1,3}|-)\d{1,10}\b|\b[a-z]\w{1,40}\[\d{2,10}\](?=:)"
)
_ADDRESS: Final = r"\b0x[0-9a-fA-F]{4,32}\b"
_UUID: Final = r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
_PORT: Final = (
    r"(\b(?:localhost|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}|[Pp]ort)[:= ] ?|(?<=\[)[0-9a-f:]{2,39}\]:)"
    r"\d{2,5}\b"
)
_NAME: Final = r"[^\s\"'<>|:,;()\[\]{}`]"  # what a temporary path is made of
_TEMP_FOLDER: Final = (
    r"(?:(?:/private)?(?:/tmp|/var/tmp|/dev/shm|/var/folders/[^/\s]{1,8}/[^/\s]{1,64}/[A-Z])"
    r"|[A-Za-z]:[\\/]{1,2}Users[\\/]{1,2}[^\\/\s]{1,64}[\\/]{1,2}AppData[\\/]{1,2}Local[\\/]{1,2}Temp)"
)
_SLASHES: Final = lazy.pattern(r"[\\/]+")
_TEMP_ROOT: Final = lazy.pattern(_TEMP_FOLDER)
_TEMP: Final = rf"(?<![\w.-]){_TEMP_FOLDER}[\\/]{_NAME}{{1,1024}}"
_LINE: Final = (
    r"(?i:\bline:? {0,2}\d{1,9}(?:,? col(?:umn)?:? \d{1,6})?\b|\bcol(?:umn)?:? \d{1,6}\b)"
    r"|(?<=[A-Za-z_)\]]):\d{1,7}(?::\d{1,6})?(?![\w/])|(?<=[A-Za-z])\(\d{1,7},\d{1,6}\)"
)
_PERCENT: Final = r"\d{1,3}(?:\.\d{1,3})? ?%|\b\d{1,9}(?:\.\d)? ?(?:/|of) ?\d{1,9}\b"


_Kind: TypeAlias = tuple[str, tuple[str, ...] | re.Pattern[str], re.Pattern[str]]


def _kind(name: str, form: str, *hints: str) -> _Kind:
    return name, hints, lazy.pattern(form)


# Something before a number joins it to a name (v1.5s, a_12ms), which then is no duration. A kind is
# looked for only where a hint of it occurs: a pass for each is faster than one pass for all, and a
# large form that is not needed is not compiled. Each time holds a clock, a date or eight digits.
_FREE: Final = r"(?<![\w.-])"
_TEMPORARY: Final = _kind("tmp", _TEMP, "/tmp/", "/var/", "/shm/", "Temp")  # noqa: S108
_COMMON: Final = (
    _kind("address", _ADDRESS, "0x"),
    _kind("pid", _PID, "id", "rocess", "hread", "orker", "goroutine", "ID", "]:"),
    ("time", lazy.pattern(r"\d:[0-5]\d|\d-\d\d-\d|\d{8}"), lazy.pattern(_FREE + _TIME)),
    ("duration", lazy.pattern(r"\d ?[nuµmshd]"), lazy.pattern(_FREE + _DURATION)),
)
IN_ARGS: Final = (_TEMPORARY, *_COMMON)
IN_RESULTS: Final = (
    _TEMPORARY,
    _kind("uuid", _UUID, "-"),
    ("port", lazy.pattern(r"localhost|[Pp]ort|\d\.\d|\]:"), lazy.pattern(_PORT)),
    _kind("rate", _FREE + _RATE, "/s"),
    *_COMMON,
)
IN_ERRORS: Final = (
    *IN_RESULTS,
    _kind("line", _LINE, ":", "(", "ine", "INE", "ol"),
    _kind("percent", _PERCENT, "%", "/", " of "),
)

_ANSI: Final = lazy.pattern(
    r"\x1b(?:\[[0-9;?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)?)"
)
_BAR: Final = lazy.pattern(r"[#=█▉▊▋▌▍▎▏━╸╺░▒▓─■□>·.\s-]++")
_NUMBERS: Final = lazy.pattern(r"\d++(?:\.\d++)?+")
_STATE: Final = lazy.pattern(r"\d{1,3} ?%|\d/\d|\d of \d")

# A name in a temporary folder that chance has made: tmp…, …-a1B2c3, pytest-12.
_RANDOM: Final = lazy.pattern(
    r"tmp.*|.*\d$|(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9]{8,}|.*[-._](?=[A-Za-z0-9_]*[A-Z0-9])"
    r"[A-Za-z0-9_]{6,12}",
    re.DOTALL,
)


def readable(text: str | bytes, root: str) -> str:
    """The text as a terminal would have shown it, sampled; paths below the root relative to it."""
    if isinstance(text, bytes):
        text = _cut(text).decode("utf-8", "replace")
    text = sample(whole(text))
    text = (_ANSI.sub("", text) if "\x1b" in text else text).replace("\r\n", "\n")
    if "\r" in text:  # a carriage return draws the line anew
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    root = root.rstrip("/\\")
    return text.replace(root + "/", "").replace(root + "\\", "") if root else text


def _cut(data: bytes) -> bytes:
    """The bytes, or as many of both ends as can hold the characters that will be sampled."""
    if len(data) <= 8 * SAMPLED_CHARS:
        return data
    return data[: 4 * SAMPLED_CHARS] + data[-4 * SAMPLED_CHARS :]


def sample(text: str) -> str:
    """The text, or its first and last 128 KiB characters with a mark between."""
    if len(text) <= SAMPLED_CHARS:
        return text
    return f"{text[:_HALF]}\n[…]\n{text[-_HALF:]}"


def whole(text: str) -> str:
    """The text with half characters replaced, so that it can be encoded."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def last_states(text: str) -> str:
    """The text with only the last of neighbouring lines that draw one progress bar."""
    if "%" not in text and " of " not in text and "/" not in text:
        return text
    kept: list[str] = []
    shape = None
    for line in text.split("\n"):
        drawn = _NUMBERS.sub("0", _BAR.sub("", line)).strip() if _STATE.search(line) else None
        if drawn is not None and drawn == shape:
            kept[-1] = line
        else:
            kept.append(line)
        shape = drawn
    return "\n".join(kept)


def _temporary(found: re.Match[str]) -> str:
    """`<tmp>/` and what of the path was not made by chance."""
    root = _TEMP_ROOT.match(found[0])
    below = [name for name in _SLASHES.split(found[0][root.end() if root else 0 :]) if name]
    plain = [_plain(name, is_last=at == len(below)) for at, name in enumerate(below, 1)]
    return "/".join(("<tmp>", *plain))


def _plain(name: str, *, is_last: bool) -> str:
    stem, dot, suffix = name.rpartition(".")
    if is_last and dot and stem and suffix.isalpha():
        return f"*.{suffix}" if stem.startswith("tmp") else name
    return "*" if _RANDOM.fullmatch(name) else name


_SHOWN: Final[Mapping[str, Any]] = {"tmp": _temporary, "port": r"\1<port>"}


def fold(text: str, kinds: Iterable[_Kind]) -> str:
    """The text with volatile parts as `<kind>`, runs of blanks as one, and no empty lines."""
    for name, hints, form in kinds:
        if _is_hinted(text, hints):
            text = form.sub(_SHOWN.get(name, f"<{name}>"), text)
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _is_hinted(text: str, hints: tuple[str, ...] | re.Pattern[str]) -> bool:
    if isinstance(hints, tuple):
        return any(hint in text for hint in hints)
    return hints.search(text) is not None
