"""What every write shares: the journal entry, signs of life, leases that run anew, and retries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handoff_memory.core import canonical, packet
from handoff_memory.core.author import Author
from handoff_memory.core.digest import sha256
from handoff_memory.core.errors import RequestMismatchError, SecretRefusedError
from handoff_memory.rules import redact
from handoff_memory.store import journal, packets, sessions
from handoff_memory.store.engine import Row, Tx
from handoff_memory.store.journal import Appended

Reply = dict[str, Any]


def append(  # noqa: PLR0913 - one keyword a part of the entry
    tx: Tx,
    who: Author,
    kind: str,
    fields: dict[str, Any],
    *,
    body: bytes | None = None,
    prev: bytes | None = None,
    op: str | None = None,
    beside: bool = False,
) -> Appended:
    """Journal one write of an agent.

    Args:
        tx: A write transaction.
        who: The author.
        kind: Kind of the entry.
        fields: The fields of that kind beside those of the author.
        body: What the salted commitment covers.
        prev: Hash of the version before.
        op: The caller's request_id.
        beside: Whether the same operation has just journaled another one.
    """
    if not beside:
        for held in packets.held_by(tx, who.session):
            if packet.renewed(state_of(held), who.session, tx.now).renewed_at == tx.now:
                packets.renew(tx, held["packet"], tx.now)
    row = {
        **fields,
        "agent": who.agent,
        "session": who.session,
        "authn": who.authn,
        "at": tx.now,
        "op": op,
        "prev": prev,
    }
    appended = journal.append(tx, kind, row, body)
    if not beside:
        sessions.seen(tx, who.session, who.agent, pid=who.pid, host=who.host, seq=appended.seq)
    return appended


def once(
    tx: Tx, who: Author, request_id: str | None, digest: bytes, operation: Callable[[], Reply]
) -> Reply:
    """The reply of an operation that a retry with the same request_id does not repeat.

    Raises:
        RequestMismatchError: The request_id was used with other arguments.
        SecretRefusedError: The request_id looks like a secret.
    """
    if request_id is None:
        return operation()
    if kinds := redact.secret_kinds(request_id):
        raise SecretRefusedError(f"the request_id looks like a secret ({', '.join(kinds)})")
    if kept := sessions.recall_request(tx, who.agent, request_id):
        if bytes(kept["digest"]) != digest:
            raise RequestMismatchError(f"request_id {request_id!r} was used with other arguments")
        return {**canonical.decode(kept["reply"]), "replayed": True}
    reply = operation()
    sessions.keep_request(
        tx,
        who.agent,
        request_id,
        digest=digest,
        seq=journal.head(tx).seq,
        reply=canonical.encode(reply).decode(),
    )
    return reply


def digest_of(tool: str, arguments: dict[str, Any]) -> bytes:
    """What makes two requests the same: the tool and its arguments after redaction."""
    return sha256(b"hm/request/1\0" + canonical.encode([tool, arguments])).digest()


def state_of(row: Row) -> packet.PacketState:
    """The state in a row of `packet_states`."""
    return packet.PacketState(
        row["state"],
        row["holder"],
        row["holder_session"],
        row["token"],
        row["renewed_at"],
        row["lease_us"],
        row["deliveries"],
    )


def store_state(tx: Tx, packet_id: str, state: packet.PacketState) -> None:
    """Keep the state of a packet."""
    packets.set_state(tx, packet_id, state._asdict())
