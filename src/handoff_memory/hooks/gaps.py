"""What hooks let pass unwatched while they could not write, kept until one can.

A line a gap in `gaps.jsonl` of the home folder, so that a database that is locked or a disk that
was full for a while leaves a trace in the journal all the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

NAME: Final = "gaps.jsonl"
_MAX_BYTES: Final = 64 << 10
_MAX_CHARS: Final = 500
_AT_ONCE: Final = 16  # each is a transaction, and a client waits


def note(home: Path, database: Path | None, agent: str | None, text: str) -> None:
    """Keep a gap; where that fails too, or too many wait already, it is lost.

    Args:
        home: The home folder.
        database: Where it is to be journaled; None where the settings could not be read.
        agent: Whose it is; None likewise.
        text: What went by, and why.
    """
    line = {
        "database": None if database is None else str(database),
        "agent": agent,
        "text": text[:_MAX_CHARS],
    }
    with suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        _append(home / NAME, orjson.dumps(line) + b"\n")


def settle(home: Path, database: Path, agent: str, journal: Callable[[str], None]) -> None:
    """Journal the gaps of this database and agent; what another waits for stays.

    Only one process takes the file, by its name, so no gap is journaled twice.
    """
    taken = home / f"{NAME}.{os.getpid()}"
    try:
        os.replace(home / NAME, taken)  # noqa: PTH105 - spares the hot path a Path
    except OSError:
        return
    left = taken.read_bytes()[:_MAX_BYTES].splitlines(keepends=True)
    ours = {"database": str(database), "agent": agent}
    try:
        for line in left[:_AT_ONCE]:
            gap = _gap(line)
            if all(gap.get(name) in {None, value} for name, value in ours.items()):
                journal(gap["text"])
            else:
                left.append(line)  # behind what was not looked at
            left.pop(0)
    finally:
        if left:
            _append(home / NAME, b"".join(left))
        taken.unlink()


def _append(path: Path, line: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        if os.fstat(descriptor).st_size < _MAX_BYTES:
            os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _gap(line: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        found = None
    if isinstance(found, dict) and isinstance(found.get("text"), str):
        return found
    return {"text": "a gap whose note was damaged"}
