"""Two processes that write to one database in small batches, and say what was acknowledged.

`two_writers.py DATABASE full|relaxed|failing BATCHES`. A line `kept KEY:VERSION …` is written after
each batch. The log is moved into the file all the time, so that it begins anew again and again.

`failing` is `full` where a sync of the log fails now and then: a line `dropped` says when.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

from handoff_memory.app import Makers
from handoff_memory.core.author import Author
from handoff_memory.core.errors import DatabaseIoError
from handoff_memory.services import memory
from handoff_memory.services.limits import Limits
from handoff_memory.services.writing import Reply
from handoff_memory.store import sqlite
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Operation
from stress import worker

NAMES = ("one", "two")
SHARED = "shared"
FORKED: Final = multiprocessing.get_context("fork")
_FAILING_SHARE: Final = 0.1
_PATIENCE_S: Final = 30


class FailingDisk:
    """Where syncs that Python asks for fail, in both processes as the kernel has them fail.

    Each descriptor that was open when something was dropped is told so once, by the first sync that
    returns on it after that. SQLite's own syncs are not told: so nothing may be moved into the file
    between a drop and what the process is told by its own descriptor.
    """

    def __init__(self) -> None:
        self._drops = FORKED.Value("i", 0)
        self._keeps = FORKED.RLock()
        self._all_open = FORKED.Barrier(len(NAMES))

    def keeps(self) -> AbstractContextManager[object]:
        """While that is held, the other process does not drop anything."""
        return self._keeps

    @contextmanager
    def failing(self, chance: random.Random) -> Iterator[None]:
        """Syncs may fail, once every process has opened its descriptor."""
        self._all_open.wait(_PATIENCE_S)
        sync, told = os.fdatasync, 0

        def fdatasync(fd: int) -> None:
            nonlocal told
            if not (chance.random() < _FAILING_SHARE and self._has_dropped()):
                sync(fd)
            drops = self._drops.value
            if drops != told:
                told = drops
                raise OSError(errno.EIO, os.strerror(errno.EIO))

        vars(os).update(fdatasync=fdatasync)
        try:
            yield
        finally:
            vars(os).update(fdatasync=sync)

    def _has_dropped(self) -> bool:
        if not self._keeps.acquire(block=False):
            return False
        try:
            with self._drops.get_lock():  # who asks meanwhile waits, and is told
                worker.say("dropped")
                self._drops.value += 1
        finally:
            self._keeps.release()
        return True


def writing(name: str, key: str, value: str) -> Operation[Reply]:
    draft = memory.draft_record(Limits(), scope=worker.SCOPE, key=key, value=value)
    return lambda tx: memory.write(tx, Author(name, f"s_{name}"), draft)


def write_on(
    database: Path, name: str, batches: int, *, durable: bool, disk: FailingDisk | None
) -> None:
    makers, chance = Makers(), random.Random(name)
    source = Source(database, durable, makers.clock, makers.entropy)
    writer = sqlite.Writer(source, deadline_s=_PATIENCE_S)
    writer.write([], until=time.monotonic() + _PATIENCE_S)  # from here on the log is open
    with disk.failing(random.Random(f"{name} fails")) if disk else nullcontext():
        for number in range(batches):
            keys = [SHARED, *(f"{name}-{number}-{place}" for place in range(chance.randint(0, 2)))]
            value = "x" * chance.choice((20, 20, 20, 2000))
            with suppress(DatabaseIoError) if disk else nullcontext():
                write_batch(writer, [writing(name, key, value) for key in keys])
            if chance.random() < 0.6:
                with disk.keeps() if disk else nullcontext():
                    writer.tend()
            # a log that grows meanwhile does not begin anew
            time.sleep(chance.choice((0, 0, 0.05)))
    writer.close()  # with syncs that work: the last one to close lets SQLite move the log


def write_batch(writer: sqlite.Writer, batch: list[Operation[Reply]]) -> None:
    done = writer.write(batch, until=time.monotonic() + _PATIENCE_S)
    replies = [reply for reply in done if not isinstance(reply, Exception)]
    worker.say("kept", *(f"{reply['key']}:{reply['version']}" for reply in replies))


def main() -> None:
    database, mode, batches = sys.argv[1:]
    vars(sqlite).update(_CHECKPOINT_BYTES=64 << 10, _CHECKPOINT_PAUSE_S=0.0)
    disk = FailingDisk() if mode == "failing" else None
    pair = [
        FORKED.Process(
            target=write_on,
            args=(Path(database), name, int(batches)),
            kwargs={"durable": mode != "relaxed", "disk": disk},
        )
        for name in NAMES
    ]
    for process in pair:
        process.start()
    for process in pair:
        process.join()
    sys.exit(max(abs(process.exitcode or 0) for process in pair))


if __name__ == "__main__":
    main()
