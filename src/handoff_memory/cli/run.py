"""`run`: a shell command behind the governor."""

from __future__ import annotations

from collections.abc import Sequence

import click

from handoff_memory.cli.command import Edge, default_agent, flags, shared
from handoff_memory.settings import read_settings

_EPILOG = """\b
Exit status: that of the command; 128+n where signal n ended it, 127 where there is no such
program, 126 where it cannot be run, 125 where it was refused (the reason is on stderr), 2 where a
setting is wrong.

\b
A big output is kept whole and stdout carries a stub; a long stderr is kept with it, below a line
`--- stderr ---`. On a terminal everything passes as it comes.

\b
Examples:
  handoff-memory run -- pytest -q
  handoff-memory run -c 'git diff main | grep -n TODO'
  handoff-memory recall r12 tail --lines 20
"""


@shared
@click.command("run", cls=Edge, epilog=_EPILOG, context_settings={"allow_interspersed_args": False})
@click.option("--task", "task_id", metavar="ID", help="The task; else the agent's present one.")
@click.option("-c", "text", metavar="TEXT", help="A text for the shell instead of a program.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND...]")
def run(*, task_id: str | None, text: str | None, command: Sequence[str]) -> int:
    """Run a shell command behind the governor.

    It is judged first, a big output becomes a stub, and what happened is remembered: the same
    failing command is refused after its third failure.
    """
    from handoff_memory.gateway import process, running  # noqa: PLC0415 - not for --help

    if bool(command) == (text is not None):
        raise click.UsageError("give a command behind --, or a text with -c")
    settings = read_settings(flags=flags())
    given = command if text is None else text
    try:
        return running.run(settings, given, agent=default_agent(), task_id=task_id)
    except process.NotStartedError as error:
        click.echo(f"error: {error}", err=True)
        return error.status
