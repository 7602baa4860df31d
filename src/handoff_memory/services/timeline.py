"""The journal as a person reads it: who did what to which record or packet, in order."""

from __future__ import annotations

from handoff_memory.core import times
from handoff_memory.services.writing import Reply
from handoff_memory.store import journal
from handoff_memory.store.engine import Tx


def entries(tx: Tx, *, after: int | None = None, limit: int) -> list[Reply]:
    """Writes of every kind, oldest first: those after a seq, or the newest."""
    return [
        {
            "seq": row["seq"],
            "at": None if row["at"] is None else times.iso(row["at"]),
            "kind": row["kind"],
            "action": row["action"],
            "subject": row["subject"],
            "agent": row["agent"],
            "session": row["session"],
            "hash": bytes(row["entry_hash"]).hex(),
        }
        for row in journal.log(tx, after=after, limit=limit)
    ]
