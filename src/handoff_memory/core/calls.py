"""What a call's arguments say of it: its shell command, its paths, whether it changes files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from handoff_memory.core import lazy

if TYPE_CHECKING:
    from handoff_memory.core import shell

_EDITS: Final = tuple(
    "edit write patch create delete remove move rename replace insert".split()  # noqa: SIM905
)
_READS: Final = tuple(
    "read view cat grep glob search find list ls head tail stat show fetch get".split()  # noqa: SIM905
)
_READER: Final = lazy.pattern(
    rf"(?i)(?:.*[._:-])?(?:{'|'.join(_READS)})"
    r"(?:[._:-]?(?:file|files|many|dir|directory|text|lines?))*"
)
_PATH_NAMES: Final = ("path", "file", "dir", "folder", "target", "dest", "notebook", "uri")
_PATCH_MARKS: Final = ("+++ ", "--- ", "*** ")
_PATCH_HEAD: Final = lazy.pattern(
    r"(?m)^(?:(?:\+\+\+|---) (?:[ab]/)?([^\t\n]{1,4096})|"
    r"\*\*\* (?:Add|Update|Delete) File: ([^\n]{1,4096}))"
)
_PATCH_CHARS: Final = 1 << 20
_PROSE: Final = frozenset({"description", "explanation", "justification", "timeout", "timeout_ms"})
_DEEPEST: Final = 6


def command_of(args: Mapping[str, Any]) -> shell.Taken | None:
    """The shell command among the arguments, taken apart; None where there is none."""
    given = command_text(args)
    if given is None:
        return None
    from handoff_memory.core import shell  # noqa: PLC0415 - most calls hold no command: 15 ms

    return shell.take_apart(given)


def essential(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without what a model writes beside a shell command: reasons, patience."""
    if command_text(args) is None:
        return dict(args)
    return {name: value for name, value in args.items() if name not in _PROSE}


def command_text(args: Mapping[str, Any]) -> str | None:
    """The shell command among the arguments as one text; None where there is none."""
    given = args.get("command") or args.get("cmd")
    if isinstance(given, list) and all(isinstance(word, str) for word in given):
        import shlex  # noqa: PLC0415 - few clients send words

        return shlex.join(given)
    return given if isinstance(given, str) else None


def edits(tool: str, args: Mapping[str, Any], command: shell.Taken | None) -> bool:
    """Whether a call that was made changed files, as far as its name and arguments tell."""
    if command is not None:
        return any(one.writes for one in command.commands)
    return _mentions(tool, _EDITS) and bool(paths_of(args))


def paths_of(args: Any) -> list[str]:
    """The paths that a call's arguments name, however deep, and those in the heads of a patch."""
    return list(dict.fromkeys(_paths(args, "", _DEEPEST)))


def only_reads(tool: str) -> bool:
    """Whether a tool is known to change nothing; of an unknown one the worse is taken."""
    return _mentions(tool, _READS) and bool(_READER.fullmatch(tool))


def _paths(value: Any, name: str, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        if _mentions(name, _PATH_NAMES):
            yield value
        yield from _patched(value[:_PATCH_CHARS])
    elif isinstance(value, dict) and depth:
        for key, child in value.items():
            yield from _paths(child, str(key), depth - 1)
    elif isinstance(value, list) and depth:
        for child in value:
            yield from _paths(child, name, depth - 1)


def _patched(text: str) -> Iterator[str]:
    if any(mark in text for mark in _PATCH_MARKS):
        yield from (head[1] or head[2] for head in _PATCH_HEAD.finditer(text))


def _mentions(name: str, words: tuple[str, ...]) -> bool:
    folded = name.casefold()
    return any(word in folded for word in words)
