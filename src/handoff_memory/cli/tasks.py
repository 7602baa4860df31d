"""`tasks`, `task`: what the governor knows of the work."""

from __future__ import annotations

import click

from handoff_memory.app import governing
from handoff_memory.cli import task_text
from handoff_memory.cli.command import Call, Number, verb
from handoff_memory.rulebook import RuleBook
from handoff_memory.services import checkpointing, planning
from handoff_memory.services import tasks as tasking
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Tx


@verb("tasks", examples=("handoff-memory tasks --limit 5",))
@click.option("--limit", type=Number(1, 1000), default=20, show_default=True)
def tasks(call: Call, *, limit: int) -> None:
    """The tasks of the project, a line each.

    The one where something happened last comes first.
    """
    project = call.who.project
    reply = call.read(lambda tx: {"tasks": tasking.overview(tx, project, limit)})
    call.show(reply, task_text.overview)


@verb("task", examples=("handoff-memory task t3f9a",))
@click.argument("task_id", metavar="ID")
def task(call: Call, *, task_id: str) -> None:
    """A task whole: its manifest, status, ledger, failures, lessons."""
    settings = call.memory.settings
    by = governing(settings, RuleBook(settings.folder).read())

    def whole(tx: Tx) -> Reply:
        found = tasking.get(tx, call.who, task_id)
        return {
            **planning.whole(tx, call.who, found, by),
            "status": planning.status(found, by),
            "calls": found.state.calls,
            "edits": found.state.edits,
            "ledger": checkpointing.ledger_rows(found),
        }

    call.show(call.read(whole), task_text.whole)
