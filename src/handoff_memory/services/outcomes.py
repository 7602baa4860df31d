"""Outcomes: what really happened with a version, which moves its confidence."""

from __future__ import annotations

from typing import Final, NamedTuple

from handoff_memory.core import canonical, confidence, names
from handoff_memory.core.author import Author
from handoff_memory.core.confidence import Outcome
from handoff_memory.core.errors import NotFoundError
from handoff_memory.core.names import Name
from handoff_memory.services import memory, reading, writing
from handoff_memory.services.limits import MAX_NOTE_CHARS, Limits, refuse_secret
from handoff_memory.services.writing import Reply
from handoff_memory.store import packets, records
from handoff_memory.store.engine import Tx

_WITHOUT_PACKET: Final = "Report without packet_id, or with the id that handoff_pickup gave."


class OutcomeDraft(NamedTuple):
    """An outcome that is ready to be recorded."""

    name: Name
    outcome: Outcome
    note: str | None
    packet: str | None
    redacted: tuple[str, ...]
    digest: bytes


def draft_outcome(
    limits: Limits,
    *,
    name: Name,
    outcome: Outcome,
    note: str | None = None,
    packet: str | None = None,
    reserved: bool = False,
) -> OutcomeDraft:
    """Check and redact what is to be reported.

    Raises:
        InputError: What is wrong with an argument; nothing was written.
    """
    if not reserved:
        names.writable(name)
    clean = memory.free_text(limits, "note", note, MAX_NOTE_CHARS)
    if packet is not None:
        refuse_secret(limits, "packet_id", packet)
    arguments = {"name": str(name), "outcome": outcome, "note": clean.value, "packet": packet}
    digest = writing.digest_of("memory_outcome", arguments)
    return OutcomeDraft(name, outcome, clean.value, packet, clean.kinds, digest)


def report(tx: Tx, who: Author, draft: OutcomeDraft, *, op: str | None = None) -> Reply:
    """Record what really happened with a version; moves that version's confidence.

    Raises:
        NotFoundError: No such record, version or packet.
        RequestMismatchError: The request_id was used with other arguments.
    """
    return writing.once(tx, who, op, draft.digest, lambda: _report(tx, who, draft, op))


def _report(tx: Tx, who: Author, draft: OutcomeDraft, op: str | None) -> Reply:
    row = reading.get(tx, who.project, draft.name)
    if draft.packet and not packets.exists(tx, draft.packet):
        raise NotFoundError(f"no packet {draft.packet}", way_out=_WITHOUT_PACKET, nearest=[])
    before = int(row["confidence"])
    after = confidence.moved(before, draft.outcome)
    fields = {
        "record": row["seq"],
        "outcome": draft.outcome,
        "before": before,
        "after": after,
        "packet": draft.packet,
    }
    body = None if draft.note is None else canonical.encode(draft.note)
    writing.append(tx, who, "outcome", fields, body=body, op=op)
    records.add_opinion(tx, row["seq"], draft.outcome, after)
    now = reading.get(tx, who.project, draft.name.at(row["version"]))
    reply = {
        "scope": draft.name.scope,
        "key": draft.name.key,
        "version": row["version"],
        "before": confidence.to_fraction(before),
        "after": confidence.to_fraction(after),
        "counts": reading.counts(now),
        "current_version": row["current_version"],
    }
    if row["version"] != row["current_version"]:
        reply["note"] = (
            f"recorded on version {row['version']}; version {row['current_version']} is current "
            "and was left alone"
        )
    return memory.with_redacted(reply, draft.redacted)
