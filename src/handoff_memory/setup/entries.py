"""What is written for each client: the entry of the server, the groups of hooks, the snippet."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from handoff_memory.hooks import capabilities
from handoff_memory.setup import toml_text
from handoff_memory.setup.clients import Client
from handoff_memory.setup.commands import NAME, Launch

_TOOLS: Final = ("before-tool", "after-tool")
_START_S: Final = 20
Groups = dict[str, dict[str, Any]]


def entry(client: Client, started: Launch) -> dict[str, Any]:
    """The server's entry in the client's own form."""
    command, args, env = started.command, list(started.args), dict(started.env)
    written: dict[str, Any] = {"command": command, "args": args, "env": env}
    match client.shape:
        case "typed":
            written = {"type": "stdio", **written}
        case "codex":
            # Without `required` a turn may begin before our tools are there.
            written |= {"startup_timeout_sec": _START_S, "required": True}
            written |= {"default_tools_approval_mode": "approve"}
        case "opencode":
            written = {"type": "local", "command": [command, *args]}
            written |= {"environment": env, "enabled": True}
        case "zed":
            written = {"source": "custom", **written}
        case "goose":
            written = {"enabled": True, "type": "stdio", "name": NAME, "cmd": command}
            written |= {"args": args, "envs": env, "timeout": 300}
        case "continue":
            written = {"name": NAME, **written}
        case "plain":
            pass
    return written


def groups(client: Client, command: Callable[[str], str]) -> Groups:
    """A group of hooks for each event of the client, under the client's own name for it.

    Args:
        client: One that runs hooks.
        command: Gives the command for a kind of event.
    """
    form = client.hooks
    if form is None:
        return {}
    found: Groups = {}
    for kind, power in capabilities.CLIENTS[client.key].powers.items():
        run = {"type": "command", "command": command(kind), "timeout": form.timeout}
        if form.flat:
            group: dict[str, Any] = {"command": run["command"], "timeout": form.timeout}
        else:
            matcher = {"matcher": form.matcher} if form.matcher and kind in _TOOLS else {}
            group = {**matcher, "hooks": [run]}
        found |= dict.fromkeys(power.event.split(", "), group)
    return found


def snippet(client: Client, started: Launch) -> str:
    """What a person puts into the client's file."""
    written = entry(client, started)
    if client.shape == "codex":
        return toml_text.put_table("", (client.top, NAME), written)
    if client.shape == "continue":
        first, *rest = (f"{name}: {json.dumps(value)}" for name, value in written.items())
        return "\n".join([f"{client.top}:", f"  - {first}", *(f"    {line}" for line in rest), ""])
    if client.shape == "goose":
        lines = (f"    {name}: {json.dumps(value)}" for name, value in written.items())
        return "\n".join([f"{client.top}:", f"  {NAME}:", *lines, ""])
    whole = {client.top: {NAME: written}}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
