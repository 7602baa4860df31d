"""The seeded work that every arm does: small facts of many services, and who writes them."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from handoff_memory.app import Makers, now_us
from handoff_memory.core.author import Author
from handoff_memory.services import memory
from handoff_memory.services.limits import Limits
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Operation
from handoff_memory.store.sqlite import BATCH_LIMIT, Writer

SEED = 20261130
WHO = Author("bench", "s_bench", pid=None, host=None)
LIMITS = Limits()
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Facts:
    """Arguments of `memory_write`, the same for everybody who starts from the same seed."""

    def __init__(self, seed: int = SEED) -> None:
        self._random = random.Random(seed)
        lengths = (self._random.randint(2, 10) for _ in range(4000))
        self._words = ["".join(self._random.choices(_LETTERS, k=length)) for length in lengths]

    def value(self) -> dict[str, Any]:
        """A value of about 100 bytes."""
        words = " ".join(self._random.choices(self._words, k=11))
        return {"state": words, "port": self._random.randrange(65536), "ok": True}

    def arguments(self, number: int) -> dict[str, Any]:
        """What writes record `number`; 200 records lie in a scope."""
        return {
            "scope": f"service/{number // 200}",
            "key": f"fact-{number}",
            "value": self.value(),
            "tags": ["bench"],
            "source": "generated",
        }


def operation(given: dict[str, Any]) -> Operation[Any]:
    """The write of those arguments, drafted as the server drafts it."""
    draft = memory.draft_record(LIMITS, **given)
    return lambda tx: memory.write(tx, WHO, draft)


def source(path: Path, *, durable: bool) -> Source:
    """How a database of the bench is opened."""
    makers = Makers()
    return Source(path, durable, now_us, makers.entropy)


def fill(path: Path, count: int, *, first: int = 0, key: str | None = None) -> None:
    """Append versions: of new records, or of the one with that key."""
    facts = Facts(SEED + first)
    writer = Writer(source(path, durable=False), deadline_s=10)
    for start in range(first, first + count, BATCH_LIMIT):
        numbers = range(start, min(start + BATCH_LIMIT, first + count))
        given = [facts.arguments(number) for number in numbers]
        if key is not None:
            given = [{**one, "scope": "one", "key": key} for one in given]
        done = writer.write([operation(one) for one in given], until=time.monotonic() + 60)
        failed = [one for one in done if isinstance(one, Exception)]
        if failed:
            raise failed[0]
        writer.tend()
    writer.close()
