"""`handoffs`, `thread`, `pickup`: the packets."""

from __future__ import annotations

import click

from handoff_memory import workspace
from handoff_memory.app import is_dead
from handoff_memory.cli import packet_text
from handoff_memory.cli.command import Call, Number, verb
from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.services import handoff, packet_views


@verb("handoffs", examples=("handoff-memory handoffs --limit 5",))
@click.option("--limit", type=Number(1, 1000), default=20, show_default=True)
def handoffs(call: Call, *, limit: int) -> None:
    """The newest packets of the project, one line each."""
    project = call.who.project
    reply = call.read(lambda tx: {"packets": packet_views.overview(tx, project, limit)})
    call.show(reply, packet_text.overview)


@verb("thread", examples=("handoff-memory thread h_1f4089bf",))
@click.argument("packet_id")
def thread(call: Call, *, packet_id: str) -> None:
    """Every packet of a thread with what happened to it, oldest first."""
    reply = call.read(lambda tx: packet_views.thread(tx, call.who, packet_id))
    call.show(reply, packet_text.thread)


@verb(
    "pickup",
    examples=(
        "handoff-memory pickup --peek              look, take nothing",
        "handoff-memory pickup --agent builder     claim what waits for builder",
    ),
)
@click.argument("packet_id", required=False)
@click.option("--peek", is_flag=True, help="Only look; a named packet in any state.")
@click.option("--read-back", metavar="TEXT", help="What you understood; the sender sees it.")
@click.option("--token", type=Number(1), help="The claim that it is about.")
def pickup(
    call: Call, *, packet_id: str | None, peek: bool, read_back: str | None, token: int | None
) -> None:
    """Claim the packet that waits for you.

    Gives its records as they were pinned, and says which are stale. The claim's session ends with
    the command, so the same agent's next session resumes it at once.
    """
    if peek and (read_back or token):
        raise InvalidArgumentError("--peek changes nothing: it takes no --read-back and no --token")
    here = workspace.state(call.memory.settings.folder)
    if peek:
        reply = call.read(
            lambda tx: handoff.peek(
                tx, call.who, call.limits, packet_id=packet_id, is_dead=is_dead, here=here
            )
        )
    else:
        reply = call.write(
            lambda tx: handoff.pickup(
                tx,
                call.who,
                call.limits,
                packet_id=packet_id,
                read_back=read_back,
                token=token,
                is_dead=is_dead,
                here=here,
            )
        )
    call.show({"waiting": 0, **reply}, packet_text.delivery)
