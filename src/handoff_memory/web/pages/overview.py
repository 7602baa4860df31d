"""Overview: who is alive, what waits, how much is written, what is being worked at."""

from __future__ import annotations

from typing import Final

from handoff_memory.app import is_alive, storage_facts
from handoff_memory.services import packet_views, presence, tasks, timeline, verify_since
from handoff_memory.store.engine import Tx
from handoff_memory.web import charts
from handoff_memory.web.page import Asked, Page

_AGENTS: Final = 20
_PACKETS: Final = 12
_TASKS: Final = 50
_SHOWN_TASKS: Final = 8


def overview(tx: Tx, asked: Asked) -> Page:
    """The first page."""
    board = packet_views.board(tx, asked.who.project, limit=_PACKETS)
    rate = timeline.rate(tx)
    at_work = [
        task for task in tasks.overview(tx, asked.who.project, _TASKS) if not task["finished"]
    ]
    values = {
        "stats": presence.stats(tx, asked.who),
        "storage": storage_facts(asked.settings),
        "agents": presence.roll(tx, is_alive, limit=_AGENTS),
        "open": [*board["waiting"], *board["claimed"]],
        "rate": rate,
        "bars": charts.bars(rate["bars"]),
        "tasks": at_work[:_SHOWN_TASKS],
        "check": asked.checks.verification,
        "good": verify_since.last_good(tx),
    }
    return Page("overview.html", "Overview", values, live=("*", "check"))
