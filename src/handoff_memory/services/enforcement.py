"""Whether each client's hooks really keep calls from running, as `doctor` last proved it."""

from __future__ import annotations

from typing import Any, Final, Literal

from handoff_memory.core import canonical
from handoff_memory.core.author import Author
from handoff_memory.core.names import RESERVED, Name
from handoff_memory.services import memory, reading
from handoff_memory.services.limits import Limits
from handoff_memory.store import search
from handoff_memory.store.engine import Tx

Hooks = Literal["enforced", "advisory"]

_SCOPE: Final = f"{RESERVED}/enforcement"
_LISTED: Final = 20


def proof(agent: str, hooks: Hooks, version: str | None) -> dict[str, Any]:
    """What is kept of a client."""
    return {"agent": agent, "hooks": hooks, "version": version}


def differs(tx: Tx, who: Author, client: str, proven: dict[str, Any]) -> bool:
    """Whether something else is kept of that client."""
    row = reading.find(tx, who.project, Name(_SCOPE, client))
    return row is None or row["body"] is None or canonical.decode(row["body"]) != proven


def keep(tx: Tx, who: Author, limits: Limits, client: str, proven: dict[str, Any]) -> None:
    """Keep what was proved of a client."""
    draft = memory.draft_record(
        limits, scope=_SCOPE, key=client, value=proven, source="doctor", reserved=True
    )
    memory.write(tx, who, draft, if_changed=True)


def standing(tx: Tx, who: Author) -> str | None:
    """What was proved of the client that this agent works in, in few words."""
    wanted = search.Filter(who.project, _SCOPE, "[]", None, 0, None, tx.now, 2**62)
    for hit in search.listed(tx, wanted, reach="current", limit=_LISTED):
        row = reading.by_seq(tx, hit["seq"])
        body = canonical.decode(row["body"]) if row and row["body"] is not None else {}
        if body.get("agent") == who.agent:
            version = f" {body['version']}" if body["version"] else ""
            return f"hooks {body['hooks']}, {row['key'] if row else ''}{version}"
    return None
