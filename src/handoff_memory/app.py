"""The application: built once from settings, it owns the clock, ids and lifetimes.

Two ways in, over the same operations: `open_app` for an event loop, `open_local` for a command that
runs and ends.
"""

import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from handoff_memory import liveness, workspace
from handoff_memory.core import names
from handoff_memory.core.author import Author
from handoff_memory.core.errors import (
    BusyError,
    CorruptDatabaseError,
    DatabaseMissingError,
    StorageError,
)
from handoff_memory.services.limits import Governing, lines_of, refuse_secret
from handoff_memory.settings import Settings
from handoff_memory.store import driver
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Operation, Row
from handoff_memory.store.sqlite import Reader, Writer

if TYPE_CHECKING:
    from pathlib import Path

    from handoff_memory.bridge import Bridge, Onlookers
    from handoff_memory.rules.invariants import Book
    from handoff_memory.services.verify import Progress
    from handoff_memory.services.writing import Reply

T = TypeVar("T")

UNNAMED: Final = "unnamed-agent"
_ELSEWHERE_ALIVE_US: Final = 600_000_000  # another machine's process cannot be asked


def now_us() -> int:
    """Microseconds since 1970 UTC."""
    return time.time_ns() // 1000


def new_session() -> str:
    """A session id of our own, for a host that gives none."""
    return f"s_{uuid.uuid4().hex[:12]}"


class Makers(NamedTuple):
    """Where time and chance come from; tests bring their own."""

    clock: Callable[[], int] = now_us
    entropy: Callable[[int], bytes] = os.urandom
    session: Callable[[], str] = new_session


class Identity:
    """Who this process is, for each agent name that it speaks for."""

    def __init__(self, settings: Settings, makers: Makers) -> None:
        self._settings = settings
        self.session = settings.session or makers.session()
        self._authors: dict[str | None, Author] = {}

    @cached_property
    def project(self) -> str:
        """The project inside the home database; the empty string in any other."""
        if self._settings.project is not None:
            return self._settings.project
        if not self._settings.in_home_database:
            return ""
        return workspace.project(self._settings.folder)

    def author(self, announced: str | None = None) -> Author:
        """The author of a call: `AGENT_ID`, else the name that the client announces.

        Raises:
            InvalidNameError: That name is no agent id.
            SecretRefusedError: It looks like a secret.
        """
        if announced not in self._authors:
            agent = self._settings.agent or names.agent_id(announced or UNNAMED)
            refuse_secret(self._settings.limits, "agent id", agent)
            author = Author(agent, self.session, self.project, pid=os.getpid(), host=liveness.HOST)
            self._authors = {announced: author}  # one process speaks for one client
        return self._authors[announced]


class App:
    """The memory, as a surface on an event loop uses it."""

    def __init__(self, settings: Settings, makers: Makers, bridge: "Bridge") -> None:
        self.settings = settings
        self.identity = Identity(settings, makers)
        self._bridge = bridge

    async def write(self, operation: Operation[T]) -> T:
        """Run an operation in a write transaction; durable when this returns."""
        return await self._bridge.write(operation)

    async def read(self, operation: Operation[T]) -> T:
        """Run an operation on a snapshot."""
        return await self._bridge.read(operation)

    async def open(self) -> None:
        """Open the database ahead of the first call; its errors are left to that call."""
        with suppress(StorageError):
            await self._bridge.open()

    async def verify(self) -> "Reply":
        """The report of `services.verify`, also where the file itself is damaged."""
        from handoff_memory.services import verify  # noqa: PLC0415 - hooks verify nothing
        from handoff_memory.store import health  # noqa: PLC0415

        try:
            report = await self.read(verify.verify)
            if not driver.CHECKS_FULL_TEXT:
                await self.write(health.check_full_text)
        except CorruptDatabaseError as fault:
            return verify.damaged(fault)
        return report

    @property
    def failed_writes(self) -> int:
        """How many writes of this process the database refused."""
        return self._bridge.failed_writes

    async def close(self) -> None:
        """Finish what was accepted and close."""
        await self._bridge.close()


@asynccontextmanager
async def open_app(settings: Settings, makers: Makers | None = None) -> AsyncIterator[App]:
    """The application on this event loop; the database is opened by the first call."""
    from handoff_memory.bridge import Bridge  # noqa: PLC0415 - a command needs no asyncio: 0.1 s

    makers = makers or Makers()
    source = Source(settings.database, settings.durable, makers.clock, makers.entropy)
    app = App(settings, makers, Bridge(source, deadline_s=settings.deadline_s))
    try:
        yield app
    finally:
        await app.close()


class View:
    """The memory, as a surface that only looks uses it; nothing here can write."""

    def __init__(self, settings: Settings, makers: Makers, onlookers: "Onlookers") -> None:
        self.settings = settings
        self.identity = Identity(settings, makers)
        self.now = makers.clock
        self._onlookers = onlookers

    async def read(self, operation: Operation[T]) -> T:
        """Run an operation on a snapshot of a database that exists.

        Raises:
            StorageError: There is none, or it cannot serve.
        """
        _require(self.settings.database)
        return await self._onlookers.read(operation)

    async def read_apart(self, operation: Operation[T]) -> T:
        """Run an operation that takes long, in nobody's way."""
        _require(self.settings.database)
        return await self._onlookers.read_apart(operation)

    async def verify(self, progress: "Progress") -> "Reply":
        """The report of `services.verify`, also where the file itself is damaged.

        A SQLite whose own check leaves out the full-text index would have to write to look at it.
        """
        from handoff_memory.services import verify  # noqa: PLC0415 - as above

        try:
            return await self.read_apart(lambda tx: verify.verify(tx, progress=progress))
        except CorruptDatabaseError as fault:
            return verify.damaged(fault)


@asynccontextmanager
async def open_view(settings: Settings, makers: Makers | None = None) -> AsyncIterator[View]:
    """The memory to look at, on this event loop; opened by the first call that can."""
    from handoff_memory.bridge import Onlookers  # noqa: PLC0415 - as above

    makers = makers or Makers()
    source = Source(settings.database, settings.durable, makers.clock, makers.entropy)
    onlookers = Onlookers(source._replace(looks_only=True))
    try:
        yield View(settings, makers, onlookers)
    finally:
        await onlookers.close()


class Local:
    """The memory, as a command that runs and ends uses it."""

    def __init__(self, settings: Settings, makers: Makers) -> None:
        self.settings = settings
        self.identity = Identity(settings, makers)
        self._source = Source(settings.database, settings.durable, makers.clock, makers.entropy)
        self._writer: Writer | None = None
        self._reader: Reader | None = None

    def write(self, operation: Operation[T]) -> T:
        """Run an operation in a write transaction, making the database where there is none."""
        writer = self._opened_writer()
        until = time.monotonic() + self.settings.deadline_s
        (result,) = writer.write([operation], until=until)
        if isinstance(result, Exception):
            raise result
        return result

    def now(self) -> int:
        """Microseconds since 1970 UTC."""
        return self._source.clock()

    def read(self, operation: Operation[T]) -> T:
        """Run an operation on a snapshot of a database that exists.

        Raises:
            DatabaseMissingError: There is none at that place.
        """
        # What the writer has just written is at hand there; a reader would fetch it anew.
        return (self._writer or self._reader or self._opened()).read(operation)

    def verify(self, progress: "Progress") -> "Reply":
        """The report of `services.verify`, also where the file itself is damaged.

        A head that is found good is remembered for `verify_since`.
        """
        from handoff_memory import verification  # noqa: PLC0415 - hooks verify nothing
        from handoff_memory.services import verify  # noqa: PLC0415
        from handoff_memory.store import health, journal  # noqa: PLC0415

        try:
            total = self.read(lambda tx: journal.head(tx).seq)
            report = verification.whole(self._source, self.read, total, progress=progress)
            if not driver.CHECKS_FULL_TEXT:
                self.write(health.check_full_text)
        except CorruptDatabaseError as fault:
            return verify.damaged(fault)
        self._mark_good(report)
        return report

    def verify_since(self, given: str) -> "Reply":
        """The report of `services.verify_since` from a head on: `last`, or `SEQ:CHAIN`.

        Raises:
            InvalidArgumentError: It is neither, or no head was found good so far.
        """
        from handoff_memory.services import verify, verify_since  # noqa: PLC0415

        try:
            report = self.read(lambda tx: verify_since.verify(tx, verify_since.marked(tx, given)))
        except CorruptDatabaseError as fault:
            return verify.damaged(fault)
        self._mark_good(report)
        return report

    def _mark_good(self, report: "Reply") -> None:
        from handoff_memory.services import verify_since  # noqa: PLC0415

        if report["ok"]:
            with suppress(StorageError, BusyError):  # read-only, say: the report stands without it
                self.write(lambda tx: verify_since.mark(tx, report["head"]))

    def close(self) -> None:
        """Close what was opened."""
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()

    def _opened(self) -> Reader | Writer:
        _require(self.settings.database)
        reader = Reader(self._source)
        if reader.is_current:
            self._reader = reader
            return reader
        reader.close()
        return self._opened_writer()

    def _opened_writer(self) -> Writer:
        if self._writer is None:
            self._writer = Writer(self._source, deadline_s=self.settings.deadline_s)
        return self._writer


@contextmanager
def open_local(settings: Settings, makers: Makers | None = None) -> Iterator[Local]:
    """The application for one command; nothing is opened before it is needed."""
    local = Local(settings, makers or Makers())
    try:
        yield local
    finally:
        local.close()


def _require(database: "Path") -> None:
    if not os.path.lexists(database):
        raise DatabaseMissingError(
            f"there is no database at {database}",
            way_out="Set MEMORY_DB to the agents' file; the first write makes one.",
        )


def is_dead(session: Row) -> bool:
    """Whether the session in a row is known to be gone."""
    if session["ended_at"] is not None:
        return True
    here = session["host"] == liveness.HOST and session["pid"] is not None
    return here and not liveness.is_running(session["pid"])


def is_alive(session: Row) -> bool:
    """Whether the session in a row is there, as far as can be told."""
    if session["host"] == liveness.HOST and session["pid"] is not None:
        return liveness.is_running(session["pid"])
    return bool(now_us() - session["seen_at"] < _ELSEWHERE_ALIVE_US)


def governing(settings: Settings, book: "Book") -> Governing:
    """What the governor goes by, from settings and the rules in force."""
    return Governing(
        limits=settings.limits,
        rules=lines_of(book.rules),
        cache_ttl_s=settings.cache_ttl_s,
        prune_threshold_tokens=settings.prune_threshold_tokens,
        prune_mode=settings.prune_mode,
    )


def storage_facts(settings: Settings) -> dict[str, Any]:
    """How the database is kept: file, durability, and which SQLite serves it."""
    facts: dict[str, Any] = {
        "database": str(settings.database),
        "durability": "full" if settings.durable else "relaxed",
        "sqlite": driver.VERSION,
    }
    for suffix in ("", "-wal"):
        with suppress(OSError):
            size = settings.database.with_name(settings.database.name + suffix).stat().st_size
            facts["bytes" if not suffix else "wal_bytes"] = size
    if driver.WAL_RESET_BUG:
        facts["note"] = (
            f"SQLite {driver.VERSION} has the WAL-reset bug; commits and checkpoints exclude each "
            "other to avoid it. Install pysqlite3>=0.6.1 for a newer one."
        )
    return facts
