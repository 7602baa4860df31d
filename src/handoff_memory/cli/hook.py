"""`hook`: listed with the other verbs; it runs before the command line is even imported."""

from __future__ import annotations

import click

from handoff_memory.hooks import main


@click.command("hook", context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def hook(words: tuple[str, ...]) -> None:
    """Answer a hook of a client: Claude Code, Codex, Gemini CLI or Cursor."""
    main.main(words)
