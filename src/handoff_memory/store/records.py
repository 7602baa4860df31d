"""Rows of records: versions, heads, opinions and outcomes."""

from __future__ import annotations

from typing import Final

from handoff_memory.core.confidence import Outcome
from handoff_memory.store.engine import Row, Tx

_WRITTEN: Final = "records.written"
_COLUMNS: Final = """
    SELECT r.seq, r.project, r.scope, r.key, r.version, r.tags, r.source, r.expires_at, r.agent,
        r.session, r.at, r.confidence AS initial, j.entry_hash, h.version AS current_version,
        COALESCE(o.confidence, r.confidence) AS confidence, COALESCE(o.success, 0) AS success,
        COALESCE(o.partial, 0) AS partial, COALESCE(o.failure, 0) AS failure,
        COALESCE(o.critical_failure, 0) AS critical_failure,
        length(r.body) AS body_bytes"""
_FROM: Final = """
    FROM records r
    JOIN journal j ON j.seq = r.seq
    JOIN heads h ON h.project = r.project AND h.scope = r.scope AND h.key = r.key
    LEFT JOIN opinions o ON o.seq = r.seq"""

_VERSION: Final = f"""{_COLUMNS}, r.body {_FROM}
    WHERE r.project = :project AND r.scope = :scope AND r.key = :key AND r.version = :version"""
_BY_SEQ: Final = f"{_COLUMNS}, r.body {_FROM} WHERE r.seq = :seq"
_CURRENT: Final = f"""{_COLUMNS}, r.body
    FROM heads h
    JOIN records r ON r.seq = h.seq
    JOIN journal j ON j.seq = r.seq
    LEFT JOIN opinions o ON o.seq = r.seq
    WHERE h.project = :project AND h.scope = :scope AND h.key = :key"""
_HISTORY: Final = f"""{_COLUMNS}, r.body {_FROM}
    WHERE r.project = :project AND r.scope = :scope AND r.key = :key AND r.version < :below
    ORDER BY r.version DESC LIMIT :limit"""

_HEAD: Final = """
    SELECT h.seq, h.version, r.body, r.tags, r.source, r.expires_at, j.entry_hash, r.agent, r.at
    FROM heads h JOIN records r ON r.seq = h.seq JOIN journal j ON j.seq = h.seq
    WHERE h.project = :project AND h.scope = :scope AND h.key = :key"""
_SET_HEAD: Final = """
    INSERT INTO heads (project, scope, key, seq, version)
    VALUES (:project, :scope, :key, :seq, :version)
    ON CONFLICT (project, scope, key)
    DO UPDATE SET seq = excluded.seq, version = excluded.version"""

_ADD_OPINION: Final = """
    INSERT INTO opinions (seq, confidence, success, partial, failure, critical_failure)
    VALUES (:seq, :confidence, :success, :partial, :failure, :critical_failure)
    ON CONFLICT (seq) DO UPDATE SET confidence = excluded.confidence,
        success = opinions.success + excluded.success,
        partial = opinions.partial + excluded.partial,
        failure = opinions.failure + excluded.failure,
        critical_failure = opinions.critical_failure + excluded.critical_failure"""
_CONFIRMED: Final = """
    SELECT count(DISTINCT agent) AS agents FROM outcomes
    WHERE record = :seq AND outcome IN ('success', 'partial')"""
_OUTCOMES: Final = """
    SELECT seq, outcome, before, after, packet, agent, at, body FROM outcomes
    WHERE record = :seq ORDER BY seq"""

_NEAR: Final = """
    SELECT scope, key FROM heads WHERE project = :project AND scope = :scope LIMIT :limit"""


def version(tx: Tx, project: str, scope: str, key: str, number: int) -> Row | None:
    """One version of a record, with its opinion and what is current."""
    return tx.one(_VERSION, project=project, scope=scope, key=key, version=number)


def by_seq(tx: Tx, seq: int) -> Row | None:
    """The version with that seq."""
    return tx.one(_BY_SEQ, seq=seq)


def current(tx: Tx, project: str, scope: str, key: str) -> Row | None:
    """The current version of a record."""
    return _by_name(tx, _CURRENT, project, scope, key)


def history(tx: Tx, project: str, scope: str, key: str, *, below: int, limit: int) -> list[Row]:
    """Versions below a number, newest first."""
    return tx.all(_HISTORY, project=project, scope=scope, key=key, below=below, limit=limit)


def head(tx: Tx, project: str, scope: str, key: str) -> Row | None:
    """What a write has to know of the current version."""
    return _by_name(tx, _HEAD, project, scope, key)


def set_head(tx: Tx, project: str, scope: str, key: str, *, seq: int, version: int) -> None:
    """Make a version the current one."""
    tx.known.setdefault(_WRITTEN, set()).add((project, scope, key))
    tx.add(_SET_HEAD, project=project, scope=scope, key=key, seq=seq, version=version)


def add_opinion(tx: Tx, seq: int, outcome: Outcome, confidence: int) -> None:
    """Count an outcome of a version and set what it moved the confidence to."""
    counts = dict.fromkeys(("success", "partial", "failure", "critical_failure"), 0)
    counts[outcome] = 1
    tx.run(_ADD_OPINION, seq=seq, confidence=confidence, **counts)


def confirming_agents(tx: Tx, seq: int) -> int:
    """How many different agents reported success or partial success of a version."""
    found = tx.one(_CONFIRMED, seq=seq)
    return int(found["agents"]) if found else 0


def outcomes(tx: Tx, seq: int) -> list[Row]:
    """The outcomes of a version, oldest first."""
    return tx.all(_OUTCOMES, seq=seq)


def names_near(tx: Tx, project: str, scope: str, limit: int) -> list[tuple[str, str]]:
    """Some names in a scope."""
    return [
        (row["scope"], row["key"])
        for row in tx.all(_NEAR, project=project, scope=scope, limit=limit)
    ]


def _by_name(tx: Tx, sql: str, project: str, scope: str, key: str) -> Row | None:
    # Rows that wait are of other names, unless this one was written in the same transaction.
    is_written = (project, scope, key) in tx.known.get(_WRITTEN, ())
    ask = tx.one if is_written else tx.peek
    return ask(sql, project=project, scope=scope, key=key)
