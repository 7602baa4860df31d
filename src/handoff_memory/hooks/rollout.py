"""What Codex's own record of a session says of a call that just ended.

A hook is handed the output as Codex shortened it for the model, and no exit status; the record,
which is written before the hook runs, has both as they were.
"""

from __future__ import annotations

import os
import stat
from typing import Any, Final

import orjson

from handoff_memory.hooks.event import Event

_TAIL_BYTES: Final = 8 << 20


def completed(event: Event) -> Event:
    """The event with the whole output and exit status of its command, where the record has them."""
    if event.transcript is None or event.call_id is None:
        return event
    item = _item(_tail(event.transcript), event.call_id.encode())
    output, status = item.get("aggregated_output"), item.get("exit_code")
    if not isinstance(output, str) or not isinstance(status, int):
        return event
    return event._replace(output=output, exit_status=status)


def _tail(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                return b""
            file.seek(max(0, facts.st_size - _TAIL_BYTES))
            return file.read(_TAIL_BYTES)
    except OSError:
        return b""


def _item(tail: bytes, call_id: bytes) -> dict[str, Any]:
    """The completed command of that id; the newest lines are looked at first."""
    for line in reversed(tail.splitlines()):
        if b'"CommandExecution"' not in line or call_id not in line:
            continue
        try:
            item = orjson.loads(line)["payload"]["item"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            continue
        if isinstance(item, dict) and item.get("id") == call_id.decode() and "exit_code" in item:
            return item
    return {}
