"""What reading leaves behind: recall counts and the timeline, gathered and written a little later.

The SDK reports every read twice, as a recall and as an event. Neither is a fact that an agent
could be misled by, so they are not worth a transaction each: they are written together once none
came for `_QUIET_S`, at the latest `_LATEST_S` after the first, and before the timeline is read. A
process that is killed loses that much of them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from typing import Final

from amfs_core.models import Event

from handoff_memory.amfs.connections import Connections
from handoff_memory.core.errors import InputError, StorageError
from handoff_memory.store import amfs
from handoff_memory.store.amfs import EntryName, Happening

_QUIET_S: Final = 0.2
_LATEST_S: Final = 2.0
_PATIENCE_S: Final = 0.1
_LAST_PATIENCE_S: Final = 5.0

logger = logging.getLogger(__name__)


class Tallies:
    """Recalls and events of one adapter that are not in the database yet.

    Attributes:
        lock: Who holds it sees `recalls` as what is to be added to any snapshot taken meanwhile.
        recalls: How often entries were read, beside what the database says.
    """

    def __init__(self, connections: Connections, happening: Callable[[Event], Happening]) -> None:
        """Nothing is gathered yet.

        Args:
            connections: Where to.
            happening: The row of an event.
        """
        self._connections = connections
        self._happening = happening
        self.lock = threading.RLock()
        self.recalls: Counter[EntryName] = Counter()
        self._events: list[Event] = []
        self._is_ticking = False

    def recall(self, name: EntryName) -> None:
        """Count a read of an entry."""
        with self.lock:
            self.recalls[name] += 1
        self._tick()

    def happened(self, event: Event) -> None:
        """Keep an event."""
        with self.lock:
            self._events.append(event)
        self._tick()

    @contextmanager
    def taken(self, names: Set[EntryName]) -> Iterator[Counter[EntryName]]:
        """Recalls of entries that are about to get a new version; given back if that fails."""
        with self.lock:
            read = [name for name in names if name in self.recalls]
            taken = Counter({name: self.recalls.pop(name) for name in read})
        try:
            yield taken
        except BaseException:
            with self.lock:
                self.recalls.update(taken)
            raise

    def flush(self, patience_s: float = _LAST_PATIENCE_S) -> None:
        """Write what was gathered.

        Raises:
            StorageError: Nothing was written; it is kept for the next time.
        """
        if not (self.recalls or self._events):
            return
        with self._connections.turn(patience_s):
            self._flush_events(patience_s)
            with self.lock:
                recalls = dict(self.recalls)
                if recalls:
                    self._connections.write(lambda tx: amfs.recalled(tx, recalls), patience_s)
                    self.recalls.clear()

    def _flush_events(self, patience_s: float) -> None:
        with self.lock:
            events, self._events = self._events, []
        try:
            happened = list(self._rows(events))
            self._connections.write(lambda tx: amfs.add_events(tx, happened), patience_s)
        except BaseException:
            with self.lock:
                self._events = events + self._events
            raise

    def _rows(self, events: Sequence[Event]) -> Iterator[Happening]:
        for event in events:
            try:
                yield self._happening(event)
            except (InputError, ValueError):  # one that nothing can hold must not keep the others
                logger.warning("an event of %s cannot be kept", event.agent_id, exc_info=True)

    def _tick(self) -> None:
        if not self._is_ticking:
            self._is_ticking = True
            threading.Thread(target=self._later, name="amfs-tallies", daemon=True).start()

    def _later(self) -> None:
        while self._recalls_or_events():
            self._wait_for_quiet()
            with suppress(StorageError):  # it is tried again
                self.flush(_PATIENCE_S)
        if self._connections.is_closed:  # the SDK reports a write from a thread, maybe too late
            self._connections.close()

    def _recalls_or_events(self) -> bool:
        with self.lock:
            self._is_ticking = bool(self.recalls or self._events)
            return self._is_ticking

    def _wait_for_quiet(self) -> None:
        # Each commit empties what other connections hold of the file: not in the middle of a burst.
        latest, seen = time.monotonic() + _LATEST_S, -1
        while len(self._events) != seen and time.monotonic() < latest:
            seen = len(self._events)
            time.sleep(_QUIET_S)
