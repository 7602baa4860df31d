"""Hashed rows as verification meets them: plain tuples in the order of their seq, span by span."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from handoff_memory.core import entry
from handoff_memory.store import journal
from handoff_memory.store.engine import Row, Tx

KINDS: Final = tuple(journal.TABLES)
END: Final = 2**63 - 1
_BEFORE_ALL: Final = -(2**63) - 1  # rows that somebody inserted may have any number

_LINES: Final = """
    SELECT seq, kind, v, entry_hash, chain FROM journal
    WHERE seq >= :first AND seq <= :upto ORDER BY seq"""
_ROWS: Final[Mapping[str, str]] = {
    kind: f"""
    SELECT seq, salt, body, body_commit, {", ".join(entry.columns(kind, 1))} FROM {table}
    WHERE seq >= :first AND seq <= :upto ORDER BY seq"""  # noqa: S608 - constants of two modules
    for kind, table in journal.TABLES.items()
}
# What a version says of the one before it, against the journal's line of that one.
_UNLINKED: Final = """
    SELECT r.seq FROM records r
    WHERE r.seq >= :first AND r.seq <= :upto AND CASE WHEN r.version = 1 THEN r.prev IS NOT NULL
        ELSE r.prev IS NOT (SELECT j.entry_hash FROM records p JOIN journal j ON j.seq = p.seq
            WHERE p.project = r.project AND p.scope = r.scope AND p.key = r.key
                AND p.version = r.version - 1) END"""
_LAST_UPTO: Final = "SELECT seq FROM journal WHERE seq <= :seq ORDER BY seq DESC LIMIT 1"
_CHAIN_AT: Final = "SELECT chain FROM journal WHERE seq = :seq"

# What moves opinions and packet states, as far as the journal names it.
_MOVES: Final[Mapping[str, str]] = {
    kind: f"""
    SELECT m.* FROM {journal.TABLES[kind]} m JOIN journal j ON j.seq = m.seq AND j.kind = '{kind}'
    ORDER BY m.seq"""  # noqa: S608 - constants of this module
    for kind in ("outcome", "packet", "claim")
}
# Every outcome of the versions of which one was reported since.
_OUTCOMES_SINCE: Final = """
    SELECT o.* FROM outcomes o JOIN journal j ON j.seq = o.seq AND j.kind = 'outcome'
    WHERE o.record IN (SELECT n.record FROM outcomes n WHERE n.seq > :after) ORDER BY o.seq"""
_CLAIMED: Final = "SELECT 1 FROM claims LIMIT 1"
_SIGNS: Final = [
    f"""
    SELECT m.seq, m.session, m.at FROM {table} m
    JOIN journal j ON j.seq = m.seq AND j.kind = '{kind}'
    WHERE m.session IN (SELECT session FROM claims)"""  # noqa: S608 - constants of this module
    for kind, table in journal.TABLES.items()
]
_ALL_SIGNS: Final = " UNION ALL ".join(_SIGNS) + " ORDER BY 1"


class Span(NamedTuple):
    """What stands behind one seq, up to another."""

    after: int = _BEFORE_ALL
    upto: int = END


def columns(kind: str) -> tuple[str, ...]:
    """The names of what `rows` gives of a kind."""
    return ("seq", "salt", "body", "body_commit", *entry.columns(kind, 1))


def lines(tx: Tx, span: Span) -> Iterator[tuple[Any, ...]]:
    """seq, kind, v, entry_hash and chain of each line."""
    return tx.tuples(_LINES, first=span.after + 1, upto=span.upto)


def rows(tx: Tx, kind: str, span: Span) -> Iterator[tuple[Any, ...]]:
    """seq, salt, body and its commitment of each row of a kind, then what its entry is made of."""
    return tx.tuples(_ROWS[kind], first=span.after + 1, upto=span.upto)


def unlinked(tx: Tx, span: Span) -> frozenset[int]:
    """The seqs of versions that do not follow the version before them."""
    found = tx.each(_UNLINKED, first=span.after + 1, upto=span.upto)
    return frozenset(row["seq"] for row in found)


def last_upto(tx: Tx, seq: int) -> int:
    """The newest line that is not behind a seq, 0 where there is none."""
    found = tx.one(_LAST_UPTO, seq=seq)
    return int(found["seq"]) if found else 0


def chain_at(tx: Tx, seq: int) -> bytes | None:
    """The chain in the line with that seq; before the first stands the genesis."""
    if seq == 0:
        return entry.GENESIS
    found = tx.one(_CHAIN_AT, seq=seq)
    return bytes(found["chain"]) if found else None


def moves(tx: Tx, kind: str) -> Iterator[Row]:
    """Each outcome, packet or claim that the journal names."""
    return tx.each(_MOVES[kind])


def outcomes_since(tx: Tx, after: int) -> Iterator[Row]:
    """Each outcome of a version that has one behind a seq."""
    return tx.each(_OUTCOMES_SINCE, after=after)


def signs_of_life(tx: Tx) -> Iterator[Row]:
    """seq, session and time of each write of a session that ever claimed a packet."""
    return tx.each(_ALL_SIGNS) if tx.one(_CLAIMED) else iter(())
