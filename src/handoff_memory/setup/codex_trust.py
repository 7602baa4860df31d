"""Whether Codex trusts our hooks as they stand: it runs no other, and says so to nobody.

Trust is given to the very text of a hook, so only Codex itself can tell; its app server is asked.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from handoff_memory.setup.commands import NAME, is_hook

_DEADLINE_S: Final = 8.0
_TRUSTED: Final = ("trusted", "managed")


def trusted(program: str, folder: Path) -> bool | None:
    """Whether Codex would run our hook before a tool, or None where it does not say.

    Args:
        program: Codex.
        folder: Where it is said to work.
    """
    try:
        hooks = list(_hooks(program, folder))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # the app server is no promise of Codex
    ours = [
        hook.get("enabled", True) and hook.get("trustStatus") in _TRUSTED
        for hook in hooks
        if hook.get("eventName") == "preToolUse" and is_hook(hook.get("command"))
    ]
    return any(ours) if ours else None


def _hooks(program: str, folder: Path) -> Iterator[dict[str, Any]]:
    client = {"clientInfo": {"name": NAME, "version": "0"}}
    requests: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(folder)]}},
    ]
    with subprocess.Popen(  # noqa: S603 - a client that this person installed
        [program, "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
    ) as server:
        timer = threading.Timer(_DEADLINE_S, server.kill)
        timer.start()
        try:
            if server.stdin is None or server.stdout is None:
                return
            server.stdin.writelines(json.dumps(request) + "\n" for request in requests)
            server.stdin.flush()
            replies = (json.loads(line) for line in server.stdout)
            answer: dict[str, Any] = next((reply for reply in replies if reply.get("id") == 2), {})
        finally:
            timer.cancel()
            server.kill()
    for found in answer["result"]["data"]:
        yield from found["hooks"]
