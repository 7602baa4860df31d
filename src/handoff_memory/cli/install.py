"""`install` and `uninstall`: our server and hooks in a client's own files."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from handoff_memory.cli import output
from handoff_memory.cli import rendering as r
from handoff_memory.cli.command import Call, flags, verb
from handoff_memory.core import names
from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.settings import Places, read_places
from handoff_memory.setup import changes, commands, entries
from handoff_memory.setup.changes import Change
from handoff_memory.setup.clients import CLIENTS, SCOPES, Client, Scope
from handoff_memory.setup.standing import Standing, standings

_SCOPE: Final = click.option(
    "--scope", type=click.Choice(SCOPES), default="user", help="For you, or for this project."
)
_DRY_RUN: Final = click.option("--dry-run", is_flag=True, help="Show the change, make none.")
_SAID: Final = {
    "created": "created",
    "changed": "changed",
    "restored": "as it was before",
    "removed": "ours taken out",
    "unchanged": "unchanged",
}


@verb(
    "install",
    examples=(
        "handoff-memory install --list",
        "handoff-memory install claude-code --hooks",
        "handoff-memory install codex --agent-id reviewer --db /abs/shared.db --dry-run",
    ),
)
@click.argument("client", required=False)
@_SCOPE
@click.option("--hooks", is_flag=True, help="Also its hooks: judge each call, keep each output.")
@click.option("--list", "lists", is_flag=True, help="Show the clients.")
@_DRY_RUN
def install(
    call: Call,
    client: str | None,
    scope: Scope,
    *,
    hooks: bool,
    lists: bool,
    dry_run: bool,
) -> int:
    """Put the server, and with --hooks its hooks, into a client's own files.

    What stands there stays, comments too; a copy is put beside it. For a client whose file is not
    edited, the entry is printed. Without --agent-id the agent has the client's own name.
    """
    places = read_places()
    if lists:
        return _listed(call, places)
    found = _client(client)
    agent = names.agent_id(flags().get("AGENT_ID") or found.key)
    python, database = _interpreter(), call.memory.settings.database
    started = commands.launch(python, agent, database)
    notes = list(_notes(found, scope, python, hooks=hooks))
    if not found.edited:
        return _printed(call, found, places, scope, started, notes)
    if scope not in found.files:
        raise InvalidArgumentError(f"{found.name} has no {scope} file")

    form = found.hooks
    standing = [one for one in standings(found, places) if one.scope == scope]
    notes += _replaced(standing, started)

    def command(kind: str) -> str:
        return commands.hook(
            python,
            kind,
            client=found.key,
            agent=agent,
            database=database,
            dialect=form.shell if form else "sh",
        )

    # Hooks that stand there must not be left with another database than the server.
    wanted = form and (hooks or any(one.hooks for one in standing))
    settled = changes.installing(found, places, scope, started, command if wanted else None)
    return _carried_out(call, found, settled, notes, dry_run=dry_run)


_KNOWN = "\n".join(f"  {client.key:<16}{client.name}" for client in CLIENTS.values())
install.epilog = f"\b\nClients:\n{_KNOWN}\n\n{install.epilog}"


@verb("uninstall", examples=("handoff-memory uninstall claude-code",))
@click.argument("client")
@_SCOPE
@_DRY_RUN
def uninstall(call: Call, client: str, scope: Scope, *, dry_run: bool) -> int:
    """Take the server and the hooks out of a client's files again.

    Where nobody else changed a file since, it is as it was before, to the byte.
    """
    found = _client(client)
    if not found.edited:
        raise InvalidArgumentError(
            f"the file of {found.name} is not edited by this program",
            way_out=f"Take {commands.NAME} out of it by hand.",
        )
    settled = changes.uninstalling(found, read_places(), scope)
    return _carried_out(call, found, settled, [], dry_run=dry_run)


def _client(key: str | None) -> Client:
    found = CLIENTS.get(key or "")
    if found is None:
        said = f"there is no client {key!r}" if key else "a client is missing"
        raise InvalidArgumentError(said, way_out=f"Choose one of: {', '.join(CLIENTS)}.")
    return found


def _interpreter() -> Path:
    if not sys.executable:
        raise InvalidArgumentError("this Python does not say where it is")
    return Path(sys.executable).absolute()


def _notes(client: Client, scope: Scope, python: Path, *, hooks: bool) -> Iterator[str]:
    if commands.lies_in_cache(python):
        yield (
            f"{python} lies in a cache of uv, which may be emptied: install the package for good "
            "(uv tool install, pipx) and run this again from there"
        )
    if hooks and client.hooks is None:
        yield f"{client.name} runs no hooks of ours: handoff-memory wrap stands before its servers"
    if client.note and (hooks or not client.edited):
        yield f"{client.name} {client.note}"
    if scope == "project":
        yield "the project's file holds paths of this machine: they are nobody else's"


def _replaced(standing: Sequence[Standing], started: commands.Launch) -> Iterator[str]:
    for one in standing:
        was = [
            f"{name} was {one.env[name]}"
            for name, value in started.env.items()
            if one.env.get(name, value) != value
        ]
        if was:
            yield f"{', '.join(was)}: run it again with --agent-id or --db to keep it"


def _listed(call: Call, places: Places) -> int:
    rows = [
        (
            client.key,
            client.name,
            "edited" if client.edited else "printed",
            ", ".join(client.scopes) or "-",
            "hooks" if client.hooks else "-",
            str(client.files["user"](places)) if "user" in client.files else client.note,
        )
        for client in CLIENTS.values()
    ]
    if call.as_json:
        fields = ("key", "name", "entry", "scopes", "hooks", "file")
        output.print_json({"clients": [dict(zip(fields, row, strict=True)) for row in rows]})
    else:
        output.print_lines(r.table(rows))
    return 0


def _printed(
    call: Call,
    client: Client,
    places: Places,
    scope: Scope,
    started: commands.Launch,
    notes: list[str],
) -> int:
    at = client.files.get(scope)
    path = str(at(places)) if at else None
    text = entries.snippet(client, started)
    if call.as_json:
        entry = {"client": client.key, "file": path, "snippet": text}
        output.print_json({**entry, "notes": notes} if notes else entry)
        return 0
    where = f"Put this into {path}:" if path else f"Put this into the settings of {client.name}:"
    click.echo(where, err=True)
    output.print_lines(text.splitlines())
    for note in notes:
        click.echo(f"note: {note}", err=True)
    return 0


def _carried_out(
    call: Call, client: Client, settled: list[Change], notes: list[str], *, dry_run: bool
) -> int:
    rows: list[dict[str, Any]] = []
    for change in settled:
        row = {"file": str(change.path), "outcome": change.outcome}
        if dry_run:
            row["diff"] = "\n".join(change.diff())
        elif moved := changes.carry_out(change):
            notes.append(f"an older copy of {change.path.name} is now {moved}")
        rows.append(row)
    told = {"client": client.key, "dry_run": dry_run, "files": rows, "notes": notes}
    call.show(told, _lines)
    return 0


def _lines(told: dict[str, Any]) -> Iterator[str]:
    for row in told["files"]:
        yield f"{row['file']}: {_SAID[row['outcome']]}{' (not done)' if told['dry_run'] else ''}"
        yield from map(r.clean, row.get("diff", "").splitlines())
    for note in told["notes"]:
        yield f"note: {note}"
