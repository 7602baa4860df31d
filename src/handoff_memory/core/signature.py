r"""Signatures: what stays the same when the same thing happens again.

A clock, a process id, a port, an address, a temporary path or a line number differs at every run
and says nothing about what happened. Those parts are folded to a placeholder; the rest is hashed.
Three strengths, since the three are compared for different ends:

- arguments: clocks, durations, process ids, addresses and temporary paths are folded. UUIDs, ports
  and numbers stay: in an argument they say which thing is meant.
- results: those, UUIDs, ports and rates. Of a progress bar's states only the last counts, so a job
  that is polled at 40 % and at 50 % has two results, while a finished download has one.
- errors: the exception's type, the innermost frame of this repository (file and function, no line),
  and the message with everything folded, percentages and line numbers too.

Every pattern is linear: each repetition is bounded or possessive. A text beyond 256 Ki characters
counts by its first and its last 128 Ki, so equal texts stay equal; the raw hash is of all of it.

Source: governor §6.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import orjson

from handoff_memory.core import lazy
from handoff_memory.core.digest import sha256, tagged

SAMPLED_CHARS: Final = 256 * 1024
_HALF: Final = SAMPLED_CHARS // 2
_MAX_DEPTH: Final = 100
_MAX_FRAMES_CHARS: Final = 65_536
_MAX_FAILURES: Final = 32

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
_IN_ARGS: Final = (_TEMPORARY, *_COMMON)
_IN_RESULTS: Final = (
    _TEMPORARY,
    _kind("uuid", _UUID, "-"),
    ("port", lazy.pattern(r"localhost|[Pp]ort|\d\.\d|\]:"), lazy.pattern(_PORT)),
    _kind("rate", _FREE + _RATE, "/s"),
    *_COMMON,
)
_IN_ERRORS: Final = (
    *_IN_RESULTS,
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
_URL: Final = lazy.pattern(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://")
_DRIVE: Final = lazy.pattern(r"([A-Za-z]):[\\/]")
_PATH_NAMES: Final = ("path", "file", "dir", "folder", "cwd", "root", "notebook")


# --- arguments and results ----------------------------------------------------------------------


def canonical_args(args: Any, *, root: str = "") -> bytes:
    """The canonical bytes of a call's arguments, volatile parts folded.

    Args:
        args: Any JSON value; what is no JSON counts by its text.
        root: The folder of the repository, absolute; paths below it count relative to it.
    """
    whole = _canonical(args, "", root.replace("\\", "/").rstrip("/"), _MAX_DEPTH)
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)


def args_signature(args: Any, *, root: str = "") -> str:
    """The digest of a call's canonical arguments, 64 hex digits."""
    return tagged(b"hm/args/1\0", canonical_args(args, root=root)).hex()


def result_signature(result: str | bytes, *, root: str = "") -> str:
    """The digest of a result without its volatile parts, 64 hex digits."""
    folded = _fold(_last_states(_readable(result, root)), _IN_RESULTS)
    return tagged(b"hm/result/1\0", folded.encode()).hex()


def raw_hash(result: str | bytes) -> str:
    """The plain SHA-256 of a result as it came, 64 hex digits."""
    raw = result if isinstance(result, bytes) else result.encode("utf-8", "surrogatepass")
    return sha256(raw).hexdigest()


def fingerprint(tool: str, args: bytes, result: str) -> str:
    """What an exact duplicate has in common: tool, canonical arguments, result signature.

    Source: governor §6.
    """
    parts = (tool.encode("utf-8", "surrogatepass"), args, result.encode())
    return tagged(b"hm/fingerprint/1\0", *parts).hex()


def _canonical(value: Any, name: str, root: str, depth: int) -> Any:
    if isinstance(value, str):
        return _canonical_text(value, name, root)
    if depth and isinstance(value, Mapping):
        pairs = ((_whole(str(key)), child) for key, child in value.items())
        return {key: _canonical(child, key, root, depth - 1) for key, child in pairs}
    if depth and isinstance(value, list | tuple):
        return [_canonical(child, name, root, depth - 1) for child in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return repr(value)  # 64 bits and NaN are no bounds here
    return _canonical_text(_shown(value, depth), name, root)


def _shown(value: Any, depth: int) -> str:
    return str(value) if depth else f"deeper than {_MAX_DEPTH} levels"


def _canonical_text(text: str, name: str, root: str) -> str:
    text = _sample(_whole(text)).strip()
    if _is_path(text, name):
        text = _path(text, root)
    elif root:
        text = text.replace(root + "/", "")
    return _fold(text, _IN_ARGS)


def _is_path(text: str, name: str) -> bool:
    if len(text) > 4096 or "\n" in text or ("://" in text and _URL.match(text)):
        return False
    if text[1:2] == ":" and _DRIVE.match(text):
        return True
    named = name.casefold()
    if any(part in named for part in _PATH_NAMES):
        return True
    return "/" in text and " " not in text


def _path(text: str, root: str) -> str:
    """One spelling for one path; below the root, relative to it."""
    if _DRIVE.match(text) or "/" not in text:
        text = text.replace("\\", "/")
    if drive := _DRIVE.match(text):
        text = drive[1].upper() + text[1:]
    normal = posixpath.normpath(text) if text else ""
    if root and (normal + "/").casefold().startswith(root.casefold() + "/"):
        return normal[len(root) + 1 :] or "."
    return normal


# --- errors -------------------------------------------------------------------------------------


def error_signature(error: str | bytes, *, kind: str = "", root: str = "") -> str:
    """The digest of a failure, 64 hex digits: the same failure again has the same.

    Args:
        error: What the tool printed: a traceback, a compiler's or test runner's output, a sentence.
        kind: The error's type or exit status, where it is known apart from the text.
        root: The folder of the repository, absolute.
    """
    parts = (kind, *error_parts(error, root=root))
    return tagged(b"hm/error/1\0", *(part.encode() for part in parts)).hex()


def error_parts(error: str | bytes, *, root: str = "") -> tuple[str, ...]:
    """What a failure is told by, readable: type, frame and message, or the lines that name it.

    Of a traceback (Python, JavaScript, Java, Go, Rust) the type, the innermost frame of the
    repository, and the message; of a test runner or compiler the lines that name what failed; else
    the last line. All folded.
    """
    text = _readable(error, root)
    if named := _named(text):
        return tuple(_fold(line, _IN_ERRORS) for line in named)
    raised = _raised(text)
    if raised:
        return (raised[0], _frame(text), _fold(raised[1], _IN_ERRORS))
    return ("", "", _fold(_last_line(text), _IN_ERRORS))


_EXCEPTION: Final = lazy.pattern(
    r"^(?:E {1,7}|Uncaught |Caused by: |Exception in thread \"[^\"\n]{0,80}\" )?"
    r"((?:[A-Za-z_$][\w$]{0,80}[.:]{1,2}){0,12}[A-Za-z_$]?[\w$]{0,80}"
    r"(?:Error|Exception|Warning|Exit|Interrupt|Fault|Failure|StopIteration|panic))"
    r"(?: \[[\w-]{1,60}\])?(?::[ ]?(.{0,4000}+)|$)",
    re.MULTILINE,
)
_PANIC: Final = lazy.pattern(
    r"^thread '[^'\n]{0,80}'[^\n]{0,40} panicked at [^\n]{0,300}\n?(.{0,4000}+)", re.M
)
_GO_PANIC: Final = lazy.pattern(r"^(panic|fatal error): (.{0,4000}+)", re.MULTILINE)
_PY_FRAME: Final = lazy.pattern(
    r'^ {0,8}File "([^"\n]{1,1024})", line \d{1,9}(?:, in ([^\n]{1,200}))?', re.M
)
_PY_RAISED: Final = lazy.pattern(
    r"^([A-Za-z_][\w.]{0,200})(?:: ?([^\n]{0,4000}(?:\n(?!\n)[^\n]{0,400}){0,3}))?$", re.MULTILINE
)
_CALL_FRAME: Final = lazy.pattern(  # JavaScript and Java: the innermost stands first
    r"^\s{0,12}at (?:async )?(?:([\w$.<>\[\] /]{1,200}) ?\()?(?:file://)?"
    r"([^()\n:]{1,1024}|[A-Za-z]:[^()\n:]{1,1024}|node:[^()\n:]{1,200})(?::\d{1,9}){1,2}\)?$",
    re.MULTILINE,
)
_GO_FRAME: Final = lazy.pattern(
    r"^([\w./*()-]{1,300})\([^\n]{0,300}\)\n\t([^\n:]{1,1024}):\d{1,9}", re.M
)
_RUST_FRAME: Final = lazy.pattern(
    r"panicked at (?:'[^\n]{0,1000}', )?([^\s:]{1,1024}):\d{1,9}:\d{1,6}()"
)
_FOREIGN: Final = lazy.pattern(
    r"(?:^|[\\/])(?:site-packages|dist-packages|node_modules|\.?venv|lib[\\/]python[\d.]{1,5}|rustc|"
    r"go[\\/]src|vendor|\.cargo|pkg[\\/]mod)[\\/]|^<|^node:|^internal[\\/]|^/usr/|^(?:java|javax|jdk|sun|kotlin)\."
)
_NAMED: Final = lazy.pattern(
    r"^(?:(?:FAILED|ERROR) (?!in )[^\s:]{1,500}::.{1,2000}+"  # pytest's summary
    r"|\s{0,12}--- FAIL: .{1,500}+|test [\w:]{1,300} \.\.\. FAILED|\s{0,8}(?:✕|✗|●) .{1,500}+"
    r"|(?:FAIL|ERROR): test.{1,500}+"  # go, cargo, jest, unittest
    r"|error(?:\[\w{1,12}\])?: (?!aborting|could not compile|process didn't).{1,2000}+"
    r"|[^\s:(][^\n:(]{0,500}[:(]\d{1,7}[:,]\d{0,6}\)?:? ?(?:fatal )?error\b.{0,2000}+)",
    re.MULTILINE,
)
_TRAILER: Final = lazy.pattern(
    r"(?i:(?:command |process )?(?:exit(?:ed)?(?: with)?(?: status| code)?|failed with exit code)"
    r"[ :=]{0,2}-?\d{1,5}\.?|npm (?:err!|error).{0,300}|make(?:\[\d{1,4}\])?: \*\*\*.{0,300}"
    r"|[-=~^_\s]{1,300})"
)


def _named(text: str) -> list[str]:
    """The lines in which a test runner or a compiler names what failed; sorted, each once."""
    found: set[str] = set()
    for line in _NAMED.finditer(text):
        found.add(line[0].strip())
        if len(found) == _MAX_FAILURES:
            break
    return sorted(found)


def _raised(text: str) -> tuple[str, str] | None:
    """The type and message of the exception that was raised last."""
    if panic := _GO_PANIC.search(text):
        return panic[1], panic[2]
    if panic := _PANIC.search(text):
        return "panic", panic[1]
    # Python names the error below its frames, a chained one last; the others name it above them.
    frames = list(_PY_FRAME.finditer(text))
    if frames and (last := _PY_RAISED.search(text, frames[-1].end())):
        return last[1], (last[2] or "").strip()
    first = _EXCEPTION.search(text)
    return (first[1], (first[2] or "").strip()) if first else None


def _frame(text: str) -> str:
    """File and function of the innermost frame that is in the repository; else of the innermost."""
    frames = list(_frames(text[-_MAX_FRAMES_CHARS:]))
    own = [(file, function) for file, function in frames if not _FOREIGN.search(file)]
    file, function = next(iter(own or frames), ("", ""))
    return _fold(f"{_path(file, '')} {function.strip()}", _IN_ERRORS)


def _frames(text: str) -> Iterator[tuple[str, str]]:
    yield from reversed([(found[1], found[2] or "") for found in _PY_FRAME.finditer(text)])
    for form in (_CALL_FRAME, _GO_FRAME):
        yield from ((found[2], found[1] or "") for found in form.finditer(text))
    yield from ((found[1], found[2]) for found in _RUST_FRAME.finditer(text))


def _last_line(text: str) -> str:
    lines = [line for line in text.split("\n") if line.strip()]
    telling = (line for line in reversed(lines) if not _TRAILER.fullmatch(line))
    return next(telling, lines[-1] if lines else "")


# --- folding ------------------------------------------------------------------------------------


def _readable(text: str | bytes, root: str) -> str:
    """The text as a terminal would have shown it, sampled; paths below the root relative to it."""
    if isinstance(text, bytes):
        text = _cut(text).decode("utf-8", "replace")
    text = _sample(_whole(text))
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


def _sample(text: str) -> str:
    """The text, or its first and last 128 KiB characters with a mark between."""
    if len(text) <= SAMPLED_CHARS:
        return text
    return f"{text[:_HALF]}\n[…]\n{text[-_HALF:]}"


def _whole(text: str) -> str:
    """The text with half characters replaced, so that it can be encoded."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _last_states(text: str) -> str:
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


def _fold(text: str, kinds: Iterable[_Kind]) -> str:
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
