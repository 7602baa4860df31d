"""`audit`: whether anything that a task moved out of prompts is lost."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from handoff_memory.cli import rendering as r
from handoff_memory.cli.command import Call, verb
from handoff_memory.services import audit as auditing
from handoff_memory.services.writing import Reply


@verb(
    "audit",
    examples=(
        "handoff-memory audit --task t3f9a",
        "osiris audit --task t3f9a --json | jq .integrity_violations",
    ),
)
@click.option("--task", "task_id", required=True, metavar="ID", help="The task to audit.")
def audit(call: Call, *, task_id: str) -> int:
    """Read and hash again all that a task moved out of prompts.

    Exit status 0 where it is lossless, 1 where it is not. Lossless means the redacted bytes:
    what was replaced as a secret was never kept.
    """
    hidden = not sys.stderr.isatty()
    with click.progressbar(length=0, label="auditing", file=sys.stderr, hidden=hidden) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        reply = call.memory.read(
            lambda tx: auditing.audit(tx, call.who, task_id, progress=progress)
        )
    call.show(reply, _text)
    return 0 if reply["lossless"] else 1


def _text(reply: Reply) -> Iterator[str]:
    rows = [
        ("externalized", f"{reply['items_externalized']:,}"),
        ("verified", f"{reply['items_verified']:,}"),
        ("missing", f"{reply['items_missing']:,}"),
        ("redacted", r.counted(reply["redacted_bytes"], "byte")),
    ]
    yield from r.table(rows)
    yield from (f"{r.bad('altered')}  {r.clean(what)}" for what in reply["integrity_violations"])
    yield r.good("lossless") if reply["lossless"] else r.bad("not lossless")
