"""`log`: every write in order, once or as it happens."""

from __future__ import annotations

import os
import select
import stat
import sys
import time
from collections.abc import Callable
from typing import Final

import click

from handoff_memory.cli import output
from handoff_memory.cli import rendering as r
from handoff_memory.cli.command import Call, Number, verb
from handoff_memory.services import timeline
from handoff_memory.services.writing import Reply

_PAUSE_S: Final = 0.5
_PAGE: Final = 500


@verb(
    "log",
    examples=(
        "handoff-memory log --limit 50",
        "handoff-memory log --follow",
        "handoff-memory log --after 1200 --json     one JSON document a line",
    ),
)
@click.option("--follow", is_flag=True, help="Go on as agents write, until Ctrl-C.")
@click.option("--limit", type=Number(1, 100_000), default=20, show_default=True)
@click.option(
    "--after", type=Number(0), metavar="SEQ", help="Begin behind it, not with the newest."
)
def log(call: Call, *, follow: bool, limit: int, after: int | None) -> None:
    """Every write of every agent, oldest first."""
    wait = _waiter()
    try:
        seq = _printed(call, after, limit)
        while follow and wait():
            seq = _printed(call, seq, _PAGE)
    except KeyboardInterrupt:
        return


def _printed(call: Call, after: int | None, limit: int) -> int:
    """Print a page of the journal, and say where it ends."""
    entries = call.memory.read(lambda tx: timeline.entries(tx, after=after, limit=limit))
    if call.as_json:
        for entry in entries:
            output.print_json(entry, indented=False)
    else:
        output.print_lines(r.table([_line(entry) for entry in entries]))
    return entries[-1]["seq"] if entries else after or 0


def _line(entry: Reply) -> tuple[str, ...]:
    what = f"{entry['kind']} {entry['action']}"
    at = (entry["at"] or "?")[:19].replace("T", " ")
    return (
        f"{entry['seq']:>6}",
        at,
        f"{r.clean(entry['agent']):<12}",
        f"{what:<16}",
        r.clean(entry["subject"]),
    )


def _waiter() -> Callable[[], bool]:
    """A bounded wait that says whether anybody still reads."""
    if not (hasattr(select, "poll") and _is_pipe()):
        return _slept
    poller = select.poll()
    poller.register(sys.stdout.fileno(), 0)  # a reader that leaves is always reported

    def wait() -> bool:
        return not poller.poll(_PAUSE_S * 1000)

    return wait


def _slept() -> bool:
    time.sleep(_PAUSE_S)
    return True


def _is_pipe() -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):
        return False
