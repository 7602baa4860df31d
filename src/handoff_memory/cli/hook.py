"""`hook`: listed with the other verbs; it runs before the command line is even imported."""

from __future__ import annotations

import click

from handoff_memory.hooks import main

_EXAMPLE = "hook before-tool --client codex --agent-id ada --db /abs/shared.db"


@click.command(
    "hook",
    context_settings={"ignore_unknown_options": True},
    epilog=f"\b\nExample:\n  handoff-memory {_EXAMPLE}",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def hook(words: tuple[str, ...]) -> None:
    """Answer a hook of a client: Claude Code, Codex, Gemini CLI or Cursor."""
    main.main(words)
