"""What a tool is: prompt text, parameters, and one coroutine behind them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from handoff_memory.core.author import Author
from handoff_memory.server import arguments as a
from handoff_memory.services.writing import Reply


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what agents see of it and what it does.

    Attributes:
        name: As listed; letters and underscores only.
        description: Prompt text: when to call it.
        arguments: Its parameters.
        call: What it does.
        reads: It changes nothing.
        eager: Clients that defer tools should load this one at once.
    """

    name: str
    description: str
    arguments: type[a.Arguments]
    call: Callable[[Author, Any], Awaitable[Reply]]
    reads: bool = False
    eager: bool = False

    def described(self, *, name: str | None = None) -> dict[str, Any]:
        """What `tools/list` says of it, as it goes over the wire; under another name if given."""
        found: dict[str, Any] = {
            "name": name or self.name,
            "description": self.description,
            "inputSchema": a.schema(self.arguments),
            "annotations": {
                "readOnlyHint": self.reads,
                "destructiveHint": False,
                "idempotentHint": self.reads,
                "openWorldHint": False,
            },
        }
        if self.eager:
            found["_meta"] = {"anthropic/alwaysLoad": True}
        return found
