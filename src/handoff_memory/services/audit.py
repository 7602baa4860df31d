"""The audit of a task: everything it moved out of prompts is read again and hashed again."""

from __future__ import annotations

from collections.abc import Callable

from handoff_memory.core.author import Author
from handoff_memory.core.errors import CorruptRefError
from handoff_memory.services import refs, tasks
from handoff_memory.services.writing import Reply
from handoff_memory.store import payloads
from handoff_memory.store import tasks as rows
from handoff_memory.store.engine import Tx

Progress = Callable[[int, int], None]


def externalized(tx: Tx, task_id: str) -> list[str]:
    """The refs that a task's events name, 64 hex digits each, in the order of their first event."""
    found: dict[str, None] = {}
    for row in rows.events(tx, task_id):
        data = tasks.event_of(row).data
        for ref in (data.get("sha256") if row["event"] == "called" else None, *_undone(data)):
            if ref:
                found[ref] = None
    return list(found)


def audit(
    tx: Tx, who: Author, task_id: str, *, progress: Progress = lambda done, total: None
) -> Reply:
    """Whether nothing of what a task externalised is lost or altered. Source: governor.md §9.

    Lossless means the redacted bytes: `redacted_bytes` says how many of the originals were secrets
    and were never kept.

    Raises:
        NotFoundError: No such task.
    """
    task = tasks.get(tx, who, task_id)
    wanted = externalized(tx, task.id)
    verified = missing = redacted = 0
    violations: list[str] = []
    for done, ref in enumerate(wanted, start=1):
        row = payloads.by_ref(tx, ref)
        if row is None:
            missing += 1
        else:
            redacted += row["redacted_bytes"]
            try:
                refs.read(tx, row)
                verified += 1
            except CorruptRefError as error:
                violations.append(f"mem://sha256:{ref}: {error.message}")
        progress(done, len(wanted))
    return {
        "lossless": not missing and not violations,
        "items_externalized": len(wanted),
        "items_verified": verified,
        "items_missing": missing,
        "integrity_violations": violations,
        "redacted_bytes": redacted,
    }


def _undone(data: object) -> list[str]:
    gaps = data.get("gaps") if isinstance(data, dict) else None
    return [gap["sha256"] for gap in gaps or ()]
