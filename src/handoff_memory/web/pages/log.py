"""Log: the journal, newest first, by agent, kind and task."""

from __future__ import annotations

from typing import Final

from handoff_memory.core import names
from handoff_memory.services import timeline
from handoff_memory.store.engine import Tx
from handoff_memory.web.page import Asked, Page

_LINES: Final = 100


def log(tx: Tx, asked: Asked) -> Page:
    """A page of the journal."""
    query = asked.query
    wanted = timeline.Wanted(
        agent=names.agent_id(query["agent"]) if "agent" in query else None,
        kind=query.get("kind"),
        task=query.get("task"),
    )
    below = asked.number("below")
    told = timeline.filtered(tx, wanted, below=below, limit=_LINES)
    given = {name: query.get(name, "") for name in timeline.Wanted._fields}
    values = {**told, "given": given, "kinds": timeline.KINDS, "below": below}
    return Page("log.html", "Log", values, live=() if below else (wanted.kind or "*",))
