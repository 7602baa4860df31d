"""Ways to search the same records: ours, and what memories do that have no ranking of their own."""

from __future__ import annotations

import datetime
import importlib
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from searching.world import DAYS, Report, World, Write, day_of, text_of

from handoff_memory.app import Local, Makers, open_local
from handoff_memory.core import times
from handoff_memory.core.author import Author
from handoff_memory.core.names import Name, parse_name
from handoff_memory.services import memory, outcomes, reading, search
from handoff_memory.settings import Settings
from handoff_memory.store import driver
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Operation
from handoff_memory.store.sqlite import BATCH_LIMIT, Writer

LIMIT: Final = 10
_PATIENCE_S: Final = 600.0
_NOON: Final = datetime.time(12, tzinfo=datetime.UTC)
_WHO: Final = Author("asker", "s_bench")


class Hit(NamedTuple):
    """A version that was found."""

    name: str
    version: int


class Found(NamedTuple):
    """What a query gave, best first, and whether the arm says that all words are in it."""

    hits: list[Hit]
    sure: bool = True


class Arm(Protocol):
    """One way to search."""

    name: str

    def find(self, query: str) -> Found:
        """The best hits of a query."""

    def at(self, hit: Hit, day: int) -> Hit | None:
        """The version of a found record that held on a day; None where the arm cannot tell."""

    def close(self) -> None:
        """Give back what the arm holds."""


class Ours:
    """memory_search as the tool calls it, and memory_read with history for what held on a day."""

    name = "ours"

    def __init__(self, world: World, folder: Path) -> None:
        self._now = _time(DAYS)
        settings = Settings(folder, folder / "bench.db", folder, durable=False)
        source = Source(settings.database, False, self._clock, _zeros)
        writer = Writer(source, deadline_s=_PATIENCE_S)
        for day, events in groupby(world.events, key=lambda event: event.day):
            self._now = _time(day)
            for batch in _batches([_operation(settings, event) for event in events]):
                results = writer.write(batch, until=time.monotonic() + _PATIENCE_S)
                if faults := [found for found in results if isinstance(found, Exception)]:
                    raise faults[0]
                writer.tend()
        writer.close()
        self._now = _time(DAYS) + 11 * 3600 * times.SECOND
        self._local_open = open_local(settings, Makers(clock=self._clock))
        self._local: Local = self._local_open.__enter__()

    def find(self, query: str) -> Found:
        """The best hits of a query."""
        limits, wanted = self._local.settings.limits, search.Search(query)
        reply = self._local.read(lambda tx: search.search(tx, _WHO, limits, wanted, limit=LIMIT))
        hits = [Hit(f"{hit['scope']}/{hit['key']}", hit["version"]) for hit in reply["results"]]
        return Found(hits, reply["match"] == "all")

    def at(self, hit: Hit, day: int) -> Hit | None:
        """The newest version that was written until the end of a day."""
        name, limits = parse_name(hit.name), self._local.settings.limits
        reply = self._local.read(
            lambda tx: reading.history(tx, _WHO, limits, Name(name.scope, name.key), limit=100)
        )
        until = day_of(day + 1).isoformat()
        versions = [found["version"] for found in reply["history"] if found["at"] < until]
        return Hit(hit.name, max(versions)) if versions else None

    def close(self) -> None:
        """Close the database."""
        self._local_open.__exit__(None, None, None)

    def _clock(self) -> int:
        return self._now


class PlainText:
    """An FTS5 table of what is current, as it comes: every word has to match, or any of them."""

    def __init__(self, world: World, joint: str) -> None:
        self.name = f"{joint}-only"
        self._joint = f" {joint} "
        self._rows = _current(world)
        self._conn = driver.connect(":memory:")
        self._conn.execute("CREATE VIRTUAL TABLE notes USING fts5 (text, tokenize='porter')")
        self._conn.executemany(
            "INSERT INTO notes (rowid, text) VALUES (?, ?)",
            ((at, text) for at, (_, text) in enumerate(self._rows)),
        )

    def find(self, query: str) -> Found:
        """The best hits of a query, each of its words quoted."""
        quoted = ['"' + word.replace('"', '""') + '"' for word in query.split()]
        rows = self._conn.execute(
            "SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?",
            (self._joint.join(quoted), LIMIT),
        )
        return Found([self._rows[at][0] for (at,) in rows])

    def at(self, hit: Hit, day: int) -> Hit | None:
        """It keeps no history."""
        del hit, day
        return None

    def close(self) -> None:
        """Close the table."""
        self._conn.close()


class Scan:
    """Like grep over a file of what is current: lines that hold every word, newest first."""

    name = "grep"

    def __init__(self, world: World) -> None:
        self._lines = [(hit, text.casefold()) for hit, text in reversed(_current(world))]

    def find(self, query: str) -> Found:
        """The first lines with every word of a query."""
        terms = query.casefold().split()
        lines = (hit for hit, line in self._lines if all(term in line for term in terms))
        return Found([hit for hit, _ in zip(lines, range(LIMIT), strict=False)])

    def at(self, hit: Hit, day: int) -> Hit | None:
        """It keeps no history."""
        del hit, day
        return None

    def close(self) -> None:
        """Nothing is held."""


class Amfs:
    """The whole-store search of AMFS's SDK on its own filesystem adapter."""

    name = "AMFS"

    def __init__(self, world: World, folder: Path) -> None:
        sdk = importlib.import_module("amfs")
        adapter = importlib.import_module("amfs_filesystem").FilesystemAdapter(folder)
        self._memory: Any = sdk.AgentMemory("asker", adapter=adapter)
        for event in world.events:
            if isinstance(event, Write):
                self._memory.write(event.scope, event.key, event.value, confidence=0.7)
        live = {hit.name: hit.version for hit, _ in _current(world)}
        self._version = live

    def find(self, query: str) -> Found:
        """What the SDK gives for a query."""
        entries: Iterable[Any] = self._memory.search(query=query, limit=LIMIT)
        names = [f"{entry.entity_path}/{entry.key}" for entry in entries]
        return Found([Hit(name, self._version[name]) for name in names])

    def at(self, hit: Hit, day: int) -> Hit | None:
        """Its clock cannot be set, so that half a year of history cannot be told to it."""
        del hit, day
        return None

    def close(self) -> None:
        """Close the store."""
        self._memory.close()


def _current(world: World) -> list[tuple[Hit, str]]:
    """What stands in a store that keeps one text a name and knows no expiry, oldest first."""
    last: dict[str, tuple[Hit, str]] = {}
    for event in world.events:
        if isinstance(event, Write):
            before = last.pop(event.name, None)
            version = before[0].version + 1 if before else 1
            last[event.name] = (Hit(event.name, version), text_of(event))
    return list(last.values())


def _operation(settings: Settings, event: Write | Report) -> Operation[Any]:
    who = Author(event.agent, "s_bench")
    if isinstance(event, Report):
        report = outcomes.draft_outcome(
            settings.limits,
            name=Name(event.scope, event.key),
            outcome=event.outcome,  # type: ignore[arg-type]
        )
        return lambda tx: outcomes.report(tx, who, report)
    draft = memory.draft_record(
        settings.limits,
        scope=event.scope,
        key=event.key,
        value=event.value,
        tags=event.tags,
        source=event.source,
        expires_in=event.expires_days and event.expires_days * 86_400,
    )
    return lambda tx: memory.write(tx, who, draft)


def _batches(operations: Sequence[Operation[Any]]) -> Iterator[Sequence[Operation[Any]]]:
    for at in range(0, len(operations), BATCH_LIMIT):
        yield operations[at : at + BATCH_LIMIT]


def _time(day: int) -> int:
    moment = datetime.datetime.combine(day_of(day), _NOON)
    return round(moment.timestamp()) * times.SECOND


def _zeros(size_bytes: int) -> bytes:
    return bytes(size_bytes)
