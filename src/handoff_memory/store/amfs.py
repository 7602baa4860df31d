"""Rows of AMFS: entries and their version map, documents by type, the timeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from handoff_memory.core import canonical
from handoff_memory.store.engine import Row, Tx

_NAME: Final = """
    v.project = :project AND v.namespace = :namespace AND v.branch = :branch
        AND v.path = :path AND v.key = :key"""
_COLUMNS: Final = """
    SELECT v.project, v.branch, v.path, v.key, v.version, v.recalls, v.entry, v.record,
        e.writer, e.body AS fields, r.body AS value, r.agent, r.session, r.at, r.expires_at,
        COALESCE(o.confidence, r.confidence) AS confidence"""
_BESIDE: Final = """
    LEFT JOIN amfs_entries e ON e.seq = v.entry
    LEFT JOIN records r ON r.seq = v.record
    LEFT JOIN opinions o ON o.seq = v.record"""
_ROWS: Final = f"{_COLUMNS} FROM amfs_versions v {_BESIDE}"
_HEAD: Final = f"{_ROWS} WHERE {_NAME} ORDER BY v.version DESC LIMIT 1"
_VERSION: Final = f"{_ROWS} WHERE {_NAME} AND v.version = :version"
_SUPERSEDED: Final = """
    (:superseded OR NOT EXISTS (SELECT 1 FROM amfs_versions n WHERE n.project = v.project
        AND n.namespace = v.namespace AND n.branch = v.branch AND n.path = v.path
        AND n.key = v.key AND n.version = v.version + 1))
    ORDER BY v.path, v.key, v.version"""
_LISTED: Final = f"""{_ROWS}
    WHERE v.project = :project AND v.namespace = :namespace AND v.branch = :branch
        AND {_SUPERSEDED}"""
_LISTED_AT: Final = f"""{_ROWS}
    WHERE v.project = :project AND v.namespace = :namespace AND v.branch = :branch
        AND v.path = :path AND {_SUPERSEDED}"""

_ADD_VERSION: Final = """
    INSERT INTO amfs_versions (project, namespace, branch, path, key, version, entry, record,
        recalls)
    VALUES (:project, :namespace, :branch, :path, :key, :version, :entry, :record, :recalls)"""
_RECALLED: Final = """
    UPDATE amfs_versions AS v SET recalls = v.recalls + c.times
    FROM (SELECT value ->> 0 AS project, value ->> 1 AS namespace, value ->> 2 AS branch,
            value ->> 3 AS path, value ->> 4 AS key, value ->> 5 AS times
        FROM json_each(:counts)) c
    WHERE v.project = c.project AND v.namespace = c.namespace AND v.branch = c.branch
        AND v.path = c.path AND v.key = c.key
        AND v.version = (SELECT max(n.version) FROM amfs_versions n
            WHERE n.project = c.project AND n.namespace = c.namespace AND n.branch = c.branch
                AND n.path = c.path AND n.key = c.key)"""

# A record that an entry wrote is followed by that entry, in the same transaction.
_FOREIGN: Final = """
    NOT EXISTS (SELECT 1 FROM amfs_entries e
        WHERE e.seq = r.seq + 1 AND e.record = r.seq AND e.wrote)"""
_BEHIND: Final = f"""
    SELECT r.seq FROM records r WHERE r.seq = (SELECT max(seq) FROM records)
        AND r.seq > (SELECT seq FROM amfs_adopted) AND {_FOREIGN}"""  # noqa: S608 - constants of this module
# The newest version and whether it is, in one row that is there also where no version is: who reads
# an entry asks nothing else.
_HEAD_AND_BEHIND: Final = f"""{_COLUMNS}, EXISTS ({_BEHIND}) AS behind
    FROM (SELECT 1)
    LEFT JOIN amfs_versions v ON {_NAME} AND v.version = (
        SELECT max(v.version) FROM amfs_versions v WHERE {_NAME})
    {_BESIDE}"""  # noqa: S608 - constants of this module
_RECORDS: Final = f"""
    SELECT r.seq, r.project, r.scope, r.key FROM records r
    WHERE r.seq > (SELECT seq FROM amfs_adopted) AND {_FOREIGN} ORDER BY r.seq LIMIT :limit"""  # noqa: S608 - constants of this module
_ADOPT: Final = f"""
    INSERT INTO amfs_versions (project, namespace, branch, path, key, version, entry, record,
        recalls)
    SELECT :project, :namespace, :branch, :path, :key, COALESCE(max(version), 0) + 1, NULL,
        :record, COALESCE(max(recalls), 0)
    FROM (SELECT version, recalls FROM amfs_versions v WHERE {_NAME}
        ORDER BY version DESC LIMIT 1)"""  # noqa: S608 - constants of this module
_ADOPTED: Final = "UPDATE amfs_adopted SET seq = max(seq, :seq)"
_NEWEST_RECORD: Final = "SELECT COALESCE(max(seq), 0) AS seq FROM records"

# Versions in the order in which they were written: those of AMFS, and adopted records.
_WRITTEN: Final = f"""
    SELECT e.seq, e.seq AS entry, e.record, e.project, e.namespace, e.branch, e.path AS scope,
        e.key, e.version FROM amfs_entries e
    UNION ALL
    SELECT r.seq, NULL, r.seq, r.project, NULL, NULL, r.scope, r.key, NULL FROM records r
    WHERE r.seq <= (SELECT seq FROM amfs_adopted) AND {_FOREIGN}
    ORDER BY 1"""  # noqa: S608 - constants of this module
_MAPPED: Final = f"""
    SELECT v.entry, v.record FROM amfs_versions v
    WHERE {_NAME} AND v.version = :version"""  # noqa: S608 - constants of this module
_MAPPING: Final = """
    SELECT project, namespace, branch, path, key, version FROM amfs_versions"""
_MAP_SIZE: Final = "SELECT count(*) AS size FROM amfs_versions"
_NAME_OF: Final = "SELECT path, key, version FROM amfs_versions WHERE entry = :seq"

_SINCE: Final = """
    SELECT e.seq, e.path, e.key, e.version FROM amfs_entries e
    WHERE e.seq > :after AND e.project IN (:project, '') AND e.namespace = :namespace
        AND e.branch = :branch
    UNION ALL
    SELECT r.seq, v.path, v.key, v.version FROM records r
    JOIN amfs_versions v ON v.project = r.project AND v.namespace = :namespace
        AND v.branch = :branch AND v.path = r.scope AND v.key = r.key
        AND v.record = r.seq AND v.entry IS NULL
    WHERE r.seq > :after AND r.project IN (:project, '')
    ORDER BY 1"""

_NAMED: Final = """
    SELECT seq, name, body FROM amfs_documents
    WHERE project = :project AND namespace = :namespace AND type = :type AND name = :name
    ORDER BY seq DESC"""
_DOCUMENTS: Final = """
    SELECT seq, name, body FROM amfs_documents
    WHERE project = :project AND namespace = :namespace AND type = :type
        AND (:branch IS NULL OR branch = :branch)
        AND (:since IS NULL OR stamp >= :since) AND (:until IS NULL OR stamp < :until)
        AND (:before IS NULL OR (stamp, name) < (:before, :before_name))
    ORDER BY stamp DESC, name DESC"""

# One statement for many, or reads would wait for each row of them.
_ADD_EVENTS: Final = """
    INSERT INTO amfs_events (project, namespace, branch, writer, type, at, id, body)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5,
        value ->> 6, value ->> 7
    FROM json_each(:events) WHERE true
    ON CONFLICT DO NOTHING"""
_EVENT: Final = """
    SELECT body FROM amfs_events
    WHERE id = :id AND project = :project AND namespace = :namespace"""
_EVENTS: Final = """
    SELECT body FROM amfs_events
    WHERE project = :project AND namespace = :namespace AND writer = :writer
        AND (:branch IS NULL OR branch = :branch) AND (:type IS NULL OR type = :type)
        AND (:since IS NULL OR at >= :since) AND (:until IS NULL OR at < :until)
        AND (:before IS NULL OR (at, id) < (:before, :before_name))
    ORDER BY at DESC, id DESC LIMIT :limit OFFSET :offset"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where versions of AMFS are kept apart from others: a project, a namespace, a branch."""

    project: str
    namespace: str
    branch: str

    def columns(self) -> dict[str, str]:
        """The values by the names of their columns."""
        return {"project": self.project, "namespace": self.namespace, "branch": self.branch}


@dataclass(frozen=True, slots=True)
class EntryName(Place):
    """The name of an entry."""

    path: str
    key: str

    def columns(self) -> dict[str, str]:  # type: ignore[explicit-override]
        """The values by the names of their columns."""
        return {**Place.columns(self), "path": self.path, "key": self.key}

    def __str__(self) -> str:  # type: ignore[explicit-override]
        return f"{self.path}/{self.key}"


@dataclass(frozen=True, slots=True)
class Window:
    """Which documents or events are wanted: times in microseconds, None for no bound.

    Attributes:
        since: At or after.
        until: Before.
        before: Of that time, older or with a smaller name than `before_name`.
        before_name: The name at that time.
    """

    since: int | None = None
    until: int | None = None
    before: int | None = None
    before_name: str | None = None

    def bounds(self) -> dict[str, int | str | None]:
        """The values by the names of their parameters."""
        return {
            "since": self.since,
            "until": self.until,
            "before": self.before,
            "before_name": self.before_name,
        }


def name_of(row: Row, namespace: str) -> EntryName:
    """The name of the entry in a row."""
    return EntryName(row["project"], namespace, row["branch"], row["path"], row["key"])


class BehindError(Exception):
    """The shared memory has records that the version map does not show yet."""


def current(tx: Tx, name: EntryName) -> Row | None:
    """The newest version of an entry, in one query.

    Raises:
        BehindError: It may not be; the version map has to catch up.
    """
    found = tx.one(_HEAD_AND_BEHIND, **name.columns())
    if found is None or found["behind"]:
        raise BehindError
    return None if found["version"] is None else found


def newest(tx: Tx, name: EntryName) -> Row | None:
    """The newest version of an entry on the map."""
    return tx.one(_HEAD, **name.columns())


def version(tx: Tx, name: EntryName, number: int) -> Row | None:
    """One version of an entry."""
    return tx.one(_VERSION, **name.columns(), version=number)


def listed(tx: Tx, place: Place, path: str | None, *, superseded: bool) -> Iterator[Row]:
    """Newest versions, or all, in the order of their names; only of one path where it is given."""
    for project in dict.fromkeys(("", place.project)):
        at = {"project": project, "namespace": place.namespace, "branch": place.branch}
        if path is None:
            yield from tx.each(_LISTED, **at, superseded=superseded)
        else:
            yield from tx.each(_LISTED_AT, **at, path=path, superseded=superseded)


def add_version(
    tx: Tx, name: EntryName, number: int, *, entry: int, record: int | None, recalls: int
) -> None:
    """Put a version that AMFS wrote on the map."""
    tx.run(
        _ADD_VERSION, **name.columns(), version=number, entry=entry, record=record, recalls=recalls
    )


def recalled(tx: Tx, times: Mapping[EntryName, int]) -> None:
    """Count reads of entries, each on its newest version."""
    if times:
        counts = [[*name.columns().values(), count] for name, count in times.items()]
        tx.run(_RECALLED, counts=canonical.encode(counts).decode())


def is_behind(tx: Tx) -> bool:
    """Whether the shared memory has records that the version map does not show yet."""
    return tx.one(_BEHIND) is not None


def unmapped(tx: Tx, limit: int) -> list[Row]:
    """Records that the version map does not show yet, oldest first."""
    return tx.all(_RECORDS, limit=limit)


def adopt(tx: Tx, name: EntryName, record: int) -> None:
    """Put a record on the map, as the next version of the entry by its name."""
    tx.run(_ADOPT, **name.columns(), record=record)


def adopted(tx: Tx, seq: int) -> None:
    """Every record up to that one has been looked at."""
    tx.run(_ADOPTED, seq=seq)


def newest_record(tx: Tx) -> int:
    """The seq of the newest record, 0 where there is none."""
    found = tx.one(_NEWEST_RECORD)
    return int(found["seq"]) if found else 0


def written(tx: Tx) -> Iterator[Row]:
    """What should be on the version map, in the order in which it was written."""
    return tx.each(_WRITTEN)


def mapped(tx: Tx, name: EntryName, number: int) -> Row | None:
    """Where the version map points for a version."""
    return tx.one(_MAPPED, **name.columns(), version=number)


def mapping(tx: Tx) -> list[Row]:
    """Every version on the map."""
    return tx.all(_MAPPING)


def count_versions(tx: Tx) -> int:
    """How many versions are on the map."""
    found = tx.one(_MAP_SIZE)
    return int(found["size"]) if found else 0


def name_of_missing(tx: Tx, seq: int) -> Row | None:
    """Name and version of an entry whose row is gone, from the map that still points at it."""
    return tx.one(_NAME_OF, seq=seq)


def since(tx: Tx, place: Place, after: int) -> list[Row]:
    """`path`, `key`, `version` and `seq` of what was written after a seq, oldest first."""
    return tx.all(_SINCE, **place.columns(), after=after)


def named(tx: Tx, place: Place, kind: str, name: str) -> list[Row]:
    """Documents of a type with that name, newest first."""
    return tx.all(_NAMED, project=place.project, namespace=place.namespace, type=kind, name=name)


def documents(
    tx: Tx, place: Place, kind: str, window: Window, *, branch: str | None = None
) -> Iterator[Row]:
    """Documents of a type, newest first by their own time."""
    return tx.each(
        _DOCUMENTS,
        project=place.project,
        namespace=place.namespace,
        type=kind,
        branch=branch,
        **window.bounds(),
    )


class Happening(NamedTuple):
    """An event of an agent's timeline, as it is kept."""

    project: str
    namespace: str
    branch: str
    writer: str
    type: str
    at: int
    id: str
    body: str


def add_events(tx: Tx, happened: Sequence[Happening]) -> None:
    """Keep events."""
    tx.run(_ADD_EVENTS, events=canonical.encode([tuple(event) for event in happened]).decode())


def event(tx: Tx, place: Place, event_id: str) -> Row | None:
    """The event with that id."""
    return tx.one(_EVENT, project=place.project, namespace=place.namespace, id=event_id)


def events(  # noqa: PLR0913 - one keyword a filter
    tx: Tx,
    place: Place,
    writer: str,
    window: Window,
    *,
    branch: str | None,
    kind: str | None,
    limit: int,
    offset: int,
) -> list[Row]:
    """Events of an agent's timeline, newest first."""
    return tx.all(
        _EVENTS,
        project=place.project,
        namespace=place.namespace,
        writer=writer,
        branch=branch,
        type=kind,
        limit=limit,
        offset=offset,
        **window.bounds(),
    )
