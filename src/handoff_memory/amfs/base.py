"""What every part of the adapter stands on: the database, names, authors, and catching up."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar

from amfs_core.abc import WatchHandle
from amfs_core.pagination import decode_cursor
from pydantic import BaseModel

from handoff_memory import liveness
from handoff_memory.amfs.connections import Connections, promised
from handoff_memory.amfs.entries import microseconds
from handoff_memory.amfs.events import happening
from handoff_memory.amfs.tallies import Tallies
from handoff_memory.app import Identity, Makers
from handoff_memory.core import canonical, names
from handoff_memory.core.author import Author
from handoff_memory.core.errors import StorageError
from handoff_memory.services import amfs as service
from handoff_memory.services.limits import refuse_secret
from handoff_memory.settings import read_settings
from handoff_memory.store import amfs as rows
from handoff_memory.store.amfs import EntryName, Place, Window
from handoff_memory.store.engine import Row, Tx

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

_REMEMBERED: Final = 16_384  # names: some 6 MB


class Base:
    """One adapter's way into a database; nothing is opened before it is needed."""

    def __init__(
        self,
        database: Path | str | None = None,
        *,
        namespace: str = service.NAMESPACE,
        durability: str | None = None,
        makers: Makers | None = None,
    ) -> None:
        """Read the settings.

        Args:
            database: The file; `MEMORY_DB`, or the home database, where None.
            namespace: The SDK's; only the default one is the shared memory's.
            durability: `full` or `relaxed`; `MEMORY_DURABILITY` where None.
            makers: Where time and chance come from.

        Raises:
            AdapterError: A setting has a value that it cannot have.
        """
        flags = {"MEMORY_DB": database, "MEMORY_DURABILITY": durability}
        with promised():
            settings = read_settings(flags={k: str(v) for k, v in flags.items() if v is not None})
            self._makers = makers or Makers()
            identity = Identity(settings, self._makers)
            project = identity.project
        limits = settings.limits
        self._limits = limits
        self._namespace = namespace
        self._project = project
        self._connections = Connections(settings, self._makers)
        self._ids = self._makers.entropy(12).hex()
        self._numbers = itertools.count(1)
        self._watches: weakref.WeakSet[WatchHandle] = weakref.WeakSet()

        # Checking a name and an agent id for secrets costs more than reading the entry.
        @lru_cache(_REMEMBERED)
        def name(path: str, key: str, branch: str) -> EntryName:
            return service.entry_name(limits, Place(project, namespace, branch), path, key)

        @lru_cache(_REMEMBERED)
        def author(agent: str, session: str | None) -> Author:
            checked = names.agent_id(agent)
            refuse_secret(limits, "agent id", checked)
            session = session or identity.session
            return Author(checked, session, project, pid=os.getpid(), host=liveness.HOST)

        self._name = name
        self._author = author
        # Not a method of this adapter, which could then not be collected while it has events.
        told = partial(happening, limits, project, name)
        self._tallies = Tallies(self._connections, told)
        self._end = weakref.finalize(self, end, self._tallies, self._connections)

    def _place(self, branch: str = service.BRANCH, namespace: str | None = None) -> Place:
        return Place(self._project, namespace or self._namespace, branch)

    def _read(self, operation: Callable[[Tx], T], *, is_one_query: bool = False) -> T:
        """Run an operation on a snapshot that shows what agents of the shared memory wrote.

        Args:
            operation: What to read.
            is_one_query: Whether it is a single query, that finds out itself whether it is behind.
        """

        def unless_behind(tx: Tx) -> T:
            if rows.is_behind(tx):
                raise rows.BehindError
            return operation(tx)

        def caught_up(tx: Tx) -> T:
            service.catch_up(tx)
            return operation(tx)

        read = operation if is_one_query else unless_behind
        try:
            return self._connections.read(read, is_one_query=is_one_query)
        except rows.BehindError:
            if is_one_query:  # it would ask again, and others may have written meanwhile
                return self._connections.write(caught_up)
            self._connections.write(service.catch_up)
            return self._connections.read(operation)

    def _keep(  # noqa: PLR0913, PLR0917 - one argument a part of the document
        self,
        tx: Tx,
        who: Author,
        place: Place,
        kind: str,
        name: str,
        at: datetime,
        fields: dict[str, Any],
    ) -> None:
        refuse_secret(self._limits, f"name of the {kind}", name)
        body = service.document_body(self._limits, fields)
        service.keep(tx, who, place, kind, name, stamp=microseconds(at), body=body)

    def _minted(self) -> str:
        """An id that nobody else has: drawn once for this adapter, and counted on."""
        return f"{self._ids}{next(self._numbers):08x}"


def end(tallies: Tallies, connections: Connections) -> None:
    """Write what was gathered, and close."""
    with suppress(StorageError):  # it was only counted, and nobody is left to be told
        tallies.flush()
    connections.close()


def model(kind: type[M], body: bytes) -> M:
    """The SDK's object in a row."""
    return kind.model_validate(canonical.decode(body))


def first(kind: type[M], found: Sequence[Row]) -> M | None:
    """The SDK's object in the first row, if there is one."""
    return model(kind, found[0]["body"]) if found else None


def window(
    *, since: datetime | None = None, until: datetime | None = None, cursor: str | None = None
) -> Window:
    """Bounds of the SDK as bounds of a query.

    Raises:
        InvalidCursorError: The SDK's: the cursor is none of its own.
    """
    before, name = decode_cursor(cursor) if cursor else (None, None)
    return Window(_column(since), _column(until), _column(before), name)


def _column(time: datetime | None) -> int | None:
    return None if time is None else microseconds(time)
