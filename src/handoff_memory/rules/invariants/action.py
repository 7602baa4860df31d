"""What the rules are held against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from handoff_memory.core.shell import Taken


class Action(NamedTuple):
    """What an agent is about to do.

    Attributes:
        tool: As the client calls it: `Bash`, `git.commit`, `mcp__git__git_commit`.
        args: The tool's arguments.
        agent: Who acts.
        branch: The repository's branch; None where it is not known.
        writes: Paths that the tool changes; with links resolved and as given, both count.
        reads: Paths that it only reads.
        command: The shell command in it, taken apart.
        root: The repository's folder, absolute.
        folds_case: Whether the file system takes `Tests` and `tests` for one.
    """

    tool: str
    args: Mapping[str, Any] = {}
    agent: str = ""
    branch: str | None = None
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    command: Taken | None = None
    root: str = ""
    folds_case: bool = False
