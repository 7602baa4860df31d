"""The journal: the only place that appends, numbering and chaining every hashed row.

A row and its journal line are inserted together; nothing else inserts into these tables. The entry
that is hashed is rebuilt from the row's columns on verification, so a fact stands in the file once.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handoff_memory.core import entry
from handoff_memory.store.engine import Row, Tx

_HEAD: Final = "SELECT seq, chain FROM journal ORDER BY seq DESC LIMIT 1"
_KNOWN: Final = "journal.head"
_APPEND: Final = """
    INSERT INTO journal (seq, kind, v, entry_hash, chain)
    VALUES (:seq, :kind, :v, :entry_hash, :chain)"""

TABLES: Final[Mapping[str, str]] = {
    "record": "records",
    "outcome": "outcomes",
    "packet": "packets",
    "claim": "claims",
    "task": "tasks",
    "event": "events",
    "payload": "payloads",
    "amfs_entry": "amfs_entries",
    "amfs_document": "amfs_documents",
}


def _insert(kind: str) -> str:
    names = ("seq", *entry.FIELDS[kind, 1], "prev", "body_commit", "salt", "body")
    values = ", ".join(f":{name}" for name in names)
    return f"INSERT INTO {TABLES[kind]} ({', '.join(names)}) VALUES ({values})"  # noqa: S608 - constants of two modules


_INSERT: Final = {kind: _insert(kind) for kind in TABLES}

_HASH_OF: Final = "SELECT entry_hash FROM journal WHERE seq = :seq"

# One line of `log` for any kind, newest first or oldest first.
_LINE: Final = """
    SELECT j.seq, j.kind, j.entry_hash,
        COALESCE(r.agent, o.agent, p.agent, c.agent, k.agent, e.agent, y.agent, a.agent, d.agent)
            AS agent,
        COALESCE(r.session, o.session, p.session, c.session, k.session, e.session, y.session,
            a.session, d.session) AS session,
        COALESCE(r.at, o.at, p.at, c.at, k.at, e.at, y.at, a.at, d.at) AS at,
        CASE j.kind
            WHEN 'record' THEN r.scope || '/' || r.key || '@' || r.version
            WHEN 'outcome' THEN t.scope || '/' || t.key || '@' || t.version
            WHEN 'packet' THEN p.packet
            WHEN 'claim' THEN c.packet
            WHEN 'task' THEN k.task
            WHEN 'event' THEN e.task
            WHEN 'payload' THEN 'r' || y.alias
            WHEN 'amfs_entry' THEN a.path || '/' || a.key || '@' || a.version
            WHEN 'amfs_document' THEN d.name END AS subject,
        CASE j.kind
            WHEN 'record' THEN 'written'
            WHEN 'outcome' THEN o.outcome
            WHEN 'packet' THEN COALESCE(p.status, 'created')
            WHEN 'claim' THEN c.action
            WHEN 'task' THEN 'started'
            WHEN 'event' THEN e.event
            WHEN 'payload' THEN 'kept'
            WHEN 'amfs_entry' THEN 'written'
            WHEN 'amfs_document' THEN d.type END AS action"""
_ROWS_OF_LINE: Final = """
    LEFT JOIN records r ON j.kind = 'record' AND r.seq = j.seq
    LEFT JOIN outcomes o ON j.kind = 'outcome' AND o.seq = j.seq
    LEFT JOIN records t ON t.seq = o.record
    LEFT JOIN packets p ON j.kind = 'packet' AND p.seq = j.seq
    LEFT JOIN claims c ON j.kind = 'claim' AND c.seq = j.seq
    LEFT JOIN tasks k ON j.kind = 'task' AND k.seq = j.seq
    LEFT JOIN events e ON j.kind = 'event' AND e.seq = j.seq
    LEFT JOIN payloads y ON j.kind = 'payload' AND y.seq = j.seq
    LEFT JOIN amfs_entries a ON j.kind = 'amfs_entry' AND a.seq = j.seq
    LEFT JOIN amfs_documents d ON j.kind = 'amfs_document' AND d.seq = j.seq"""
_LOG: Final = _LINE + " FROM journal j" + _ROWS_OF_LINE
_LOG_AFTER: Final = _LOG + " WHERE j.seq > :after ORDER BY j.seq LIMIT :limit"
_LOG_NEWEST: Final = _LOG + " ORDER BY j.seq DESC LIMIT :limit"
# Of the lines before one, so many are looked at: a filter that fits few must not read all.
_LOG_FILTERED: Final = f"""
    SELECT * FROM ({_LINE} FROM (SELECT seq, kind, entry_hash FROM journal WHERE seq < :below
        ORDER BY seq DESC LIMIT :looked_at) j {_ROWS_OF_LINE})
    WHERE (:kind IS NULL OR kind = :kind) AND (:agent IS NULL OR agent = :agent)
        AND (:task IS NULL OR (kind IN ('task', 'event') AND subject = :task)
            OR (kind = 'record' AND subject >= 'osiris/task/' || :task || '/'
                AND subject < 'osiris/task/' || :task || '0'))
    ORDER BY seq DESC LIMIT :limit"""  # noqa: S608 - constants of this module
_AT: Final = """
    SELECT COALESCE(
        (SELECT at FROM records WHERE seq = :seq), (SELECT at FROM events WHERE seq = :seq),
        (SELECT at FROM payloads WHERE seq = :seq), (SELECT at FROM outcomes WHERE seq = :seq),
        (SELECT at FROM claims WHERE seq = :seq), (SELECT at FROM packets WHERE seq = :seq),
        (SELECT at FROM tasks WHERE seq = :seq), (SELECT at FROM amfs_entries WHERE seq = :seq),
        (SELECT at FROM amfs_documents WHERE seq = :seq)) AS at"""


class Head(NamedTuple):
    """The end of the journal."""

    seq: int
    chain: bytes


class Appended(NamedTuple):
    """What an append gave a row."""

    seq: int
    entry_hash: bytes


def head(tx: Tx) -> Head:
    """The end of the journal as this transaction sees it."""
    known: Head | None = tx.known.get(_KNOWN)
    if known is None:
        found = tx.one(_HEAD)
        known = Head(found["seq"], found["chain"]) if found else Head(0, entry.GENESIS)
        tx.known[_KNOWN] = known
    return known


def append(tx: Tx, kind: str, row: dict[str, Any], body: bytes | None, *, v: int = 1) -> Appended:
    """Insert a row together with its journal line.

    Args:
        tx: A write transaction.
        kind: One of `TABLES`.
        row: Every field of (kind, v), and `prev`.
        body: What the salted commitment covers, or None.
        v: Version of the kind's field list.
    """
    last = head(tx)
    salt = None if body is None else tx.random(entry.SALT_BYTES)
    sealed = {
        **row,
        "seq": last.seq + 1,
        "salt": salt,
        "body": body,
        "body_commit": None if salt is None or body is None else entry.commit_body(salt, body),
    }
    data = entry.entry_bytes(kind, v, sealed)
    entry_hash = entry.entry_hash(data)
    tx.add(_INSERT[kind], **sealed)
    chain = entry.next_chain(last.chain, data)
    tx.add(_APPEND, seq=last.seq + 1, kind=kind, v=v, entry_hash=entry_hash, chain=chain)
    tx.known[_KNOWN] = Head(last.seq + 1, chain)
    return Appended(last.seq + 1, entry_hash)


def hash_of(tx: Tx, seq: int) -> bytes:
    """The hash of the row with that seq."""
    found = tx.one(_HASH_OF, seq=seq)
    return bytes(found["entry_hash"]) if found else b""


def log(tx: Tx, *, after: int | None, limit: int) -> list[Row]:
    """One line for each write of any kind, oldest first: after a seq, or the newest."""
    if after is not None:
        return tx.all(_LOG_AFTER, after=after, limit=limit)
    return tx.all(_LOG_NEWEST, limit=limit)[::-1]


class LogFilter(NamedTuple):
    """Which lines of the log are wanted; None lets all through."""

    agent: str | None = None
    kind: str | None = None
    task: str | None = None


def log_before(tx: Tx, wanted: LogFilter, *, below: int, looked_at: int, limit: int) -> list[Row]:
    """Lines that a filter lets through, newest first, among so many before a seq."""
    return tx.all(_LOG_FILTERED, below=below, looked_at=looked_at, limit=limit, **wanted._asdict())


def at(tx: Tx, seq: int) -> int | None:
    """When the row with that seq was written, microseconds; None where it is gone."""
    found = tx.one(_AT, seq=seq)
    return found["at"] if found else None
