"""A verification in two threads, and a second process where that pays.

What is asked of SQLite shares nothing with the walk over hashes and chain, and SQLite answers
without the interpreter's lock: a thread asks it meanwhile. Python checks hashes on one core at a
time, and threads gain nothing for small rows there (measured: 0.7 times). So for many lines a
second process walks the first half of them. Each has a snapshot of its own: lines never change,
and what is asked of caches holds on any snapshot.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Final, TypeVar

from handoff_memory.core.errors import MemoryFault
from handoff_memory.services import verify
from handoff_memory.services.verify import Asked, Progress
from handoff_memory.services.verify_rows import Walked
from handoff_memory.services.writing import Reply
from handoff_memory.store import sealed
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Operation, Tx
from handoff_memory.store.sqlite import Reader

Read = Callable[[Operation[Reply]], Reply]

PAYS_FROM: Final = 30_000  # lines: below, starting a process takes longer than it saves
_SHARE: Final = 0.5  # of the lines, for the second process

_Found = TypeVar("_Found")


def whole(source: Source, read: Read, total: int, *, progress: Progress) -> Reply:
    """The report of `services.verify`, made by two processes if there are lines and cores for it.

    Args:
        source: What it takes to open the database a second time.
        read: Runs an operation on a snapshot of it.
        total: How many lines there are.
        progress: Told how many of how many journal lines are checked.
    """
    if total < PAYS_FROM or (os.cpu_count() or 1) < 2:
        return in_one(source, read, progress=progress)
    return in_two(source, read, total, progress=progress)


def in_one(
    source: Source,
    read: Read,
    *,
    progress: Progress = lambda done, total: None,
    upto: int = 0,
    first: Callable[[Tx, int], Walked] = verify.first_lines,
) -> Reply:
    """The report made by one process, in two threads; see `services.verify` for `upto`, `first`."""
    with ThreadPoolExecutor(1) as pool:
        answers = pool.submit(_ask, source.path)
        return read(
            lambda tx: verify.verify(
                tx,
                progress=progress,
                upto=upto,
                first=first,
                asked=lambda tx: _found(answers) or verify.ask(tx),
            )
        )


def in_two(
    source: Source, read: Read, total: int, *, progress: Progress = lambda done, total: None
) -> Reply:
    """The report made by two processes; by one if the second fails."""
    upto = read(lambda tx: {"seq": sealed.last_upto(tx, int(total * _SHARE))})["seq"]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        walked = pool.submit(_walk, source.path, upto)

        def first(tx: Tx, upto: int) -> Walked:
            return _found(walked) or verify.first_lines(tx, upto)

        return in_one(source, read, progress=progress, upto=upto, first=first)


def _ask(path: Path) -> Asked | None:
    return _read(path, verify.ask)


def _walk(path: Path, upto: int) -> Walked | None:
    return _read(path, lambda tx: verify.first_lines(tx, upto))


def _read(path: Path, operation: Operation[_Found]) -> _Found | None:
    """What is found on a connection of this thread's own, on a snapshot of its own."""
    try:
        reader = Reader(Source(path, True, lambda: 0, os.urandom))
        try:
            return reader.read(operation)
        finally:
            reader.close()
    except MemoryFault:
        return None  # whoever waits for this meets it, too, and reports it


def _found(future: Future[_Found | None]) -> _Found | None:
    try:
        return future.result()
    except BrokenProcessPool:
        return None
