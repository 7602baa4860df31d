"""A verification in two threads, or two processes where that pays.

What is asked of SQLite shares nothing with the walk over hashes and chain, and SQLite answers
without the interpreter's lock: a thread asks it meanwhile. Python checks hashes on one core at a
time, and threads gain nothing for small rows there (measured: 0.7 times). So for many lines a
second process asks, and walks the first lines as well. Both have a snapshot of their own: lines
never change, and what is asked of caches holds on any snapshot.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from handoff_memory.core.errors import MemoryFault
from handoff_memory.services import verify
from handoff_memory.services.verify import Aside, Progress
from handoff_memory.services.writing import Reply
from handoff_memory.store import sealed
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Operation, Tx
from handoff_memory.store.sqlite import Reader

Read = Callable[[Operation[Reply]], Reply]

PAYS_FROM: Final = 30_000  # lines: below, starting a process takes longer than it saves
_SHARE: Final = 0.2  # so much of the walk beside what is asked takes as long as the rest


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


def in_one(source: Source, read: Read, *, progress: Progress = lambda done, total: None) -> Reply:
    """The report made by one process, in two threads."""
    with ThreadPoolExecutor(1) as pool:
        return _report(pool, source, read, 0, progress)


def in_two(
    source: Source, read: Read, total: int, *, progress: Progress = lambda done, total: None
) -> Reply:
    """The report made by two processes; by one if the second fails."""
    upto = read(lambda tx: {"seq": sealed.last_upto(tx, int(total * _SHARE))})["seq"]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return _report(pool, source, read, upto, progress)


def _report(pool: Executor, source: Source, read: Read, upto: int, progress: Progress) -> Reply:
    other = pool.submit(_beside, source.path, upto)

    def aside(tx: Tx) -> Aside:
        try:
            found = other.result()
        except BrokenProcessPool:
            found = None
        return found or verify.beside(tx, upto)

    return read(lambda tx: verify.verify(tx, progress=progress, upto=upto, aside=aside))


def _beside(path: Path, upto: int) -> Aside | None:
    try:
        reader = Reader(Source(path, True, lambda: 0, os.urandom))
        try:
            return reader.read(lambda tx: verify.beside(tx, upto))
        finally:
            reader.close()
    except MemoryFault:
        return None  # the first process meets it, too, and reports it
