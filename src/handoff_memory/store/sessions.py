"""Sessions and requests: not hashed, kept so that twins, dead holders and retries are known."""

from __future__ import annotations

from typing import Final

from handoff_memory.store.engine import Row, Tx

_SIGN: Final = "sessions.sign"
_SEEN: Final = """
    INSERT INTO sessions (session, agent, pid, host, started_at, seen_at, ended_at, seq)
    VALUES (:session, :agent, :pid, :host, :at, :at, NULL, :seq)
    ON CONFLICT (session) DO UPDATE SET agent = excluded.agent, pid = excluded.pid,
        host = excluded.host, seen_at = excluded.seen_at, ended_at = NULL,
        seq = max(seq, excluded.seq)"""
# Most signs are of a session that is known and open: then no index is touched.
_SEEN_AGAIN: Final = """
    UPDATE sessions SET pid = :pid, host = :host, seen_at = :at, seq = max(seq, :seq)
    WHERE session = :session AND agent = :agent AND ended_at IS NULL"""
_ENDED: Final = "UPDATE sessions SET ended_at = :at, seen_at = :at WHERE session = :session"
_GET: Final = "SELECT * FROM sessions WHERE session = :session"
_OTHERS: Final = """
    SELECT * FROM sessions WHERE agent = :agent AND session <> :session AND ended_at IS NULL
    ORDER BY seen_at DESC LIMIT 20"""
_AGENTS: Final = """
    SELECT agent, count(*) AS sessions, max(seen_at) AS seen_at, max(seq) AS last_seq
    FROM sessions GROUP BY agent ORDER BY seen_at DESC, agent LIMIT :limit"""

_RECALL: Final = """
    SELECT digest, reply FROM requests WHERE agent = :agent AND request_id = :request_id"""
_KEEP: Final = """
    INSERT INTO requests (agent, request_id, digest, seq, reply)
    VALUES (:agent, :request_id, :digest, :seq, :reply)"""


def seen(tx: Tx, session: str, agent: str, *, pid: int | None, host: str | None, seq: int) -> None:
    """A sign of life of a session; `seq` is its newest write, 0 for none.

    It is kept once for all operations of a transaction, the latest of them with the newest write.
    """
    sign = _SIGN, session
    earlier = tx.known.get(sign)
    if earlier is None:
        tx.put_off[sign] = lambda tx: _keep_sign(tx, session)
    elif earlier[-1] > seq:
        seq = earlier[-1]
    tx.known[sign] = agent, pid, host, seq


def _keep_sign(tx: Tx, session: str) -> None:
    agent, pid, host, seq = tx.known.pop((_SIGN, session))
    columns = {"session": session, "agent": agent, "pid": pid, "host": host, "seq": seq}
    if not tx.run(_SEEN_AGAIN, at=tx.now, **columns):
        tx.run(_SEEN, at=tx.now, **columns)


def ended(tx: Tx, session: str) -> None:
    """A session left in good order."""
    tx.settle()
    tx.run(_ENDED, session=session, at=tx.now)


def find(tx: Tx, session: str) -> Row | None:
    """What is known of a session."""
    tx.settle()
    return tx.one(_GET, session=session)


def others(tx: Tx, agent: str, session: str) -> list[Row]:
    """Sessions of the same agent that have not ended."""
    tx.settle()
    return tx.all(_OTHERS, agent=agent, session=session)


def agents(tx: Tx, limit: int) -> list[Row]:
    """Agents with their last sign of life, latest first."""
    tx.settle()
    return tx.all(_AGENTS, limit=limit)


def recall_request(tx: Tx, agent: str, request_id: str) -> Row | None:
    """What a request of an agent was answered."""
    return tx.one(_RECALL, agent=agent, request_id=request_id)


def keep_request(
    tx: Tx, agent: str, request_id: str, *, digest: bytes, seq: int, reply: str
) -> None:
    """Remember what a request was answered."""
    tx.run(_KEEP, agent=agent, request_id=request_id, digest=digest, seq=seq, reply=reply)
