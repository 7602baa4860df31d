"""Two processes that write to one database in small batches, and say what was acknowledged.

`two_writers.py DATABASE full|relaxed BATCHES`. A line `kept KEY:VERSION …` is written after each
batch. The log is moved into the file all the time, so that it begins anew again and again.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
import time
from pathlib import Path

from handoff_memory.app import Makers
from handoff_memory.core.author import Author
from handoff_memory.services import memory
from handoff_memory.services.limits import Limits
from handoff_memory.services.writing import Reply
from handoff_memory.store import sqlite
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Operation
from stress import worker

NAMES = ("one", "two")
SHARED = "shared"


def writing(name: str, key: str, value: str) -> Operation[Reply]:
    draft = memory.draft_record(Limits(), scope=worker.SCOPE, key=key, value=value)
    return lambda tx: memory.write(tx, Author(name, f"s_{name}"), draft)


def write_on(database: Path, name: str, batches: int, *, durable: bool) -> None:
    makers, chance = Makers(), random.Random(name)
    source = Source(database, durable, makers.clock, makers.entropy)
    writer = sqlite.Writer(source, deadline_s=30)
    for number in range(batches):
        keys = [SHARED, *(f"{name}-{number}-{place}" for place in range(chance.randint(0, 2)))]
        value = "x" * chance.choice((20, 20, 20, 2000))
        done = writer.write(
            [writing(name, key, value) for key in keys], until=time.monotonic() + 30
        )
        replies = [reply for reply in done if not isinstance(reply, Exception)]
        worker.say("kept", *(f"{reply['key']}:{reply['version']}" for reply in replies))
        if chance.random() < 0.6:
            writer.tend()
        time.sleep(chance.choice((0, 0, 0.05)))  # a log that grows meanwhile does not begin anew
    writer.close()


def main() -> None:
    database, mode, batches = sys.argv[1:]
    vars(sqlite).update(_CHECKPOINT_BYTES=64 << 10, _CHECKPOINT_PAUSE_S=0.0)
    forked = multiprocessing.get_context("fork")
    pair = [
        forked.Process(
            target=write_on,
            args=(Path(database), name, int(batches)),
            kwargs={"durable": mode == "full"},
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
