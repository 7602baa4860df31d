"""Handoffs: the board by state, and one packet with its pins, its thread and who held it."""

from __future__ import annotations

from typing import Final

from handoff_memory.services import handoff, packet_views
from handoff_memory.store.engine import Tx
from handoff_memory.web.page import Asked, Page

_CARDS: Final = 60
_ROOM: Final = 256 << 10
_LIVE: Final = ("packet", "claim", "record")


def board(tx: Tx, asked: Asked) -> Page:
    """The packets of the project by state."""
    columns = packet_views.board(tx, asked.who.project, limit=_CARDS)
    return Page("handoffs.html", "Handoffs", {"columns": columns, "most": _CARDS}, live=_LIVE)


def packet(tx: Tx, asked: Asked) -> Page:
    """One packet.

    Raises:
        NotFoundError: There is no such packet.
    """
    packet_id = asked.named["packet"]
    found = handoff.peek(tx, asked.who, asked.limits(_ROOM), packet_id=packet_id)
    thread = packet_views.thread(tx, asked.who, packet_id)["packets"]
    packet = {"severity": (found["packet"].get("details") or {}).get("severity"), **found["packet"]}
    values = {**found, "packet": packet, "thread": thread}
    return Page("packet.html", f"Packet {packet_id}", values, live=_LIVE)
