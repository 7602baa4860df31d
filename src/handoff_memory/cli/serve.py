"""`serve`: the MCP server, with flags."""

from __future__ import annotations

import click

from handoff_memory.cli.command import Edge, flags, shared


@shared
@click.command("serve", cls=Edge, epilog="\b\nExample:\n  handoff-memory serve --db shared.db")
def serve() -> None:
    """Serve one MCP client on stdin and stdout."""
    from handoff_memory.cli.serving import serve_or_exit  # noqa: PLC0415 - --help needs no server

    serve_or_exit(flags())
