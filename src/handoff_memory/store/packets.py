"""Rows of handoff packets and the cache of their states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from handoff_memory.store.engine import Row, Tx

_PACKET: Final = """
    SELECT p.seq, p.project, p.packet, p.recipient, p.status, p.priority, p.expires_at,
        p.in_reply_to, p.thread, p.pins, p.agent, p.session, p.at, p.body, j.entry_hash,
        s.state, s.holder, s.holder_session, s.token, s.renewed_at, s.lease_us, s.deliveries
    FROM packets p
    JOIN journal j ON j.seq = p.seq
    JOIN packet_states s ON s.seq = p.seq"""
_BY_ID: Final = _PACKET + " WHERE p.packet = :packet"
_THREAD: Final = _PACKET + " WHERE p.thread = :thread ORDER BY p.seq"
_OPEN: Final = (
    _PACKET
    + """
    WHERE s.project = :project AND s.state IN ('waiting', 'claimed')
        AND (s.recipient IS NULL OR s.recipient = :agent)
    ORDER BY s.priority DESC, s.seq"""
)
_OPEN_IN: Final = (
    _PACKET
    + """
    WHERE s.project = :project AND s.state IN ('waiting', 'claimed')
    ORDER BY s.priority DESC, s.seq LIMIT :limit"""
)
_CLOSED_IN: Final = (
    _PACKET
    + """
    WHERE p.project = :project AND s.state NOT IN ('waiting', 'claimed')
    ORDER BY p.seq DESC LIMIT :limit"""
)
_RECENT: Final = _PACKET + " WHERE p.project = :project ORDER BY p.seq DESC LIMIT :limit"

# An open packet whose lease ran out waits again; one whose time is over has expired.
_OPEN_STATES: Final = """
    SELECT s.*, p.session AS author_session, p.status FROM packet_states s
    JOIN packets p ON p.seq = s.seq
    WHERE s.project = :project AND s.state IN ('waiting', 'claimed')
        AND (s.recipient IS NULL OR s.recipient = :agent)"""
_HELD: Final = "SELECT * FROM packet_states WHERE state = 'claimed' AND holder_session = :session"
_FREE: Final = "packets.free"  # sessions that hold none
_IDS: Final = "SELECT 1 FROM packets WHERE packet = :packet"

_ADD_STATE: Final = """
    INSERT INTO packet_states (seq, packet, project, recipient, priority, expires_at, state,
        deliveries)
    VALUES (:seq, :packet, :project, :recipient, :priority, :expires_at, :state, 0)"""
_SET_STATE: Final = """
    UPDATE packet_states SET state = :state, holder = :holder, holder_session = :holder_session,
        token = :token, renewed_at = :renewed_at, lease_us = :lease_us, deliveries = :deliveries
    WHERE packet = :packet"""
_RENEW: Final = "UPDATE packet_states SET renewed_at = :at WHERE packet = :packet"

_CLAIMS: Final = """
    SELECT seq, action, agent, session, at, body FROM claims
    WHERE packet = :packet ORDER BY seq"""
# An open packet whose lease ran out waits again; one whose time is over has expired (core.packet).
_BY_STATE: Final = """
    SELECT CASE
        WHEN state NOT IN ('waiting', 'claimed') THEN state
        WHEN state = 'claimed' AND renewed_at + lease_us > :now THEN 'claimed'
        WHEN expires_at IS NOT NULL AND expires_at <= :now THEN 'expired'
        ELSE 'waiting' END AS state, count(*) AS packets
    FROM packet_states WHERE project = :project GROUP BY 1 ORDER BY 1"""
_STATES: Final = "SELECT * FROM packet_states ORDER BY seq"


def by_id(tx: Tx, packet: str) -> Row | None:
    """A packet with its state."""
    return tx.one(_BY_ID, packet=packet)


def exists(tx: Tx, packet: str) -> bool:
    """Whether a packet has that id."""
    return tx.one(_IDS, packet=packet) is not None


def thread(tx: Tx, thread_id: str) -> list[Row]:
    """The packets of a thread, oldest first."""
    return tx.all(_THREAD, thread=thread_id)


def open_for(tx: Tx, project: str, agent: str) -> list[Row]:
    """Packets for an agent or for nobody that are not closed: highest priority, then oldest."""
    return tx.all(_OPEN, project=project, agent=agent)


def open_in(tx: Tx, project: str, limit: int) -> list[Row]:
    """Packets of a project that are not closed, for whomever: highest priority, then oldest."""
    return tx.all(_OPEN_IN, project=project, limit=limit)


def closed_in(tx: Tx, project: str, limit: int) -> list[Row]:
    """Packets of a project that are closed, newest first."""
    return tx.all(_CLOSED_IN, project=project, limit=limit)


def open_states(tx: Tx, project: str, agent: str) -> list[Row]:
    """The states alone of what `open_for` gives, for counting."""
    return tx.all(_OPEN_STATES, project=project, agent=agent)


def recent(tx: Tx, project: str, limit: int) -> list[Row]:
    """The newest packets of a project."""
    return tx.all(_RECENT, project=project, limit=limit)


def held_by(tx: Tx, session: str) -> list[Row]:
    """States of what a session claimed and has not given back."""
    free: set[str] = tx.known.setdefault(_FREE, set())
    if session in free:
        return []
    found = tx.all(_HELD, session=session)
    if not found:
        free.add(session)
    return found


def add_state(tx: Tx, seq: int, row: dict[str, Any], state: str) -> None:
    """The first state of a packet."""
    tx.run(
        _ADD_STATE,
        seq=seq,
        packet=row["packet"],
        project=row["project"],
        recipient=row["recipient"],
        priority=row["priority"],
        expires_at=row["expires_at"],
        state=state,
    )


def set_state(tx: Tx, packet: str, values: dict[str, Any]) -> None:
    """Replace the state of a packet."""
    tx.known.pop(_FREE, None)
    tx.run(_SET_STATE, packet=packet, **values)


def renew(tx: Tx, packet: str, at: int) -> None:
    """Let a lease run anew from that time."""
    tx.run(_RENEW, packet=packet, at=at)


def claims(tx: Tx, packet: str) -> list[Row]:
    """What happened to a packet, oldest first."""
    return tx.all(_CLAIMS, packet=packet)


def count_by_state(tx: Tx, project: str, now: int) -> list[Row]:
    """How many packets of a project are in each state at that time."""
    return tx.all(_BY_STATE, project=project, now=now)


def states(tx: Tx) -> Iterator[Row]:
    """The state of every packet."""
    return tx.each(_STATES)
