"""The command line's verbs; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

from handoff_memory import __version__
from handoff_memory.cli.command import Edge, shared

_HOMES: Final = {
    "serve": "serve",
    "stats": "stats",
    "read": "records",
    "write": "records",
    "search": "records",
    "history": "records",
    "outcome": "records",
    "handoffs": "packets",
    "thread": "packets",
    "pickup": "packets",
    "log": "log",
    "doctor": "doctor",
    "demo": "demo",
}
_EPILOG: Final = """\b
Settings come from flags, else from the environment:
  MEMORY_DB               database file, else $OSIRIS_HOME/osiris.db
  AGENT_ID                who I am, else cli-<login> here
  MEMORY_PROJECT          project within the home database
  MEMORY_DURABILITY       full (default) or relaxed
  NO_COLOR                if set, no colours
  MEMORY_MAX_VALUE_BYTES  largest value, 1 MiB by default
  OSIRIS_HOME             folder of the home database, ~/.osiris by default

\b
Exit status: 0 done, 1 a finding (a broken chain, a problem), 2 could not run.

\b
Examples:
  handoff-memory                              serve one MCP client on stdin and stdout
  handoff-memory --db shared.db stats --verify
  handoff-memory pickup --peek
"""


class Verbs(Edge, click.Group):
    """The group of all verbs."""

    def list_commands(  # type: ignore[explicit-override]
        self, ctx: click.Context
    ) -> list[str]:
        """The verbs in the order in which a person meets them."""
        return list(_HOMES)

    def get_command(  # type: ignore[explicit-override]
        self, ctx: click.Context, cmd_name: str
    ) -> click.Command | None:
        """A verb, or None where there is none of that name."""
        if cmd_name not in _HOMES:
            return None
        home = import_module(f"handoff_memory.cli.{_HOMES[cmd_name]}")
        found: click.Command = getattr(home, cmd_name)
        return found


@shared
@click.group(cls=Verbs, invoke_without_command=True, epilog=_EPILOG)
@click.version_option(__version__, prog_name="handoff-memory")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """One memory for several agents, with handoff packets between their sessions.

    Without a verb it serves one MCP client on stdin and stdout.
    """
    if ctx.invoked_subcommand is None:
        ctx.forward(import_module("handoff_memory.cli.serve").serve)
