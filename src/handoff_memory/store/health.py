"""What SQLite itself says of the file: its integrity, its schema, its caches, its sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from handoff_memory.store import driver, migrate
from handoff_memory.store.engine import Row, Tx

_PROBLEM_LIMIT: Final = 100
_OBJECTS: Final = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL"

# Each head as it stands, and each newest version as it should be one.
_WRONG_HEADS: Final = """
    SELECT h.scope, h.key, h.version FROM heads h
    LEFT JOIN records r ON r.seq = h.seq AND r.version = h.version AND r.project = h.project
        AND r.scope = h.scope AND r.key = h.key
    WHERE r.seq IS NULL OR EXISTS (SELECT 1 FROM records n WHERE n.project = r.project
        AND n.scope = r.scope AND n.key = r.key AND n.version = r.version + 1)
    UNION
    SELECT r.scope, r.key, r.version FROM records r
    WHERE NOT EXISTS (SELECT 1 FROM records n WHERE n.project = r.project AND n.scope = r.scope
            AND n.key = r.key AND n.version = r.version + 1)
        AND NOT EXISTS (SELECT 1 FROM heads h WHERE h.project = r.project AND h.scope = r.scope
            AND h.key = r.key AND h.seq = r.seq AND h.version = r.version)"""
# Whether there is anything to name, from indexes alone: each head is the newest of its name, and
# there are as many heads as names.
_HEADS_HOLD: Final = """
    SELECT NOT EXISTS (SELECT 1 FROM heads h WHERE (h.seq, h.version) IS NOT (
            SELECT n.seq, n.version FROM records n WHERE n.project = h.project
                AND n.scope = h.scope AND n.key = h.key ORDER BY n.version DESC LIMIT 1))
        AND (SELECT count(*) FROM heads)
            = (SELECT count(*) FROM (SELECT DISTINCT project, scope, key FROM records)) AS hold"""
_WRONG_HEADS_SINCE: Final = """
    SELECT DISTINCT r.scope, r.key, (SELECT max(n.version) FROM records n
        WHERE n.project = r.project AND n.scope = r.scope AND n.key = r.key) AS version
    FROM records r WHERE r.seq > :after AND NOT EXISTS (SELECT 1 FROM heads h
        WHERE h.project = r.project AND h.scope = r.scope AND h.key = r.key
        AND (h.seq, h.version) IS (SELECT n.seq, n.version FROM records n
            WHERE n.project = r.project AND n.scope = r.scope AND n.key = r.key
            ORDER BY n.version DESC LIMIT 1))"""
_OPINIONS_SINCE: Final = """
    SELECT p.* FROM opinions p
    WHERE p.seq IN (SELECT record FROM outcomes WHERE seq > :after) OR p.seq > :after
    ORDER BY p.seq"""
_UNSEARCHABLE_SINCE: Final = """
    SELECT r.scope, r.key, r.version FROM records r WHERE r.seq > :after AND CASE
        WHEN EXISTS (SELECT 1 FROM heads h WHERE h.seq = r.seq)
        THEN NOT EXISTS (SELECT 1 FROM current_text_docsize WHERE id = r.seq)
        ELSE r.body IS NOT NULL AND NOT EXISTS (SELECT 1 FROM past_text_docsize WHERE id = r.seq)
        END"""
_OPINIONS: Final = "SELECT * FROM opinions ORDER BY seq"
_INITIAL: Final = "SELECT scope, key, version, confidence FROM records WHERE seq = :seq"
_NEXT_OF: Final = "SELECT scope, key, version - 1 AS version FROM records WHERE prev = :hash"
_HEAD_OF: Final = "SELECT scope, key, version FROM heads WHERE seq = :seq"
_PACKET_OF: Final = "SELECT packet FROM packet_states WHERE seq = :seq"

_UNSEARCHABLE: Final = """
    SELECT h.scope, h.key, h.version FROM heads h
    WHERE h.seq NOT IN (SELECT id FROM current_text_docsize)
    UNION ALL
    SELECT r.scope, r.key, r.version FROM records r
    JOIN heads h ON h.project = r.project AND h.scope = r.scope AND h.key = r.key
    WHERE r.version < h.version AND r.body IS NOT NULL
        AND r.seq NOT IN (SELECT id FROM past_text_docsize)"""

_SEARCHABLE: Final = """
    SELECT (SELECT count(*) FROM heads)
            = (SELECT count(*) FROM heads h CROSS JOIN current_text_docsize d ON d.id = h.seq)
        AND NOT EXISTS (SELECT 1 FROM records r
            WHERE NOT EXISTS (SELECT 1 FROM heads h WHERE h.seq = r.seq)
            AND NOT EXISTS (SELECT 1 FROM past_text_docsize d WHERE d.id = r.seq)) AS hold"""

# Opening a cursor makes a connection look at a full-text table as it is now. The integrity check
# opens none: after a search and another connection's merge it would miss segments long gone.
_REFRESH_FULL_TEXT: Final = (
    """SELECT rowid FROM current_text WHERE current_text MATCH '"osiris"' LIMIT 1""",
    """SELECT rowid FROM past_text WHERE past_text MATCH '"osiris"' LIMIT 1""",
)
_CHECK_FULL_TEXT: Final = (
    "INSERT INTO current_text (current_text) VALUES ('integrity-check')",
    "INSERT INTO past_text (past_text) VALUES ('integrity-check')",
)

_COUNTS: Final = """
    SELECT (SELECT count(*) FROM heads WHERE :scope = '' OR scope = :scope
            OR (scope >= :scope || '/' AND scope < :scope || '0')) AS records,
        (SELECT count(*) FROM records WHERE :scope = '' OR scope = :scope
            OR (scope >= :scope || '/' AND scope < :scope || '0')) AS versions,
        (SELECT count(*) FROM outcomes) AS outcomes,
        (SELECT count(*) FROM packets) AS packets"""
_META: Final = "SELECT value FROM meta WHERE name = :name"
_SET_META: Final = """
    INSERT INTO meta (name, value) VALUES (:name, :value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value"""


def file_problems(tx: Tx) -> list[str]:
    """What SQLite's integrity check says of tables and full-text index; empty if all is well."""
    for query in _REFRESH_FULL_TEXT:
        tx.all(query)
    found = [
        str(row["integrity_check"]) for row in tx.all(f"PRAGMA integrity_check({_PROBLEM_LIMIT})")
    ]
    return [] if found == ["ok"] else found


def check_full_text(tx: Tx) -> None:
    """Have the full-text tables check themselves; a damaged one raises as a damaged file does.

    Only for a SQLite whose integrity check leaves them out: it takes a write transaction.
    """
    for command in _CHECK_FULL_TEXT:
        tx.run(command)


def schema_problems(tx: Tx) -> list[str]:
    """Tables, indexes and triggers that are missing or not as they were made.

    A newer step may have dropped an index, so none is missed in a file that a newer program made.
    """
    is_newer = tx.all("PRAGMA user_version")[0]["user_version"] > migrate.newest()
    present = {(row["type"], row["name"]): row["sql"] for row in tx.all(_OBJECTS)}
    return [
        f"{kind} {name} is {'missing' if (kind, name) not in present else 'altered'}"
        for (kind, name), sql in _expected().items()
        if present.get((kind, name)) != sql and not (is_newer and kind == "index")
    ]


def wrong_heads(tx: Tx) -> list[Row]:
    """Names whose current version is not the newest one: what is, and what should be."""
    return [] if _holds(tx, _HEADS_HOLD) else tx.all(_WRONG_HEADS)


def wrong_heads_since(tx: Tx, after: int) -> list[Row]:
    """Of what was written behind a seq, the names whose current version is not the newest one."""
    return tx.all(_WRONG_HEADS_SINCE, after=after)


def unsearchable_since(tx: Tx, after: int) -> list[Row]:
    """Of what was written behind a seq, the versions that are missing from the full-text index."""
    return tx.all(_UNSEARCHABLE_SINCE, after=after)


def opinions_since(tx: Tx, after: int) -> Iterator[Row]:
    """The cached opinion of every version that was written or reported of behind a seq."""
    return tx.each(_OPINIONS_SINCE, after=after)


def unsearchable(tx: Tx) -> list[Row]:
    """Versions that are missing from the full-text index."""
    return [] if _holds(tx, _SEARCHABLE) else tx.all(_UNSEARCHABLE)


def opinions(tx: Tx) -> Iterator[Row]:
    """The cached opinion of every version that has one."""
    return tx.each(_OPINIONS)


def initial(tx: Tx, seq: int) -> Row | None:
    """Name and first confidence of a version."""
    return tx.one(_INITIAL, seq=seq)


def name_of_missing(tx: Tx, seq: int, entry_hash: bytes) -> Row | None:
    """The name of a record whose row is gone, from what still points at it."""
    return tx.one(_NEXT_OF, hash=entry_hash) or tx.one(_HEAD_OF, seq=seq)


def packet_of_missing(tx: Tx, seq: int) -> str | None:
    """The id of a packet whose row is gone."""
    found = tx.one(_PACKET_OF, seq=seq)
    return str(found["packet"]) if found else None


def counts(tx: Tx, scope: str) -> dict[str, int]:
    """How many rows there are; records and versions below a scope where one is given."""
    found = tx.one(_COUNTS, scope=scope)
    return dict(found) if found else {}


def meta(tx: Tx, name: str) -> str:
    """A fact about this database, the empty string where it is not known."""
    found = tx.one(_META, name=name)
    return str(found["value"]) if found else ""


def set_meta(tx: Tx, name: str, value: str) -> None:
    """Keep a fact about this database."""
    tx.run(_SET_META, name=name, value=value)


def _holds(tx: Tx, query: str) -> bool:
    found = tx.one(query)
    return bool(found and found["hold"])


def _expected() -> dict[tuple[str, str], Any]:
    conn = driver.connect(":memory:", isolation_level=None)
    try:
        migrate.apply(conn)
        return {(kind, name): sql for kind, name, sql in conn.execute(_OBJECTS)}
    finally:
        conn.close()
