"""The journal as a person reads it: who did what to which record or packet, in order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from handoff_memory.core import entry, times
from handoff_memory.services.writing import Reply
from handoff_memory.store import journal
from handoff_memory.store.engine import Row, Tx

KINDS: Final = tuple(kind for kind, _ in entry.FIELDS)
_LOOKED_AT: Final = 5000
_BARS: Final = 30
_MINUTE: Final = 60
_SPANS_S: Final = tuple(
    minutes * _MINUTE for minutes in (1, 5, 15, 60, 180, 720, 1440, 10_080, 43_200)
)


Wanted = journal.LogFilter


def head(tx: Tx) -> int:
    """The seq of the newest write, 0 where there is none."""
    return journal.head(tx).seq


def entries(tx: Tx, *, after: int | None = None, limit: int) -> list[Reply]:
    """Writes of every kind, oldest first: those after a seq, or the newest."""
    return [_told(row) for row in journal.log(tx, after=after, limit=limit)]


def filtered(tx: Tx, wanted: Wanted, *, below: int | None, limit: int) -> Reply:
    """Writes that a filter lets through, newest first.

    A filter that fits few gives a short page: one looks at so many lines only. `next_below` is
    where the next page begins, None at the beginning of the journal.
    """
    start = below if below is not None else journal.head(tx).seq + 1
    rows = journal.log_before(tx, wanted, below=start, looked_at=_LOOKED_AT, limit=limit)
    end = rows[-1]["seq"] if len(rows) == limit else max(1, start - _LOOKED_AT)
    return {"entries": [_told(row) for row in rows], "next_below": end if end > 1 else None}


def rate(tx: Tx) -> Reply:
    """How many writes fell into each of the latest spans of time, oldest first.

    The journal has no gap, so a count is a difference of two seqs, and a seq is found by halving.
    """
    head = journal.head(tx).seq
    first = journal.at(tx, 1) if head else None
    age_s = 0 if first is None else (tx.now - first) // times.SECOND
    span_s = next((span for span in _SPANS_S if span * _BARS >= age_s), _SPANS_S[-1])
    span = span_s * times.SECOND
    end = tx.now - tx.now % span + span
    starts = [end - span * back for back in range(_BARS, 0, -1)]
    seqs = [*_seqs(tx, head, starts), head + 1]
    bars = [
        {"at": times.iso(start), "writes": after - before}
        for start, (before, after) in zip(starts, pairwise(seqs), strict=True)
    ]
    return {"span_s": span_s, "bars": bars}


def _seqs(tx: Tx, head: int, moments: list[int]) -> Iterator[int]:
    """For each moment, in order, the first seq that was written then or later."""
    low = 1
    for moment in moments:
        high = head + 1
        while low < high:
            middle = (low + high) // 2
            if (journal.at(tx, middle) or 0) < moment:
                low = middle + 1
            else:
                high = middle
        yield low


def _told(row: Row) -> Reply:
    return {
        "seq": row["seq"],
        "at": None if row["at"] is None else times.iso(row["at"]),
        "kind": row["kind"],
        "action": row["action"],
        "subject": row["subject"],
        "agent": row["agent"],
        "session": row["session"],
        "hash": bytes(row["entry_hash"]).hex(),
    }
