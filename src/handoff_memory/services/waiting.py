"""Which packets wait for an agent: what is asked at each start and each prompt of a session."""

from __future__ import annotations

from handoff_memory.core import packet
from handoff_memory.core.author import Author
from handoff_memory.services import writing
from handoff_memory.store import packets
from handoff_memory.store.engine import Row, Tx


def count(tx: Tx, who: Author) -> int:
    """How many packets wait for this agent."""
    rows = packets.open_states(tx, who.project, who.agent)
    return sum(waits_for(tx, who, row, row["author_session"]) for row in rows)


def rows(tx: Tx, who: Author) -> list[Row]:
    """The packets that wait for this agent, in the order in which it would get them."""
    found = packets.open_for(tx, who.project, who.agent)
    return [row for row in found if waits_for(tx, who, row, row["session"])]


def waits(tx: Tx, row: Row) -> bool:
    """Whether nobody has taken a packet, and it still may be."""
    return packet.effective(writing.state_of(row), row["expires_at"], tx.now) == "waiting"


def waits_for(tx: Tx, who: Author, row: Row, author_session: str) -> bool:
    """Whether it waits for this session, which does not get what it left for anyone itself."""
    own = row["recipient"] is None and author_session == who.session
    return waits(tx, row) and not own


def told(tx: Tx, who: Author) -> str | None:
    """One line for a model while packets wait."""
    waiting = count(tx, who)
    if not waiting:
        return None
    packets_wait = "1 handoff packet waits" if waiting == 1 else f"{waiting} handoff packets wait"
    return f"handoff-memory: {packets_wait} for {who.agent}; handoff_pickup claims the next one."
