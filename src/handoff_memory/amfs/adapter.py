"""The adapter: AMFS's storage contract on a database of the shared memory.

What its callers really send decides, not the abstract signatures: `branch` comes with every read
and list. The methods stand in the SDK's order of weight; docs/senselab-amfs.md has the mapping.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from amfs_core.abc import AdapterABC, WatchHandle
from amfs_core.evidence import apply_record_to_entry, cited_entries
from amfs_core.exceptions import VersionConflictError
from amfs_core.hashing import verify_entries
from amfs_core.models import MemoryEntry, OutcomeRecord, SearchQuery
from pydantic_core import to_jsonable_python

from handoff_memory.amfs import entries, searching
from handoff_memory.amfs.base import end
from handoff_memory.amfs.connections import promised
from handoff_memory.amfs.documents import Documents
from handoff_memory.amfs.timeline import Timeline
from handoff_memory.amfs.watching import watch
from handoff_memory.core import canonical
from handoff_memory.core.author import Author
from handoff_memory.core.errors import InvalidValueError
from handoff_memory.services import amfs as service
from handoff_memory.services.amfs import EntryDraft
from handoff_memory.store import amfs as rows
from handoff_memory.store import journal
from handoff_memory.store.amfs import EntryName
from handoff_memory.store.engine import Row, Tx

Entries: TypeAlias = list[MemoryEntry]  # in the class below, `list` is a method

_MAIN: Final = service.BRANCH

logger = logging.getLogger(__name__)


class MemoryAdapter(Documents, Timeline, AdapterABC):
    """An AMFS adapter on the file that agents of the shared memory use, too.

    Safe for threads and processes, and closed by `close`, or when its process ends.
    """

    # --- reading -----------------------------------------------------------------------------

    def read(
        self, entity_path: str, key: str, *, min_confidence: float = 0.0, branch: str = _MAIN
    ) -> MemoryEntry | None:
        """The newest version of an entry, unless it has expired or is too doubtful."""
        with promised():
            name = self._name(entity_path, key, branch)

            def current(tx: Tx) -> MemoryEntry | None:
                with self._tallies.lock:
                    row = rows.current(tx, name)
                    return row and entries.entry_of(row, self._tallies.recalls.get(name, 0))

            found = self._read(current, is_one_query=True)
        if found is None or found.confidence < min_confidence or found.is_expired():
            return None
        return found

    def read_at_version(
        self, entity_path: str, key: str, version: int, *, branch: str = _MAIN
    ) -> MemoryEntry | None:
        """One version of an entry, whatever came after it."""
        with promised():
            name = self._name(entity_path, key, branch)
            self._tallies.flush()
            return self._read(lambda tx: _version(tx, name, version))

    def list(
        self,
        entity_path: str | None = None,
        *,
        include_superseded: bool = False,
        branch: str = _MAIN,
    ) -> Entries:
        """Newest versions, or all, of one path or of all; expired ones too, for the SDK's sweep."""
        place = self._place(branch)
        if include_superseded:  # recalls that are not written yet are those of the newest version
            with promised():
                self._tallies.flush()
        return self._listed(
            lambda tx: rows.listed(tx, place, entity_path or None, superseded=include_superseded)
        )

    def search(self, query: SearchQuery, *, branch: str = _MAIN) -> Entries:
        """Entries that a query lets through, best first by what it sorts by."""
        if query.sort_by == "priority":
            found: Entries = super().search(query)
            return found
        return self._listed(lambda tx: searching.best(tx, self._place(branch), query))

    def verify_integrity(
        self, entity_path: str | None = None, *, branch: str = _MAIN
    ) -> dict[str, Any]:
        """The SDK's own check of values against hashes; `memory_stats --verify` sees more."""
        kept = self.list(entity_path, include_superseded=True, branch=branch)
        report: dict[str, Any] = verify_entries(kept).to_dict()
        return report

    def increment_recall_count(self, entity_path: str, key: str, *, branch: str = _MAIN) -> None:
        """Count a read of an entry on its newest version."""
        with promised():
            self._tallies.recall(self._name(entity_path, key, branch))

    def watch(self, entity_path: str, callback: Callable[[MemoryEntry], None]) -> WatchHandle:
        """Call back, from a thread, for each version written at or below a path by anybody."""
        place = self._place()

        def since(after: int) -> Sequence[Row]:
            with promised():
                return self._read(lambda tx: rows.since(tx, place, after))

        with promised():
            newest = self._read(journal.head).seq
        handle = watch(
            entity_path, callback, after=newest, since=since, version=self.read_at_version
        )
        self._watches.add(handle)
        return handle

    # --- writing -----------------------------------------------------------------------------

    def write(self, entry: MemoryEntry) -> MemoryEntry:
        """Append a version; the entry as it was stored.

        Raises:
            VersionConflictError: The entry's version, if not 1, is not the next one.
        """
        return self.write_batch([entry])[0]

    def write_batch(self, entries: Sequence[MemoryEntry]) -> Entries:
        """Append versions of several entries, all or none.

        Raises:
            VersionConflictError: As for `write`; nothing was written.
        """
        with promised():
            drafts = [(self._cleaned(entry), self._draft(entry)) for entry in entries]
            named = {draft.name for _, draft in drafts}

            def append(tx: Tx) -> Entries:
                begun: set[EntryName] = set()
                return [self._append(tx, entry, draft, begun) for entry, draft in drafts]

            return self._changed(named, append)

    def commit_outcome(self, record: OutcomeRecord) -> Entries:
        """Keep an outcome and let it move what it cites, by the SDK's own functions.

        The same agent reporting the same outcome under the same reference again moves nothing; it
        gets the versions that the first report made.
        """
        with promised():
            who = self._author(record.agent_id, None)
            named = {self._name(path, key, _MAIN) for path, key in cited_entries(record)}

            def commit(tx: Tx) -> Entries:
                made = self._first_report(tx, record)
                if made is None:
                    moved = [self._moved(tx, who, cited, record) for cited in cited_entries(record)]
                    kept = [entry for entry in moved if entry is not None]
                    self._keep_outcome(tx, who, record, kept)
                    return kept
                known = (_version(tx, self._name(p, k, _MAIN), number) for p, k, number in made)
                return [entry for entry in known if entry is not None]

            return self._changed(named, commit)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the database: what this thread reads and writes until the end is one change.

        The SDK reads a version and then writes the next one, so two agents that count in one entry
        lose counts; in here nobody comes between. An error that leaves it undoes it whole.
        """
        with promised(), self._connections.exclusive():
            yield

    def close(self) -> None:
        """Write what was gathered and close; the adapter opens again when it is used."""
        for handle in tuple(self._watches):
            handle.cancel()
        end(self._tallies, self._connections)

    # --- parts -------------------------------------------------------------------------------

    def _changed(self, names: set[EntryName], change: Callable[[Tx], Entries]) -> Entries:
        """Run a change of entries on top of all that was written and read so far."""
        with self._tallies.taken(names) as recalls:

            def write(tx: Tx) -> Entries:
                rows.recalled(tx, recalls)
                return change(tx)

            return self._connections.write(write)

    def _listed(self, found: Callable[[Tx], Iterator[Row] | Sequence[Row]]) -> Entries:
        def listed(tx: Tx) -> Entries:
            with self._tallies.lock:
                recalls = self._tallies.recalls
                return [
                    entries.entry_of(row, recalls.get(rows.name_of(row, self._namespace), 0))
                    if recalls
                    else entries.entry_of(row)
                    for row in found(tx)
                ]

        with promised():
            return self._read(listed)

    def _cleaned(self, entry: MemoryEntry) -> MemoryEntry:
        """The entry without secrets in what it refers to; names and the value have checks."""
        said = entries.references(entry)
        clean = service.without_secrets(self._limits, said) if said else said
        return entry if clean == said else entries.referring(entry, clean)

    def _draft(self, entry: MemoryEntry) -> EntryDraft:
        try:
            value = to_jsonable_python(entry.value)
        except ValueError as error:  # no JSON, a circle, or deeper than the SDK's library goes
            raise InvalidValueError(f"this is no JSON value: {error}") from error
        left_us = entry.ttl_at and entries.microseconds(entry.ttl_at) - self._makers.clock()
        return service.draft_entry(
            self._limits,
            self._name(entry.entity_path, entry.key, entry.branch),
            value=value,
            confidence=entry.confidence,
            tags=entries.labels(entry),
            expires_in_s=None if left_us is None else left_us / 1_000_000,
            shared=entry.shared,
        )

    def _append(
        self, tx: Tx, entry: MemoryEntry, draft: EntryDraft, begun: set[EntryName]
    ) -> MemoryEntry:
        row = service.head(tx, draft.name)
        newest = row["version"] if row else 0
        # 1 asks for the next version. A batch that names an entry twice numbers both from one read.
        if entry.version not in (1, newest + 1) and draft.name not in begun:
            raise VersionConflictError(entry.entity_path, entry.key, entry.version, newest)
        begun.add(draft.name)
        before = entries.entry_of(row) if row else None
        stored = entries.following(entry, before, canonical.decode(draft.value))
        who = self._author(entry.provenance.agent_id, entry.provenance.session_id)
        service.append(
            tx,
            who,
            draft,
            entries.fields_of(stored),
            before=row,
            writer=entry.provenance.agent_id,
            recalls=stored.recall_count,
        )
        return stored

    def _moved(
        self, tx: Tx, who: Author, cited: tuple[str, str], record: OutcomeRecord
    ) -> MemoryEntry | None:
        name = self._name(*cited, _MAIN)
        row = service.head(tx, name)
        current = entries.entry_of(row) if row else None
        if row is None or current is None or current.is_expired():
            logger.warning("outcome %s cites %s, which is not there", record.outcome_ref, name)
            return None
        after, steps = apply_record_to_entry(
            current,
            record,
            now=entries.moment(tx.now),
            version_lookup=lambda path, key, number: _version(
                tx, self._name(path, key, _MAIN), number
            ),
        )
        if not steps:
            return None
        stored = entries.following(after, current, current.value)
        service.append(
            tx,
            who,
            EntryDraft(name, canonical.encode(current.value), None),
            entries.fields_of(stored),
            before=row,
            writer=stored.provenance.agent_id,
            recalls=stored.recall_count,
            record=row["record"],
        )
        return stored


def _version(tx: Tx, name: EntryName, number: int) -> MemoryEntry | None:
    row = rows.version(tx, name, number)
    return None if row is None else entries.entry_of(row)
