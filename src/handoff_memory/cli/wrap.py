"""`wrap`: another MCP server behind the governor."""

from __future__ import annotations

from collections.abc import Sequence

import click

from handoff_memory.cli.command import Edge, flags, shared
from handoff_memory.settings import read_settings

_EPILOG = """\b
Exit status: that of the server; 128+n where signal n ended it, 127 where there is no such program,
126 where it cannot be run, 2 where a setting is wrong.

\b
Examples:
  handoff-memory wrap -- npx -y @modelcontextprotocol/server-filesystem /srv/project
  handoff-memory wrap --agent-id coder --db shared.db -- python my_server.py
  handoff-memory wrap --name files --task t3f9a -- node server.js
"""


@shared
@click.command(
    "wrap",
    cls=Edge,
    epilog=_EPILOG,
    context_settings={"allow_interspersed_args": False},
)
@click.option("--task", "task_id", metavar="ID", help="The task; else the agent's present one.")
@click.option(
    "--name", metavar="NAME", help="Rules know its tools as mcp__NAME__TOOL, as hooks do."
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
def wrap(*, task_id: str | None, name: str | None, command: Sequence[str]) -> int:
    """Run another stdio MCP server behind the governor.

    Its calls are judged first, loops end, big results stay outside the prompt and come back by
    the tool osiris_recall; everything else passes as it is. In a client's configuration, put
    `handoff-memory wrap --` before the server's own command.
    """
    from handoff_memory.gateway import process, wrapping  # noqa: PLC0415 - not for --help

    settings = read_settings(flags=flags())
    try:
        wrapping.wrap(settings, command, task_id=task_id, name=name)
    except process.NotStartedError as error:
        click.echo(f"error: {error}", err=True)
        return error.status
