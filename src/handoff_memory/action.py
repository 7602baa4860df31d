"""What a project's rules are held against: a call with its paths spelled out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handoff_memory.core import calls
from handoff_memory.core.author import Author

if TYPE_CHECKING:
    from handoff_memory.rules import invariants
    from handoff_memory.services.observing import Seen


def action_of(
    folder: Path,
    who: Author,
    tool: str,
    args: Mapping[str, Any],
    seen: Seen,
    book: invariants.Book,
) -> invariants.Action:
    """What rules are held against: a call with its paths spelled out, and the branch if one asks.

    Args:
        folder: Of the project, absolute.
        who: Who acts.
        tool: What is called.
        args: Its arguments without secrets: a verdict repeats what it matched.
        seen: The same call by its signatures.
        book: The rules; without any, nothing is looked up.
    """
    from handoff_memory.rules import invariants  # noqa: PLC0415 - brings globs and TOML

    if not book.rules:
        return invariants.Action(tool=tool)
    named = calls.paths_of(args)
    commands = seen.command.commands if seen.command else ()
    redirected = [write.path for command in commands for write in command.writes]
    reads = calls.only_reads(tool)
    root = str(folder)
    return invariants.Action(
        tool=tool,
        args=args,
        agent=who.agent,
        branch=_branch(folder) if any(rule.when.branches for rule in book.rules) else None,
        writes=_spelled(root, redirected if reads else [*named, *redirected]),
        reads=_spelled(root, named) if reads else (),
        command=seen.command,
        root=root,
        folds_case=sys.platform in {"win32", "darwin"},
    )


def _branch(folder: Path) -> str | None:
    from handoff_memory import workspace  # noqa: PLC0415 - starts git: only where a rule asks

    here = workspace.state(folder)
    return None if here is None else here["branch"]


def _spelled(root: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Each path as it was given, and where it leads once links are followed."""
    found: list[str] = []
    for path in paths:
        found.append(path)
        with suppress(OSError, ValueError, RuntimeError):  # too long, a NUL, a loop of links
            found.append(str(Path(root, path.removeprefix("file://")).resolve()))
    return tuple(found)
