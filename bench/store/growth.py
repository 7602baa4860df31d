"""What a write, a read and a listing cost as the database grows, and the bytes that it takes."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from handoff_memory.core.names import Name
from handoff_memory.services import reading, search
from handoff_memory.store.sqlite import Reader, Writer
from store.figures import Figure
from store.work import LIMITS, SEED, WHO, Facts, fill, operation, source

_SMALL = 1000
_EACH = 40


class Grown:
    """A database of a size, opened once for all rounds."""

    def __init__(self, folder: Path, count: int, *, key: str | None = None) -> None:
        self.count, self.path = count, folder / f"growth-{count}-{key or 'many'}.db"
        self._names = [Name("one", key)] if key else None
        if not self.path.exists():
            fill(self.path, count, key=key)
        self.bytes = self.path.stat().st_size / count
        given = source(self.path, durable=False)
        self._writer = Writer(given, deadline_s=10)
        self._reader = Reader(given, self._writer.watch)
        self._random = random.Random(SEED)
        self._facts = Facts(SEED + count)
        self._next = count

    def write(self) -> None:
        """A version of a record that is there, and every other time a new record."""
        self._next += 1
        name = self._name() if self._next % 2 or self._names else None
        given = self._facts.arguments(self._next)
        if name is not None:
            given |= {"scope": name.scope, "key": name.key}
        one = operation(given)
        self._clocked(lambda: self._writer.write([one], until=time.monotonic() + 10))
        self._writer.tend()

    def read(self) -> None:
        """A record by name."""
        name = self._name()
        self._clocked(lambda: self._reader.read(lambda tx: reading.read(tx, WHO, LIMITS, name)))

    def newest(self) -> None:
        """The 20 newest of a scope."""
        wanted = search.Search(scope=self._name().scope)
        self._clocked(
            lambda: self._reader.read(lambda tx: search.search(tx, WHO, LIMITS, wanted, limit=20))
        )

    def median(self, step: Callable[[], None], count: int) -> float:
        """Median microseconds of the clocked part of a step."""
        self._times: list[float] = []
        for _ in range(count):
            step()
        return statistics.median(self._times) * 1e6

    def close(self) -> None:
        """Close both connections."""
        self._reader.close()
        self._writer.close()

    def _clocked(self, part: Callable[[], object]) -> None:
        began = time.perf_counter()
        part()
        self._times.append(time.perf_counter() - began)

    def _name(self) -> Name:
        if self._names:
            return self._names[0]
        number = self._random.randrange(self.count)
        return Name(f"service/{number // 200}", f"fact-{number}")


def measure(folder: Path, *, sizes: list[int], one_key: int, rounds: int) -> list[Figure]:
    """Each size beside the smallest, in alternating rounds."""
    grown = {"1,000": Grown(folder, _SMALL)}
    grown |= {f"{size:,}": Grown(folder, size) for size in sizes}
    grown[f"{one_key:,} of one key"] = Grown(folder, one_key, key="k")
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds):
        for name, one in grown.items():
            for step in (one.write, one.read, one.newest):
                found = times.setdefault((name, step.__name__), [])
                found.append(one.median(step, _EACH))
    figures = []
    for name, one in list(grown.items())[1:]:
        for step, asked in (("write", 1.5), ("newest", 2.0), ("read", 2.0)):
            ours, small = (statistics.median(times[which, step]) for which in (name, "1,000"))
            is_last = one.count == max(sizes) or "key" in name
            figures.append(
                Figure(
                    *(f"{step} at {name} beside 1,000", ours, small, "us"),
                    asked if is_last else None,
                    at_most=True,
                )
            )
        bare = grown["1,000"].bytes
        figures.append(Figure(f"bytes a version at {name} beside 1,000", one.bytes, bare, "B"))
    for one in grown.values():
        one.close()
    return figures
