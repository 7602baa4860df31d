"""`doctor`: whether this installation is fit, line by line, with what to do where it is not."""

from __future__ import annotations

import os
import platform
import shlex
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from handoff_memory import __version__
from handoff_memory.app import is_alive
from handoff_memory.cli import clients, output
from handoff_memory.cli import rendering as r
from handoff_memory.cli.check import Check, lines
from handoff_memory.cli.command import Call, verb
from handoff_memory.core.errors import DatabaseMissingError, MemoryFault
from handoff_memory.services import checkup
from handoff_memory.services.writing import Reply
from handoff_memory.settings import Settings


@verb("doctor", examples=("handoff-memory doctor", "handoff-memory doctor --db shared.db --json"))
def doctor(call: Call) -> int:
    """Check SQLite, the database file, the settings, and each client that is installed here.

    A client's hooks are `enforced` once they denied a canary, sent through the very command that
    stands in its settings; else they are `advisory`. Exit status 1 where there is a problem.
    """
    path = call.memory.settings.database
    checks = [
        Check("program", "ok", f"{__version__}, Python {platform.python_version()}"),
        *_library(),
        _filesystem(path),
        *_file(path),
        *_database(call),
        *_settings(call),
        *clients.checks(call),
    ]
    ok = all(check.status != "problem" for check in checks)
    if call.as_json:
        output.print_json({"ok": ok, "checks": [check._asdict() for check in checks]})
    else:
        output.print_lines(lines(checks))
    return 0 if ok else 1


def _library() -> Iterator[Check]:
    found = checkup.library()
    version = f"{found['version']} {found['origin']}"
    if found["wal_reset_bug"]:
        yield Check(
            "sqlite",
            "note",
            f"{version} has the WAL-reset bug; commits and checkpoints exclude each other",
            "Install pysqlite3>=0.6.1 for a newer one.",
        )
    else:
        yield Check("sqlite", "ok", f"{version}, without the WAL-reset bug")
    if found["unsuitable"]:
        advice = "Install pysqlite3>=0.6.1, or another Python."
        yield Check("full text", "problem", found["unsuitable"], advice)
    else:
        yield Check("full text", "ok", "FTS5 and STRICT tables are there")


def _filesystem(path: Path) -> Check:
    found = checkup.filesystem(path)
    if found["network"]:
        elsewhere = "Set MEMORY_DB to a path on a local disk."
        return Check("file system", "problem", f"{found['type']} loses writes", elsewhere)
    if found["type"] is None:
        return Check("file system", "note", "its type cannot be told; it must be a local disk")
    return Check("file system", "ok", found["type"])


def _file(path: Path) -> Iterator[Check]:
    try:
        found = path.lstat()
    except OSError as error:
        yield Check("file", "note", f"{path}: {error.strerror}", "The first write makes it.")
        yield from _folder(path)
        return
    if not stat.S_ISREG(found.st_mode):
        advice = "Set MEMORY_DB to a regular file of its own."
        yield Check("file", "problem", f"{path} is no regular file", advice)
        return
    yield Check("file", "ok", f"{path}, {r.size(found.st_size)}")
    yield from _folder(path)


def _folder(path: Path) -> Iterator[Check]:
    folder = next((parent for parent in path.parents if parent.exists()), path.anchor)
    if not os.access(folder, os.W_OK | os.X_OK):
        advice = "Correct its permissions, or set MEMORY_DB elsewhere."
        yield Check("folder", "problem", f"{folder} cannot be written by this user", advice)
    elif path.exists() and not os.access(path, os.R_OK | os.W_OK):
        advice = "Run as its owner, or correct its permissions."
        yield Check("folder", "problem", f"{path} cannot be written by this user", advice)
    else:
        yield Check("folder", "ok", f"{folder} can be written")


def _database(call: Call) -> Iterator[Check]:
    try:
        found = call.memory.read(lambda tx: checkup.database(tx, is_alive))
    except DatabaseMissingError:
        return
    except MemoryFault as fault:
        yield Check("database", "problem", fault.message, fault.next_step)
        return
    head = found["head"]
    yield Check("chain head", "ok", f"seq {head['seq']} {head['chain']}")
    if sys.platform != "win32":
        yield _mode(call.memory.settings.database)
    problems = found["schema_problems"]
    for what in problems:
        yield Check("schema", "problem", what, "Run memory_stats --verify, restore a backup.")
    if not problems:
        yield Check("schema", "ok", f"database {found['id']}")
    yield Check("alive", "ok", _alive(found["alive"]))


def _mode(path: Path) -> Check:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        said = f"{mode:04o}: others may read or write the file"
        return Check("mode", "problem", said, f"Run: chmod 600 {shlex.quote(str(path))}")
    return Check("mode", "ok", f"{mode:04o}")


def _alive(sessions: list[Reply]) -> str:
    said = (f"{row['agent']} (pid {row['pid']}, {r.age(row['seen'])})" for row in sessions)
    return ", ".join(said) or "nobody else"


def _settings(call: Call) -> Iterator[Check]:
    settings: Settings = call.memory.settings
    yield Check("agent", "ok", call.who.agent)
    project = call.who.project or "one for all: not the home database"
    yield Check("project", "ok", project)
    if settings.durable:
        yield Check("durability", "ok", "full")
    else:
        said = "relaxed: a power cut may lose the newest writes"
        yield Check("durability", "note", said, "Unset MEMORY_DURABILITY for full.")
    limits = settings.limits
    sizes = f"value {r.size(limits.value_bytes)}, reply {r.size(limits.reply_bytes)}"
    yield Check("limits", "ok", f"{sizes}, lease {limits.lease_s} s, wait {settings.deadline_s} s")
    if limits.allowed:
        said = f"{r.counted(len(limits.allowed), 'line')} in not-secret.txt are never redacted"
        yield Check("redaction", "note", said)
