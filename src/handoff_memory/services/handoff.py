"""Handoff packets: writing them, claiming exactly once, handing back, and what moved since.

A packet pins exact versions of records. Whoever picks it up gets those versions and a list of the
ones that have been replaced; the newer value is never slipped in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from handoff_memory.core import canonical, names, packet, times
from handoff_memory.core.author import Author
from handoff_memory.core.errors import (
    AlreadyClaimedError,
    ClaimLostError,
    NotFoundError,
    PacketClosedError,
    PinNotFoundError,
    TooLargeError,
)
from handoff_memory.core.packet import Action, Claim, Status
from handoff_memory.rules import redact
from handoff_memory.services import packet_views, reading, waiting, writing
from handoff_memory.services.limits import Limits
from handoff_memory.services.packet_drafts import PacketDraft
from handoff_memory.services.writing import Reply
from handoff_memory.store import packets, sessions
from handoff_memory.store.engine import Row, Tx

IsDead = Callable[[Row], bool]

_ID_BYTES: Final = 4
_MAX_READ_BACK: Final = 2000


# --- writing -----------------------------------------------------------------------------------


def create(tx: Tx, who: Author, draft: PacketDraft, *, op: str | None = None) -> Reply:
    """Write a packet, or hand one back where the draft has a status.

    Raises:
        PinNotFoundError: A pin names no record.
        NotFoundError: in_reply_to names no packet.
        ClaimLostError: The caller does not hold the packet it hands back.
        PacketClosedError: That packet is closed.
        RequestMismatchError: The request_id was used with other arguments.
    """
    return writing.once(tx, who, op, draft.digest, lambda: _create(tx, who, draft, op))


def _create(tx: Tx, who: Author, draft: PacketDraft, op: str | None) -> Reply:
    parent = packet_views.get(tx, who.project, draft.in_reply_to) if draft.in_reply_to else None
    recipient = draft.recipient
    if parent and draft.status:
        _may_end(tx, who, parent, draft.status, draft.token)
        recipient = _told(tx, who, parent, draft.status)
    pins = [_pinned(tx, who, name) for name in draft.pins]
    packet_id = _new_id(tx)
    fields = {
        "project": parent["project"] if parent else who.project,
        "packet": packet_id,
        "recipient": recipient,
        "status": draft.status,
        "priority": packet.PRIORITIES.index(draft.priority),
        "expires_at": None
        if draft.expires_in_s is None
        else tx.now + draft.expires_in_s * times.SECOND,
        "in_reply_to": draft.in_reply_to,
        "thread": parent["thread"] if parent else packet_id,
        "pins": canonical.encode(pins).decode(),
    }
    prev = bytes(parent["entry_hash"]) if parent else None
    new = writing.append(tx, who, "packet", fields, body=draft.body, prev=prev, op=op)
    first = packet.first_state(status=draft.status, author=who.agent, recipient=recipient)
    packets.add_state(tx, new.seq, fields, first.state)
    if parent and draft.status:
        _claim(tx, who, parent, draft.status, op=op)
    reply: Reply = {
        "packet_id": packet_id,
        "to": recipient,
        "pins": [packet_views.pin_name(pin) for pin in pins],
        "thread": fields["thread"],
        "hash": new.entry_hash.hex(),
    }
    if draft.status:
        reply["closed"] = {"packet_id": draft.in_reply_to, "status": draft.status}
    if draft.warnings:
        reply["warnings"] = list(draft.warnings)
    if draft.redacted:
        reply["redacted"] = list(draft.redacted)
    return reply


def _may_end(tx: Tx, who: Author, parent: Row, status: Status, token: int | None) -> None:
    state = writing.state_of(parent)
    now = packet.effective(state, parent["expires_at"], tx.now)
    packet_id = parent["packet"]
    if now in {"done", "returned", "withdrawn"}:
        raise PacketClosedError(f"packet {packet_id} is {now}", state=now)
    if status == "withdrawn":
        if parent["agent"] != who.agent:
            raise ClaimLostError(
                f"only {parent['agent']}, who wrote {packet_id}, can withdraw it",
                way_out="Hand it back with status returned or released instead.",
            )
        return
    holder = state.holder if now == "claimed" else None
    mine = holder == who.agent and (
        state.token == token if token is not None else state.holder_session == who.session
    )
    if not mine:
        said = (
            f"{packet_id} is held by {holder}"
            if holder
            else f"{packet_id} is {now}: no claim of yours"
        )
        raise ClaimLostError(said, state=now, holder=holder)


def _told(tx: Tx, who: Author, parent: Row, status: Status) -> str:
    # A reply goes to the sender; a withdrawal to whoever is at work on the packet, if anybody.
    state = writing.state_of(parent)
    if status == "withdrawn" and packet.is_held(state, tx.now) and state.holder:
        return state.holder
    return str(parent["agent"])


def _pinned(tx: Tx, who: Author, name: names.Name) -> dict[str, Any]:
    try:
        row = reading.get(tx, who.project, name)
    except NotFoundError as error:
        raise PinNotFoundError(f"pin: {error.message}", **error.facts) from error
    return {
        "scope": name.scope,
        "key": name.key,
        "version": row["version"],
        "hash": bytes(row["entry_hash"]).hex(),
    }


def _new_id(tx: Tx) -> str:
    size = _ID_BYTES
    while packets.exists(tx, found := f"h_{tx.random(size).hex()}"):
        size += 1
    return found


# --- picking up --------------------------------------------------------------------------------


def pickup(  # noqa: PLR0913 - one keyword a choice of the caller
    tx: Tx,
    who: Author,
    limits: Limits,
    *,
    packet_id: str | None = None,
    read_back: str | None = None,
    token: int | None = None,
    is_dead: IsDead = lambda session: False,
    here: dict[str, Any] | None = None,
) -> Reply:
    """Claim what waits, exactly once; asking again gives the holder its own packet back.

    Args:
        tx: A write transaction.
        who: Who asks.
        limits: Sizes, and how long a claim holds.
        packet_id: A certain packet, else the oldest of the highest priority.
        read_back: What the receiver understood; the sender sees it.
        token: The token of the claim that `read_back` is about.
        is_dead: Whether the session in that row is known to be gone.
        here: The receiver's checkout.

    Raises:
        NotFoundError: No such packet.
        AlreadyClaimedError: Another session holds it, or it is for somebody else.
        ClaimLostError: The token is not of a claim in force.
        PacketClosedError: It is closed.
    """
    row = _choose(tx, who, packet_id, is_dead)
    if row is None:
        return {"packet": None, "note": "nothing waits for you"}
    state = writing.state_of(row)
    if token is not None and (state.token != token or not packet.is_held(state, tx.now)):
        raise ClaimLostError(f"token {token} is of no claim in force on {row['packet']}")
    if row["status"]:
        action: Action = "read"
    elif packet.is_held(state, tx.now):
        own = state.holder_session == who.session
        action = "resumed" if not own else "read_back" if read_back else "renewed"
    else:
        action = "claimed"
    note = _read_back(limits, read_back)
    _claim(tx, who, row, action, lease_us=limits.lease_s * times.SECOND, body=note)
    fresh = packet_views.get(tx, row["project"], row["packet"])
    reply = packet_views.view(tx, limits, fresh, here)
    held = writing.state_of(fresh)
    if action != "read":
        reply |= {"token": held.token, "lease_until": times.iso(packet.lease_until(held))}
    if action in {"resumed", "renewed", "read_back"}:
        reply["resumed"] = True
    if action == "claimed" and state.holder:
        reply["held_before"] = {
            "by": state.holder,
            "until": times.iso(packet.lease_until(state)),
        }
    return reply


def peek(
    tx: Tx,
    who: Author,
    limits: Limits,
    *,
    packet_id: str | None = None,
    is_dead: IsDead = lambda session: False,
    here: dict[str, Any] | None = None,
) -> Reply:
    """What a pickup would give, without taking it; a named packet in any state. Never writes.

    Raises:
        NotFoundError: No such packet.
    """
    row = (
        packet_views.get(tx, who.project, packet_id)
        if packet_id
        else _choose(tx, who, None, is_dead)
    )
    if row is None:
        return {"packet": None, "note": "nothing waits for you"}
    return packet_views.view(tx, limits, row, here)


def with_waiting(tx: Tx, who: Author, reply: Reply) -> Reply:
    """The reply, and how many packets wait while any do: nothing sits undelivered in silence."""
    count = waiting.count(tx, who)
    return {**reply, "waiting": count} if count else reply


def _choose(tx: Tx, who: Author, packet_id: str | None, is_dead: IsDead) -> Row | None:
    if packet_id:
        row = packet_views.get(tx, who.project, packet_id)
        _may_take(tx, who, row, is_dead)
        return row
    rows = packets.open_for(tx, who.project, who.agent)
    held = [row for row in rows if _held_by_me(tx, who, row, is_dead)]
    waits = (row for row in rows if waiting.waits_for(tx, who, row, row["session"]))
    return held[0] if held else next(waits, None)


def _may_take(tx: Tx, who: Author, row: Row, is_dead: IsDead) -> None:
    state = writing.state_of(row)
    now = packet.effective(state, row["expires_at"], tx.now)
    packet_id = row["packet"]
    if now not in {"waiting", "claimed"}:
        raise PacketClosedError(
            f"packet {packet_id} is {now}", state=now, way_out="Use peek: true to read it."
        )
    if row["recipient"] not in {None, who.agent}:
        raise AlreadyClaimedError(
            f"packet {packet_id} is for {row['recipient']}",
            holder=row["recipient"],
            way_out="Use peek: true to read it, or take a packet that waits for you.",
        )
    if now == "claimed" and not _held_by_me(tx, who, row, is_dead):
        until = times.iso(packet.lease_until(state))
        raise AlreadyClaimedError(
            f"packet {packet_id} is held by {state.holder} until {until}",
            holder=state.holder,
            lease_until=until,
        )


def _held_by_me(tx: Tx, who: Author, row: Row, is_dead: IsDead) -> bool:
    state = writing.state_of(row)
    if state.holder != who.agent or not packet.is_held(state, tx.now):
        return False
    if state.holder_session == who.session:
        return True
    session = sessions.find(tx, state.holder_session or "")
    return session is not None and is_dead(session)


def _claim(  # noqa: PLR0913 - one keyword a field of the entry
    tx: Tx,
    who: Author,
    row: Row,
    action: Action,
    *,
    lease_us: int | None = None,
    body: bytes | None = None,
    op: str | None = None,
) -> None:
    opens = action in {"claimed", "resumed"}
    fields = {
        "packet": row["packet"],
        "action": action,
        "lease_us": lease_us if opens else None,
    }
    new = writing.append(tx, who, "claim", fields, body=body, op=op)
    state = writing.state_of(packet_views.get(tx, row["project"], row["packet"]))
    claim = Claim(action, new.seq, lease_us, who.agent, who.session, tx.now)
    writing.store_state(tx, row["packet"], packet.applied(state, claim))


# --- parts -------------------------------------------------------------------------------------


def _read_back(limits: Limits, given: str | None) -> bytes | None:
    if given is None:
        return None
    if len(given) > _MAX_READ_BACK:
        raise TooLargeError(
            f"read_back has {len(given)} characters, the limit is {_MAX_READ_BACK}",
            way_out="Restate objective and first action in a few sentences.",
        )
    canonical.encode(given)
    return canonical.encode(redact.redact_text(given, limits.allowed).value)
