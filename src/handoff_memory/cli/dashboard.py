"""`dashboard`: read-only pages on the memory, for a browser on this machine."""

from __future__ import annotations

import secrets
import webbrowser
from pathlib import Path

import click

from handoff_memory.cli import output
from handoff_memory.cli.command import Call, verb
from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.web import serving


@verb(
    "dashboard",
    examples=(
        "handoff-memory dashboard --open",
        "osiris-dashboard --port 8770 --db shared.db",
        "osiris-dashboard --host 192.168.1.20 --token-file token.txt",
    ),
)
@click.option("--port", type=click.IntRange(0, 65_535), default=serving.PORT, show_default=True)
@click.option("--open", "opens", is_flag=True, help="Open it in the browser.")
@click.option(
    "--host",
    default=serving.LOOPBACK,
    show_default=True,
    help="Listen there instead; beyond this machine only with --token-file.",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help=f"File with the token to ask for, {serving.MIN_TOKEN} characters or more.",
)
def dashboard(call: Call, *, port: int, opens: bool, host: str, token_file: Path | None) -> None:
    """Show the memory in a browser, read-only, until Ctrl-C.

    Prints the URL to open. It holds a token that is new each time; a cookie takes it over.
    """
    token = _token(host, token_file)

    def announce(url: str) -> None:
        if call.as_json:
            output.print_json({"url": url}, indented=False)
        else:
            output.print_lines([url, "Ctrl-C ends it"])
        if opens:
            webbrowser.open(url)

    serving.serve(call.memory.settings, host=host, port=port, token=token, announce=announce)


def _token(host: str, file: Path | None) -> str:
    if file is None:
        if not serving.is_loopback(host):
            raise InvalidArgumentError(
                f"{host} can be reached from other machines, and traffic there is not encrypted",
                way_out="Give a token of your own with --token-file to show the memory there.",
            )
        return secrets.token_urlsafe(32)
    serving.is_loopback(host)
    token = file.read_text("utf-8").strip()
    if len(token) < serving.MIN_TOKEN or not (token.isascii() and token.isprintable()):
        raise InvalidArgumentError(
            f"{file} holds no token of {serving.MIN_TOKEN} plain characters or more"
        )
    return token
