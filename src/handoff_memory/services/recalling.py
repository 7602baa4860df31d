"""`osiris_recall`: a part of a payload, filtered here, so that only what was asked for is read."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from handoff_memory.core import cursor
from handoff_memory.core.author import Author
from handoff_memory.services import refs
from handoff_memory.services.limits import Limits
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Row, Tx

_ENVELOPE_BYTES: Final = 400


def payload(tx: Tx, text: str) -> tuple[Row, bytes]:
    """The row and the checked bytes of what a ref means.

    Raises:
        NotFoundError: It means none.
        CorruptRefError: The bytes are not those that were kept.
    """
    row = refs.find(tx, text)
    return row, refs.read(tx, row)


def answer(
    limits: Limits,
    row: Row,
    data: bytes,
    *,
    op: str,
    options: Mapping[str, Any],
    after: str | None = None,
) -> Reply:
    """What a payload says to a question, how much is left, and how to go on.

    Raises:
        InputError: The question is wrong, or its pattern takes too long.
    """
    # Costs a fifth of a second of imports, which only a recall should pay.
    from handoff_memory.rules import query  # noqa: PLC0415

    call = cursor.fingerprint("recall", row["ref"], op, dict(options))
    given = dict(options)
    if after:
        (given["position"],) = cursor.unseal(after, call, 1)
    found = query.ask(
        data,
        row["media_type"],
        query.question(op, given),
        ceiling_bytes=max(query.MIN_CEILING_BYTES, limits.reply_bytes - _ENVELOPE_BYTES),
        clock=time.monotonic,
    )
    reply: Reply = {"ref": refs.short(row), "text": found.text}
    if found.notes:
        reply["notes"] = list(found.notes)
    if found.left:
        reply["left"] = f"{found.left:,} {found.unit}"
    if found.next is not None:
        reply["next_cursor"] = cursor.seal(call, found.next)
    return reply


def about(row: Row, who: Author) -> Reply:
    """What a payload is, without its bytes."""
    return {
        "ref": refs.short(row),
        "sha256": row["ref"],
        "size_bytes": row["size_bytes"],
        "media_type": row["media_type"],
        "kept_by": "you" if row["agent"] == who.agent else row["agent"],
    }
