"""The governor's part of a verification: kept states against events, payloads against refs."""

from __future__ import annotations

from collections.abc import Iterator

from handoff_memory.core import task_state
from handoff_memory.core.errors import CorruptRefError
from handoff_memory.core.task_state import TaskState
from handoff_memory.services import refs, tasks
from handoff_memory.store import payloads
from handoff_memory.store import tasks as rows
from handoff_memory.store.engine import Tx

Finding = tuple[str, str, str]


def problems(tx: Tx) -> Iterator[Finding]:
    """Kind, name and what is wrong, of every task state and payload that does not hold."""
    yield from _states(tx)
    yield from _payloads(tx)


def _states(tx: Tx) -> Iterator[Finding]:
    for kept in list(rows.states(tx)):
        known = rows.find(tx, kept["task"])
        if known is None:
            yield "task", kept["task"], "a state without a task"
            continue
        until = (row for row in rows.events(tx, kept["task"]) if row["seq"] <= kept["seq"])
        state = tasks.replay(TaskState(), until)
        if task_state.to_bytes(state) != _as_now(bytes(kept["state"])):
            yield "task", kept["task"], "its kept state is not what its events give"


def _as_now(kept: bytes) -> bytes:
    """A kept state in the form of this program: an earlier one knew fewer fields."""
    try:
        return task_state.to_bytes(task_state.from_bytes(kept))
    except (ValueError, KeyError, TypeError, AttributeError):
        return kept


def _payloads(tx: Tx) -> Iterator[Finding]:
    for row in payloads.every(tx):
        try:
            refs.read(tx, row)
        except CorruptRefError as error:
            yield "payload", f"{refs.short(row)} mem://sha256:{row['ref']}", error.message
