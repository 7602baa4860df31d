"""What agents see of a handoff packet: the packet, its records as pinned, and what moved since."""

from __future__ import annotations

from typing import Any

from handoff_memory.core import canonical, names, packet, times
from handoff_memory.core.author import Author
from handoff_memory.core.errors import NotFoundError
from handoff_memory.services import reading, writing
from handoff_memory.services.limits import Limits
from handoff_memory.services.writing import Reply
from handoff_memory.store import packets, records
from handoff_memory.store.engine import Row, Tx


def view(tx: Tx, limits: Limits, row: Row, here: dict[str, Any] | None = None) -> Reply:
    """A packet whole, its records at their pinned versions, and what moved since."""
    content: dict[str, Any] = canonical.decode(row["body"]) if row["body"] else {"erased": True}
    pins = canonical.decode(row["pins"])
    shown: list[Reply] = []
    stale: list[Reply] = []
    room = limits.room
    for pin in pins:
        found = reading.find(tx, row["project"], _name(pin))
        if found is None:
            shown.append({"name": pin_name(pin), "error": "not_found"})
            continue
        item = _as_pinned(tx, found, room)
        room -= len(canonical.encode(item))
        shown.append(item)
        if found["version"] != found["current_version"]:
            stale.append(_stale(tx, row["project"], pin, found))
    reply: Reply = {
        "packet": {**_envelope(tx, row), **content},
        "records": shown,
        "stale": stale,
        "pins_moved": f"{len(stale)} of {len(pins)} pins moved",
    }
    there = (content.get("details") or {}).get("workspace")
    if moved := _elsewhere(there, here):
        reply["workspace"] = moved
    if warnings := _doubts(content):
        reply["warnings"] = warnings
    if notes := _read_backs(tx, row["packet"]):
        reply["read_back"] = notes
    return reply


def _as_pinned(tx: Tx, row: Row, room: int) -> Reply:
    """A pinned version as fully as there is room for; its name at the least."""
    item = reading.with_value(tx, row, room)
    if len(canonical.encode(item)) <= room:
        return item
    name = names.Name(row["scope"], row["key"], row["version"])
    return {"name": str(name), "hint": f"memory_read {name} gives it"}


def thread(tx: Tx, who: Author, packet_id: str) -> Reply:
    """Every packet of a thread with what happened to it, oldest first.

    Raises:
        NotFoundError: No such packet.
    """
    thread_id = get(tx, who.project, packet_id)["thread"]
    found = []
    for row in packets.thread(tx, thread_id):
        content = canonical.decode(row["body"]) if row["body"] else {"erased": True}
        events = [
            {"action": claim["action"], "agent": claim["agent"], "at": times.iso(claim["at"])}
            for claim in packets.claims(tx, row["packet"])
        ]
        found.append({**_envelope(tx, row), **content, "events": events})
    return {"thread": thread_id, "packets": found}


def board(tx: Tx, project: str, *, limit: int) -> dict[str, list[Reply]]:
    """The packets of a project by state: open ones in the order of their priority, newest closed.

    An open packet that has expired stands with the closed ones.
    """
    found: dict[str, list[Reply]] = {"waiting": [], "claimed": [], "closed": []}
    for row in packets.open_in(tx, project, limit):
        card = _card(tx, row)
        found[card["state"] if card["state"] in found else "closed"].append(card)
    found["closed"] += [_card(tx, row) for row in packets.closed_in(tx, project, limit)]
    return found


def _card(tx: Tx, row: Row) -> Reply:
    content: dict[str, Any] = (
        canonical.decode(row["body"]) if row["body"] else {"summary": "[erased]"}
    )
    pins = canonical.decode(row["pins"])
    details = content.get("details") or {}
    return {
        **_envelope(tx, row),
        "summary": content["summary"],
        "severity": details.get("severity"),
        "pins": len(pins),
        "moved": sum(_has_moved(tx, row["project"], pin) for pin in pins),
    }


def _has_moved(tx: Tx, project: str, pin: dict[str, Any]) -> bool:
    home = names.home(pin["scope"], project)
    current = records.head(tx, home, pin["scope"], pin["key"])
    return current is not None and current["version"] != pin["version"]


def overview(tx: Tx, project: str, limit: int) -> list[Reply]:
    """The newest packets of a project, one line each."""
    rows = packets.recent(tx, project, limit)
    return [
        {
            **_envelope(tx, row),
            "summary": canonical.decode(row["body"])["summary"] if row["body"] else "[erased]",
        }
        for row in rows
    ]


def _name(pin: dict[str, Any]) -> names.Name:
    return names.Name(pin["scope"], pin["key"], pin["version"])


def pin_name(pin: dict[str, Any]) -> str:
    """`scope/key@version` of a pin."""
    return str(_name(pin))


def _stale(tx: Tx, project: str, pin: dict[str, Any], found: Row) -> Reply:
    current = reading.get(tx, project, names.Name(pin["scope"], pin["key"]))
    return {
        "name": f"{pin['scope']}/{pin['key']}",
        "pinned": found["version"],
        "current": current["version"],
        "by": current["agent"],
        "at": times.iso(current["at"]),
        "source": current["source"],
    }


def _envelope(tx: Tx, row: Row) -> Reply:
    state = writing.state_of(row)
    now = packet.effective(state, row["expires_at"], tx.now)
    found: Reply = {
        "packet_id": row["packet"],
        "from": row["agent"],
        "to": row["recipient"],
        "at": times.iso(row["at"]),
        "state": now,
        "priority": packet.PRIORITIES[row["priority"]],
        "thread": row["thread"],
        "deliveries": state.deliveries,
        "hash": bytes(row["entry_hash"]).hex(),
    }
    if row["in_reply_to"]:
        found["in_reply_to"] = row["in_reply_to"]
    if row["status"]:
        found["status"] = row["status"]
    if row["expires_at"] is not None:
        found["expires_at"] = times.iso(row["expires_at"])
    if now == "claimed":
        found |= {"holder": state.holder, "lease_until": times.iso(packet.lease_until(state))}
    return found


def _doubts(content: dict[str, Any]) -> list[str]:
    done = content.get("done") or []
    evidence = (content.get("details") or {}).get("evidence") or []
    proven = sum(
        1 for item in evidence if isinstance(item, dict) and item.get("grade") == "observed"
    )
    if not done or proven >= len(done):
        return []
    return [
        f"{len(done) - proven} of {len(done)} done items are declared, not observed: check first"
    ]


def _read_backs(tx: Tx, packet_id: str) -> list[Reply]:
    return [
        {
            "by": claim["agent"],
            "at": times.iso(claim["at"]),
            "text": canonical.decode(claim["body"]),
        }
        for claim in packets.claims(tx, packet_id)
        if claim["body"]
    ]


def _elsewhere(there: Any, here: dict[str, Any] | None) -> Reply | None:
    """Where the sender's checkout and the receiver's differ, or None."""
    if not isinstance(there, dict) or here is None:
        return None
    differ = [
        field for field in ("branch", "commit", "dirty") if there.get(field) != here.get(field)
    ]
    if not differ:
        return None
    return {"yours": here, "note": f"your checkout stands elsewhere: {', '.join(differ)} differ"}


def get(tx: Tx, project: str, packet_id: str) -> Row:
    """The row of a packet of a project.

    Raises:
        NotFoundError: There is no such packet.
    """
    row = packets.by_id(tx, packet_id)
    if row is None or row["project"] != project:
        raise NotFoundError(
            f"no packet {packet_id}",
            way_out="Call handoff_pickup without packet_id for what waits.",
            nearest=[],
        )
    return row
