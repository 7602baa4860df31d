"""Verification of what was written since a head that was found good, in time that only that takes.

It says nothing of what lies before: a value altered there is found by a full verification, which
never trusts a mark. The mark itself may come from the file, where whoever can edit a value can move
it too, or from elsewhere, where nobody can.
"""

from __future__ import annotations

from typing import Final

from handoff_memory.core import lazy
from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.services import findings, verify_rows
from handoff_memory.services.verify_replay import Replay
from handoff_memory.services.writing import Reply
from handoff_memory.store import health, journal, sealed
from handoff_memory.store.engine import Row, Tx
from handoff_memory.store.journal import Head
from handoff_memory.store.sealed import Span

LAST: Final = "last"
_MARK: Final = "verified"
_HEAD: Final = lazy.pattern("([0-9]{1,18}):([0-9a-f]{64})")
NOT_CHECKED: Final = (
    "lines up to that one, claim states of packets, kept states of tasks, payloads, the schema and "
    "the file: --verify alone checks everything"
)


def marked(tx: Tx, given: str) -> Head:
    """The head that is meant by `last`, or by `SEQ:CHAIN`.

    Raises:
        InvalidArgumentError: It is neither, or no head was found good so far.
    """
    if given == LAST:
        kept = health.meta(tx, _MARK)
        if not kept:
            raise InvalidArgumentError(
                "no head was verified so far", way_out="Verify everything once: --verify alone."
            )
        given = kept
    if not (found := _HEAD.fullmatch(given)):
        raise InvalidArgumentError(
            f"{given!r} is no head", way_out="Use last, or SEQ:CHAIN as a report's head says."
        )
    return Head(int(found[1]), bytes.fromhex(found[2]))


def last_good(tx: Tx) -> int | None:
    """The seq of the head that was found good last, as the file says; None where none was."""
    found = _HEAD.fullmatch(health.meta(tx, _MARK))
    return int(found[1]) if found else None


def mark(tx: Tx, head: Reply) -> None:
    """Remember a head that was found good; no hash covers that."""
    health.set_meta(tx, _MARK, f"{head['seq']}:{head['chain']}")


def verify(tx: Tx, start: Head) -> Reply:
    """Check the lines behind a head, and every cache of what they wrote.

    Args:
        tx: One read transaction.
        start: Seq and chain that a verification once gave as `head`.
    """
    found = []
    if sealed.chain_at(tx, start.seq) != start.chain:
        what = "its chain is not the one that was found good"
        found.append(findings.problem("journal", f"seq {start.seq}", what))
    walked = verify_rows.walk(tx, Span(start.seq), chain=start.chain)
    replay = Replay(tx)
    for row in sealed.outcomes_since(tx, start.seq):
        replay.outcome(row)
    opinions = replay.opinion_problems(health.opinions_since(tx, start.seq))
    found += [one.problem for one in (*walked.found, *replay.found)]
    found += [
        *(
            _of_name(row, "the current version is not the newest")
            for row in health.wrong_heads_since(tx, start.seq)
        ),
        *opinions,
        *(
            _of_name(row, "it is missing from the full-text index")
            for row in health.unsearchable_since(tx, start.seq)
        ),
    ]
    head = journal.head(tx)
    return {
        "ok": not found,
        "checked": walked.checked,
        "problems": found,
        "head": {"seq": head.seq, "chain": head.chain.hex()},
        "since": {"seq": start.seq, "chain": start.chain.hex()},
        "not_checked": NOT_CHECKED,
    }


def _of_name(row: Row, what: str) -> Reply:
    name = f"{row['scope']}/{row['key']}"
    return findings.problem("record", name, what, version=row["version"])
