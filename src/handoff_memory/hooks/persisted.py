"""The whole output of a command of which Claude Code hands a hook the beginning only.

Above 30,000 characters it keeps the output in a file of its own, and shows the model a preview.
"""

from __future__ import annotations

import os
import stat
from typing import Final

from handoff_memory.hooks.event import Event

_MAX_BYTES: Final = 64 << 20


def completed(event: Event) -> Event:
    """The event with the whole output; one that stays a part must not stand for the whole."""
    if event.kept_at is None or event.output is None:
        return event
    whole = _text(event.kept_at)
    if whole is None or not whole.startswith(event.output):
        return event._replace(is_replaceable=False)
    return event._replace(output=whole)


def _text(path: str) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_BYTES:
                return None
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):  # gone, or no path at all
        return None
