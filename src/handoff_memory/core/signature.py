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

Of a long text the first and last characters count (`folding`); the raw hash is of all of it. Every
pattern is linear: each repetition is bounded or possessive.

Source: governor §6.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from handoff_memory.core import folding, lazy
from handoff_memory.core.digest import sha256, tagged

_MAX_DEPTH: Final = 100
_MAX_FRAMES_CHARS: Final = 65_536
_MAX_FAILURES: Final = 32

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
    folded = folding.fold(folding.last_states(folding.readable(result, root)), folding.IN_RESULTS)
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
        pairs = ((folding.whole(str(key)), child) for key, child in value.items())
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
    text = folding.sample(folding.whole(text)).strip()
    if _is_path(text, name):
        text = _path(text, root)
    elif root:
        text = text.replace(root + "/", "")
    return folding.fold(text, folding.IN_ARGS)


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
    text = folding.readable(error, root)
    if named := _named(text):
        return tuple(folding.fold(line, folding.IN_ERRORS) for line in named)
    raised = _raised(text)
    if raised:
        return (raised[0], _frame(text), folding.fold(raised[1], folding.IN_ERRORS))
    return ("", "", folding.fold(_last_line(text), folding.IN_ERRORS))


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
    return folding.fold(f"{_path(file, '')} {function.strip()}", folding.IN_ERRORS)


def _frames(text: str) -> Iterator[tuple[str, str]]:
    yield from reversed([(found[1], found[2] or "") for found in _PY_FRAME.finditer(text)])
    for form in (_CALL_FRAME, _GO_FRAME):
        yield from ((found[2], found[1] or "") for found in form.finditer(text))
    yield from ((found[1], found[2]) for found in _RUST_FRAME.finditer(text))


def _last_line(text: str) -> str:
    lines = [line for line in text.split("\n") if line.strip()]
    telling = (line for line in reversed(lines) if not _TRAILER.fullmatch(line))
    return next(telling, lines[-1] if lines else "")
