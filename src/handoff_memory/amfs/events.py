"""Events of the SDK as rows of the timeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from amfs_core.models import Event

from handoff_memory.amfs.entries import microseconds
from handoff_memory.services import amfs as service
from handoff_memory.services.limits import Limits
from handoff_memory.store.amfs import EntryName, Happening

# What the SDK's own reads and writes say of an entry beside its name.
_PLAIN: Final = {
    *("entity_path", "key", "version", "confidence", "memory_type", "shared"),
    "author_agent_id",
}


def happening(
    limits: Limits, project: str, name: Callable[[str, str, str], EntryName], event: Event
) -> Happening:
    """The row of an event, without secrets.

    Args:
        limits: False alarms.
        project: Whose timeline.
        name: Checks the name of an entry: path, key and branch.
        event: The SDK's.
    """
    if _is_plain(name, event):
        body: str = event.model_dump_json()
    else:
        body = service.document_body(limits, event.model_dump(mode="json")).decode()
    return Happening(
        project,
        event.namespace,
        event.branch,
        event.agent_id,
        event.event_type.value,
        microseconds(event.created_at),
        event.id,
        body,
    )


def _is_plain(name: Callable[[str, str, str], EntryName], event: Event) -> bool:
    """Whether an event says nothing but the name of an entry, which holds no secret."""
    said = event.details
    if not said.keys() <= _PLAIN or not {"entity_path", "key"} <= said.keys():
        return False
    known = name(said["entity_path"], said["key"], event.branch)
    return event.summary in {f"Read {known}", f"Wrote {known} v{said.get('version')}"}
