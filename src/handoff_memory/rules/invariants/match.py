"""Whether an action is one that a rule is about: no, maybe, or yes.

Maybe is said of what a shell command does not show; for a rule that blocks or asks it is a yes.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any, Final, assert_never

from handoff_memory.core.shell import Command, Write
from handoff_memory.rules.invariants.action import Action
from handoff_memory.rules.invariants.rule import ArgTest, Equals, Glob, OneOf, Paths, When

_WILD: Final = re.compile(r"[*?\[]")
_DRIVE: Final = re.compile(r"(?:[A-Za-z]:)?/")
_HAS_SUFFIX: Final = re.compile(r"[^/]\.[A-Za-z0-9]{1,5}$")
_MAX_PATH: Final = 4096
_MAX_WORDS: Final = 256


class Match(IntEnum):
    """How sure it is that a condition holds."""

    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class _Subject:
    """One thing that an action does: the tool's call itself, or one command in it."""

    names: tuple[str, ...]
    writes: tuple[Write, ...]
    reads: tuple[str, ...]
    called: str
    name_open: str = ""  # it may have any name that begins so
    is_open: bool = False  # it may have any name
    writes_open: bool = False  # it may write any path


def matched(when: When, action: Action) -> tuple[Match, str]:
    """How sure it is that all conditions hold, and why."""
    common = min(_args(when.args, action.args), _agent(when, action), _branch(when, action))
    if common is Match.NO:
        return Match.NO, ""
    best, why = Match.NO, ""
    for subject in _subjects(action):
        tool, paths = _tool(when.tools, subject), _paths(when, subject, action)
        found = min(common, tool[0], paths[0])
        if found > best:
            best, why = found, "; ".join(part for part in (tool[1], paths[1]) if part)
    return best, why or "every action of this agent, branch or argument"


# --- what the action does -----------------------------------------------------------------------


def _subjects(action: Action) -> Iterator[_Subject]:
    given = tuple(Write(path) for path in action.writes)
    yield _Subject(_tool_names(action.tool), given, action.reads, action.tool)
    if action.command is None:
        return
    for command in action.command.commands:
        yield _of_command(command, given)
    if not action.command.complete:
        why = ", ".join(action.command.doubts[:3])
        yield _Subject((), given, (), f"the command ({why})", is_open=True, writes_open=True)


def _of_command(command: Command, given: tuple[Write, ...]) -> _Subject:
    shown = " ".join(command.argv)
    program = command.names[0] if command.names else ""
    return _Subject(
        command.names,
        (*command.writes, *given),
        tuple(_touched(command)),
        f"`{shown if len(shown) <= 60 else shown[:59] + '…'}`",
        name_open="" if command.name_known else f"{program}.",
        writes_open=not command.writes_known,
    )


def _touched(command: Command) -> Iterator[str]:
    """The words of a command that may be paths."""
    for word in command.argv[1:_MAX_WORDS]:
        path = word.partition("=")[2] if word.startswith("-") else word
        if path and len(path) <= _MAX_PATH:
            yield from (posixpath.join(folder, path) for folder in command.folders)


def _tool_names(tool: str) -> tuple[str, ...]:
    """What a tool may be called in a rule; `mcp__git__git_commit` is `git.commit` too."""
    dotted = tool.replace("__", ".").removeprefix("mcp.")
    last = dotted.rpartition(".")[2]
    names = (
        tool,
        dotted,
        last,
        last.replace("_", ".", 1),
        dotted.replace("_", ".").replace("-", "."),
    )
    return tuple(dict.fromkeys(names))


# --- the conditions -----------------------------------------------------------------------------


def _tool(tools: Sequence[str], subject: _Subject) -> tuple[Match, str]:
    if not tools:
        return Match.YES, ""
    for pattern in (tool.casefold() for tool in tools):
        if any(fnmatchcase(name.casefold(), pattern) for name in subject.names):
            return Match.YES, f"{subject.called} is {pattern}"
    for pattern in (tool.casefold() for tool in tools):
        stem = _WILD.split(pattern)[0]
        begins = subject.name_open
        may_be = begins and (
            stem.startswith(begins) or (begins.startswith(stem) and stem != pattern)
        )
        # No command is called as the tools of an MCP server are.
        if may_be or (subject.is_open and "__" not in pattern):
            return Match.MAYBE, f"{subject.called} may be {pattern}"
    return Match.NO, ""


def _paths(when: When, subject: _Subject, action: Action) -> tuple[Match, str]:
    """A rule that names no tool is about changes; one that does, about all paths it is given."""
    if when.paths is None:
        return Match.YES, ""
    best, why = Match.NO, ""
    for write in subject.writes:
        found = _written(when.paths, write, action)
        if found > best:
            best, why = found, _because(found, write)
    if best is not Match.YES and when.tools:
        for path in subject.reads:
            if _is_among(when.paths, path, action):
                return Match.YES, f"{path} is among {', '.join(when.paths.globs)}"
    if best is Match.NO and subject.writes_open:
        return Match.MAYBE, f"what {subject.called} writes is not known"
    return best, why


def _because(found: Match, write: Write) -> str:
    verb = "changes" if found is Match.YES else "may change"
    return f"it {verb} {write.path or '.'}{' and what is below' if write.is_tree else ''}"


def _args(tests: Iterable[tuple[str, ArgTest]], args: Mapping[str, Any]) -> Match:
    found = all(_holds(test, value) for name, test in tests for value in [_value(args, name)])
    return Match.YES if found else Match.NO


_ABSENT: Final = object()


def _value(args: Mapping[str, Any], name: str) -> Any:
    """An argument by its name, or by `a.b` one within another."""
    if name in args:
        return args[name]
    value: Any = args
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return _ABSENT
        value = value[part]
    return value


def _holds(test: ArgTest, value: Any) -> bool:
    match test:
        case Equals(wanted):
            return _equal(value, wanted)
        case OneOf(values):
            return any(_equal(value, wanted) for wanted in values)
        case Glob(pattern):
            items = value if isinstance(value, list | tuple) else (value,)
            return any(isinstance(item, str) and fnmatchcase(item, pattern) for item in items)
        case _:
            assert_never(test)


def _equal(value: Any, wanted: Any) -> bool:
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def _agent(when: When, action: Action) -> Match:
    patterns = (agent.casefold() for agent in when.agents)
    found = not when.agents or any(fnmatchcase(action.agent.casefold(), p) for p in patterns)
    return Match.YES if found else Match.NO


def _branch(when: When, action: Action) -> Match:
    if not when.branches:
        return Match.YES
    branch = action.branch
    if branch is None:
        return Match.MAYBE
    found = any(fnmatchcase(branch, pattern) for pattern in when.branches)
    return Match.YES if found else Match.NO


# --- paths --------------------------------------------------------------------------------------


def spellings(path: str, *, root: str = "", folds_case: bool = False) -> tuple[str, ...]:
    """The root-relative paths that a path may mean; POSIX and Windows read it differently.

    `./tests/../tests/a.py` is `tests/a.py`. What leaves the root begins with `../` or `/`.
    """
    text = unicodedata.normalize("NFC", path).removeprefix("file://")
    windows = text.removeprefix("\\\\?\\").replace("\\", "/")
    bare = "/".join(_windows_name(name) for name in windows.split("/"))
    found = (_relative(one, root, folds_case=folds_case) for one in (text, windows, bare))
    return tuple(dict.fromkeys(one.casefold() if folds_case else one for one in found))


def _windows_name(name: str) -> str:
    """A name as Windows takes it: no stream behind a colon, no dots or blanks at the end."""
    drive = name[:2] if re.match(r"[A-Za-z]:", name) else ""
    return drive + (name[len(drive) :].partition(":")[0].rstrip(" .") or name[len(drive) :])


def _relative(path: str, root: str, *, folds_case: bool) -> str:
    base = posixpath.normpath(root.replace("\\", "/")) if root else ""
    if base and not _DRIVE.match(path):
        path = f"{base}/{path}"
    normal = re.sub(r"^//+", "/", posixpath.normpath(path or "."))
    same = str.casefold if folds_case or ":" in base[:2] else str
    if base and same(f"{normal}/").startswith(same(f"{base}/")):
        return normal[len(base) + 1 :] or "."
    return normal


def _is_among(paths: Paths, path: str, action: Action) -> bool:
    spec = paths.folded if action.folds_case else paths.plain
    found = spellings(path[:_MAX_PATH], root=action.root, folds_case=action.folds_case)
    return any(spec.match_file(one) for one in found)


def _written(paths: Paths, write: Write, action: Action) -> Match:
    if len(write.path) > _MAX_PATH:
        return Match.MAYBE
    if not write.ending and _is_among(paths, write.path, action):
        return Match.YES
    if not write.is_tree:
        return Match.NO
    if _is_among(paths, f"{write.path or '.'}/x{write.ending}", action):
        return Match.YES
    globs = [glob.casefold() if action.folds_case else glob for glob in paths.globs]
    folders = [*_below_root(write.path, action)]
    if any(_meets(glob, folder, write.ending) for glob in globs for folder in folders):
        return Match.MAYBE
    return Match.NO


def _below_root(path: str, action: Action) -> Iterator[list[str]]:
    """The parts of a folder in the repository; none for the root and what holds it."""
    base = action.root.rstrip("/") + "/"
    for folder in spellings(path, root=action.root, folds_case=action.folds_case):
        parts = folder.split("/")
        if folder == "." or set(parts) == {".."} or base.startswith(folder.rstrip("/") + "/"):
            yield []
        elif parts[0] not in {"", ".."}:
            yield parts


def _meets(glob: str, folder: list[str], ending: str) -> bool:
    """Whether a glob may match something below a folder."""
    tail = _WILD.split(glob.replace("]", "*"))[-1]
    if glob.startswith("!") or not (tail.endswith(ending) or ending.endswith(tail)):
        return False
    if not ending and folder and _HAS_SUFFIX.search(folder[-1]):
        return False  # by its look a file
    if "/" not in glob.rstrip("/"):
        return True  # at any depth
    fixed = takewhile(lambda part: not _WILD.search(part), glob.strip("/").split("/"))
    return all(one == other for one, other in zip(folder, fixed, strict=False))
