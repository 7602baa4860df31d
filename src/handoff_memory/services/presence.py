"""Who is alive: sessions, twins of the same agent, and what each agent wrote last."""

from __future__ import annotations

from collections.abc import Callable

from handoff_memory.core import times
from handoff_memory.core.author import Author
from handoff_memory.services.writing import Reply
from handoff_memory.store import health, journal, packets, sessions
from handoff_memory.store.engine import Row, Tx

IsAlive = Callable[[Row], bool]


def enter(tx: Tx, who: Author) -> None:
    """A session shows that it is there."""
    sessions.seen(tx, who.session, who.agent, pid=who.pid, host=who.host, seq=0)


def leave(tx: Tx, who: Author) -> None:
    """A session ends in good order."""
    sessions.ended(tx, who.session)


def twins(tx: Tx, who: Author, is_alive: IsAlive) -> list[Reply]:
    """Other live sessions with the same agent id: two minds under one name."""
    return [
        {"session": row["session"], "pid": row["pid"], "seen": times.iso(row["seen_at"])}
        for row in sessions.others(tx, who.agent, who.session)
        if is_alive(row)
    ]


def roll(tx: Tx, is_alive: IsAlive, *, limit: int) -> list[Reply]:
    """Agents with their last write and how many of their sessions are alive, latest first."""
    return [
        {
            **_agent(tx, row),
            "alive": sum(map(is_alive, sessions.others(tx, row["agent"], ""))),
        }
        for row in sessions.agents(tx, limit)
    ]


def stats(tx: Tx, who: Author, *, scope: str = "", limit: int = 20) -> Reply:
    """Counts, agents with their last write, and the end of the journal."""
    head = journal.head(tx)
    return {
        "counts": health.counts(tx, scope),
        "packets": _packets_by_state(tx, who),
        "agents": [_agent(tx, row) for row in sessions.agents(tx, limit)],
        "head": {"seq": head.seq, "chain": head.chain.hex()},
        "database_id": health.meta(tx, "database_id"),
    }


def _agent(tx: Tx, row: Row) -> Reply:
    found: Reply = {
        "agent": row["agent"],
        "sessions": row["sessions"],
        "seen": times.iso(row["seen_at"]),
    }
    if row["last_seq"]:
        (last,) = journal.log(tx, after=row["last_seq"] - 1, limit=1) or (None,)
        if last:
            found["last_write"] = f"{last['action']} {last['subject']}"
            found["last_write_at"] = times.iso(last["at"])
    return found


def _packets_by_state(tx: Tx, who: Author) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in packets.count_by_state(tx, who.project, tx.now):
        found[row["state"]] = row["packets"]
    return found
