"""Reading records: one, several, or the history of what was believed; nothing here writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handoff_memory.core import canonical, confidence, cursor, names, times
from handoff_memory.core.author import Author
from handoff_memory.core.errors import InvalidArgumentError, NotFoundError
from handoff_memory.core.names import Name
from handoff_memory.rules import text
from handoff_memory.services.limits import MAX_NAMES, Limits
from handoff_memory.services.writing import Reply
from handoff_memory.store import records, search
from handoff_memory.store.engine import Row, Tx

_NEAREST: Final = 3
_PREVIEW_CHARS: Final = 240
_OUTCOMES_SHOWN: Final = 20
_LEAST_ROOM: Final = 256
_NEVER: Final = 2**62


def get(tx: Tx, project: str, name: Name) -> Row:
    """The row of a version, the current one where the name holds none.

    Raises:
        NotFoundError: No such record or version; names the nearest.
    """
    if row := find(tx, project, name):
        return row
    nearest = _nearest(tx, project, name)
    hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
    raise NotFoundError(f"no record {name}{hint}", nearest=nearest)


def get_valid(tx: Tx, project: str, name: Name) -> Row:
    """The row of a version; a current one that has expired has to be asked for by its number.

    Raises:
        NotFoundError: No such record or version, or it has expired.
    """
    row = get(tx, project, name)
    if name.version is None and row["expires_at"] is not None and row["expires_at"] <= tx.now:
        last = str(name.at(row["version"]))
        raise NotFoundError(
            f"{name} has expired at {times.iso(row['expires_at'])}",
            way_out=f"Read {last} for what it said, or write it anew.",
            nearest=[last],
        )
    return row


def find(tx: Tx, project: str, name: Name) -> Row | None:
    """The row of a version, or None."""
    home = names.home(name.scope, project)
    if name.version is None:
        return records.current(tx, home, name.scope, name.key)
    return records.version(tx, home, name.scope, name.key, name.version)


def by_seq(tx: Tx, seq: int) -> Row | None:
    """The row of the version with that seq."""
    return records.by_seq(tx, seq)


def read(tx: Tx, who: Author, limits: Limits, name: Name, *, after: str | None = None) -> Reply:
    """One record whole, or as much of a large value as a reply holds.

    Raises:
        NotFoundError: No such record or version.
        InvalidCursorError: The cursor is not of this call.
    """
    version, offset = name.version, 0
    if after:
        version, offset = cursor.unseal(after, _of_read(who, name), 2)
    row = get_valid(tx, who.project, Name(name.scope, name.key, version))
    confirmed = row["success"] or row["partial"]
    confirming = records.confirming_agents(tx, row["seq"]) if confirmed else 0
    reply = describe(tx, row)
    reply["confirmed_by"] = confirming
    body = _body(row)
    if body is None or (not after and len(body) <= _LEAST_ROOM):
        return reply | _value(body)
    room = max(_LEAST_ROOM, limits.room - len(canonical.encode(reply)))
    if not after and len(body) <= room:
        return reply | _value(body)
    content = body.decode()
    piece = _slice(content, offset, room)
    reply |= {"value_text": piece, "value_bytes": len(body)}
    if offset + len(piece) < len(content):
        end = offset + len(piece)
        reply["next_cursor"] = cursor.seal(_of_read(who, name), row["version"], end)
    return reply


def _of_read(who: Author, name: Name) -> str:
    return cursor.fingerprint("read", who.project, str(name))


def read_many(
    tx: Tx, who: Author, limits: Limits, wanted: Sequence[Name], *, after: str | None = None
) -> Reply:
    """Several records in the order asked for; what does not fit comes with the next cursor.

    Raises:
        InvalidCursorError: The cursor is not of this call.
    """
    if not 1 <= len(wanted) <= MAX_NAMES:
        raise InvalidArgumentError(f"names holds 1 to {MAX_NAMES} names")
    call = cursor.fingerprint("names", who.project, *map(str, wanted))
    (start,) = cursor.unseal(after, call, 1) if after else (0,)
    found: list[Reply] = []
    room = limits.room
    for position in range(start, len(wanted)):
        item = _item(tx, who, wanted[position], limits.room)
        room -= len(canonical.encode(item))
        if room < 0 and found:
            return {"records": found, "next_cursor": cursor.seal(call, position)}
        found.append(item)
    return {"records": found}


def history(
    tx: Tx, who: Author, limits: Limits, name: Name, *, limit: int, after: str | None = None
) -> Reply:
    """The versions of a record, newest first, each with its outcomes: what was believed.

    Raises:
        NotFoundError: No such record.
        InvalidCursorError: The cursor is not of this call.
    """
    call = cursor.fingerprint("history", who.project, str(name))
    (below,) = cursor.unseal(after, call, 1) if after else (_NEVER,)
    if name.version is not None:
        below = min(below, name.version + 1)
    get(tx, who.project, name)
    home = names.home(name.scope, who.project)
    found: list[Reply] = []
    room = limits.room
    for row in records.history(tx, home, name.scope, name.key, below=below, limit=limit + 1):
        item = _believed(tx, row, limits.room)
        room -= len(canonical.encode(item))
        if len(found) == limit or (room < 0 and found):
            last = found[-1]["version"]
            return {"name": str(name), "history": found, "next_cursor": cursor.seal(call, last)}
        found.append(item)
    return {"name": str(name), "history": found}


def describe(tx: Tx, row: Row) -> Reply:
    """Everything about a version but its value."""
    version, newest, expires_at = row["version"], row["current_version"], row["expires_at"]
    reply = {
        "scope": row["scope"],
        "key": row["key"],
        "version": version,
        "confidence": confidence.to_fraction(row["confidence"]),
        "counts": counts(row),
        "tags": canonical.decode(row["tags"]),
        "source": row["source"],
        "agent": row["agent"],
        "at": times.iso(row["at"]),
        "hash": bytes(row["entry_hash"]).hex(),
        "current": version == newest,
    }
    if version != newest:
        reply["superseded_by"] = newest
    if expires_at is not None:
        reply["expires_at"] = times.iso(expires_at)
        if expires_at <= tx.now:
            reply["expired"] = True
    return reply


def with_value(tx: Tx, row: Row, room: int) -> Reply:
    """A version with its value, or with the beginning of one that does not fit."""
    body = _body(row)
    reply = describe(tx, row) | _value(body)
    if len(canonical.encode(reply)) <= room:
        return reply
    content = (body or b"").decode()
    name = Name(row["scope"], row["key"], row["version"])
    return {
        **describe(tx, row),
        "preview": text.preview(content, (), _PREVIEW_CHARS),
        "value_bytes": row["body_bytes"],
        "hint": f"memory_read {name} gives it whole",
    }


def text_of_value(row: Row) -> str:
    """The text of a version's value, for previews."""
    body = _body(row)
    if body is None:
        return "[erased]"
    value = canonical.decode(body)
    return value if isinstance(value, str) else body.decode()


def counts(row: Row) -> dict[str, int]:
    """How often each outcome was reported of a version."""
    return {outcome: row[outcome] for outcome in confidence.OUTCOMES if row[outcome]}


def _nearest(tx: Tx, project: str, name: Name) -> list[str]:
    if name.version is not None and (row := find(tx, project, Name(name.scope, name.key))):
        return [str(name.at(row["version"]))]
    home = names.home(name.scope, project)
    close = {f"{scope}/{key}" for scope, key in records.names_near(tx, home, name.scope, 100)}
    if words := text.query(str(name)).any_word:
        wanted = search.Filter(project, "", "[]", None, 0, None, tx.now, _NEVER)
        for hit in search.matching(tx, words, wanted, reach="current", limit=20):
            row = records.by_seq(tx, hit["seq"])
            if row:
                close.add(f"{row['scope']}/{row['key']}")
    import difflib  # noqa: PLC0415 - only for a name that is not there

    return difflib.get_close_matches(str(name), sorted(close), n=_NEAREST, cutoff=0.4)


def _body(row: Row) -> bytes | None:
    body = row["body"]
    return None if body is None else bytes(body)


def _value(body: bytes | None) -> Reply:
    return {"erased": True} if body is None else {"value": canonical.decode(body)}


def _item(tx: Tx, who: Author, name: Name, room: int) -> Reply:
    try:
        return with_value(tx, get_valid(tx, who.project, name), room)
    except NotFoundError as error:
        return {"name": str(name), "error": error.code, "nearest": error.facts["nearest"]}


def _believed(tx: Tx, row: Row, room: int) -> Reply:
    reported = records.outcomes(tx, row["seq"])
    outcomes: list[Reply] = []
    left = room // 2
    for found in reported[: -_OUTCOMES_SHOWN - 1 : -1]:
        item = _reported(found)
        left -= len(canonical.encode(item))
        if left < 0:
            break
        outcomes.insert(0, item)
    believed = confidence.to_fraction(row["initial"])
    reply: Reply = {"believed_at_first": believed, "outcomes": outcomes}
    if len(reported) > len(outcomes):
        reply["outcomes_total"] = len(reported)
    return {**with_value(tx, row, room - len(canonical.encode(reply))), **reply}


def _reported(row: Row) -> Reply:
    return {
        "outcome": row["outcome"],
        "before": confidence.to_fraction(row["before"]),
        "after": confidence.to_fraction(row["after"]),
        "agent": row["agent"],
        "at": times.iso(row["at"]),
        **({"note": canonical.decode(row["body"])} if row["body"] else {}),
        **({"packet_id": row["packet"]} if row["packet"] else {}),
    }


def _slice(content: str, offset: int, room: int) -> str:
    """As much of a text from an offset on as takes at most `room` bytes as a JSON string."""
    size = room
    while size > 1:
        taken = len(canonical.encode(content[offset : offset + size]))
        if taken <= room:
            break
        size = max(1, size * room // taken - 1)
    return content[offset : offset + size]
