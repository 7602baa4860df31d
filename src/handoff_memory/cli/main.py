"""The command line's verbs; each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
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
    "tasks": "tasks",
    "task": "tasks",
    "recall": "recall",
    "audit": "audit",
    "health": "health",
    "invariants": "invariants",
    "approve": "invariants",
    "install": "install",
    "uninstall": "install",
    "hook": "hook",
    "wrap": "wrap",
    "run": "run",
}
_GOVERNING: Final = ("health", "tasks", "task", "recall", "audit", "invariants", "approve", "serve")
_EPILOG: Final = """\b
Settings come from flags, else from the environment:
  MEMORY_DB               database file, else $OSIRIS_HOME/osiris.db
  AGENT_ID                who I am, else cli-<login> here
  MEMORY_PROJECT          project within the home database
  MEMORY_DURABILITY       full (default) or relaxed
  NO_COLOR                if set, no colours
  MEMORY_MAX_VALUE_BYTES  largest value, 1 MiB by default
  OSIRIS_HOME             folder of the home database, ~/.osiris by default
  OSIRIS_ROOTS            folders that the governor may read, separated by ;

\b
Exit status: 0 done, 1 a finding (a broken chain, a problem), 2 could not run.

\b
Examples:
  handoff-memory                              serve one MCP client on stdin and stdout
  handoff-memory --db shared.db stats --verify
  handoff-memory pickup --peek
"""


_GOVERNOR_EPILOG: Final = """\b
The same verbs of handoff-memory, with the same flags and settings.

\b
Exit status: 0 done, 1 a finding (something lost, a problem), 2 could not run.

\b
Examples:
  osiris tasks
  osiris audit --task t3f9a
  osiris health --json
"""


class Verbs(Edge, click.Group):
    """The group of all verbs."""

    verbs: Sequence[str] = tuple(_HOMES)

    def list_commands(  # type: ignore[explicit-override]
        self, ctx: click.Context
    ) -> list[str]:
        """The verbs in the order in which a person meets them."""
        return list(self.verbs)

    def get_command(  # type: ignore[explicit-override]
        self, ctx: click.Context, cmd_name: str
    ) -> click.Command | None:
        """A verb, or None where there is none of that name."""
        if cmd_name not in self.verbs:
            return None
        home = import_module(f"handoff_memory.cli.{_HOMES[cmd_name]}")
        found: click.Command = getattr(home, cmd_name)
        return found


class GovernorVerbs(Verbs):
    """The group of the governor's verbs."""

    verbs = _GOVERNING


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


@shared
@click.group(cls=GovernorVerbs, invoke_without_command=True, epilog=_GOVERNOR_EPILOG)
@click.version_option(__version__, prog_name="osiris")
@click.pass_context
def osiris(ctx: click.Context) -> None:
    """The governor: what it knows of a task, what it moved out of prompts, what that cost."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
