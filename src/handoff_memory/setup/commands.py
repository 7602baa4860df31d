"""The command lines that stand in clients' files: how the server is started, and how a hook is."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.setup.clients import Shell

NAME: Final = "handoff-memory"
_SCRIPT: Final = f"{NAME}.exe" if sys.platform == "win32" else NAME
_HOOK: Final = re.compile(r"(?:-m handoff_memory|handoff-memory(?:\.exe)?['\"]?) hook ")
# Inside quotes cmd.exe expands %, and PowerShell and Git's sh, which clients use there, $ and `.
_UNQUOTABLE: Final = re.compile(r'["%$`!]')
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_CACHES: Final = re.compile(r"[/\\]uv[/\\](?:cache[/\\])?(?:archive|environments|builds)-v\d+[/\\]")


class Launch(NamedTuple):
    """How a client starts the server."""

    command: str
    args: tuple[str, ...]
    env: dict[str, str]


def launch(python: Path, agent: str, database: Path) -> Launch:
    """How the server of that interpreter is started, by paths that need no PATH.

    Args:
        python: The interpreter that this package is installed for, absolute.
        agent: `AGENT_ID`.
        database: `MEMORY_DB`, absolute. Some clients hand on no environment: both are always set.

    Raises:
        InvalidArgumentError: A path cannot stand in a settings file.
    """
    env = {"AGENT_ID": _written(agent), "MEMORY_DB": _written(str(database))}
    script = python.with_name(_SCRIPT)
    if script.is_file():
        return Launch(_written(str(script)), ("serve",), env)
    return Launch(_written(str(python)), ("-P", "-m", "handoff_memory", "serve"), env)


def hook(
    python: Path,
    event: str,
    *,
    client: str,
    agent: str,
    database: Path,
    dialect: Shell,
) -> str:
    """The command of a hook; its exit status is 0 even where nothing is installed.

    The current folder is a project's: `-P` keeps its modules from being taken for ours.

    Args:
        python: The interpreter that this package is installed for, absolute.
        event: Kind of the event.
        client: Key of the client.
        agent: `AGENT_ID`.
        database: `MEMORY_DB`, absolute.
        dialect: The shell that the client gives it to.

    Raises:
        InvalidArgumentError: A path cannot be quoted for the shells of that system.
    """
    python_word, agent_word, database_word = (
        _quoted(text, dialect) for text in (str(python), agent, str(database))
    )
    words = (
        f"{python_word} -P -m handoff_memory hook {event} --client {client} "
        f"--agent-id {agent_word} --db {database_word}"
    )
    return f"& {words}; exit 0" if dialect == "powershell" else f"{words} || exit 0"


def is_hook(command: Any) -> bool:
    """Whether a command is one that `hook` made, by this or another version."""
    return isinstance(command, str) and bool(_HOOK.search(command))


def lies_in_cache(python: Path) -> bool:
    """Whether an interpreter lies where uvx keeps what it may throw away."""
    return bool(_CACHES.search(str(python)))


def _written(text: str) -> str:
    if _CONTROL.search(text) or not _is_unicode(text):
        raise InvalidArgumentError(
            f"{text!r} holds characters that a settings file cannot",
            way_out="Use a path without control characters, in UTF-8.",
        )
    return text


def _quoted(text: str, dialect: Shell) -> str:
    if dialect == "sh":
        return shlex.quote(_written(text))
    if _UNQUOTABLE.search(text):
        raise InvalidArgumentError(
            f"{text!r} cannot be quoted for the shells of Windows",
            way_out='Use a path without ", %, $, ` and !.',
        )
    return '"' + _written(text).replace("\\", "/") + '"'


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)
