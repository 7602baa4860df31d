"""A session ends: what is unfinished is left as a packet, so that the next one begins with it.

One packet a task: an earlier one that nobody took is withdrawn when a newer one tells more, or when
the session that left it goes on.
"""

from __future__ import annotations

from typing import Any, Final

from handoff_memory.core.author import Author
from handoff_memory.core.names import Name
from handoff_memory.services import guarding, handoff, packet_drafts, reading, tasks, waiting
from handoff_memory.services.limits import Governing
from handoff_memory.services.tasks import Task
from handoff_memory.store import packets
from handoff_memory.store.engine import Row, Tx

_LEFT: Final = "left"
_WITHDRAWN: Final = "withdrawn"
_SUMMARY_CHARS: Final = 120
_SHOWN_FILES: Final = 12
_SHOWN_FAILURES: Final = 3
_SHOWN_REFS: Final = 10


def leave(
    tx: Tx,
    who: Author,
    governing: Governing,
    *,
    task_id: str | None,
    workspace: dict[str, Any] | None = None,
) -> str | None:
    """Leave a packet where the task is unfinished and something happened since the last one.

    Returns:
        The packet's id, or None where none was left.
    """
    task = guarding.current(tx, who, task_id)
    if task is None or not _is_unfinished(task):
        return None
    known = _left(tx, who, task)
    if known is not None and known["seq"] >= _last_seq(task):
        return None
    made = handoff.create(tx, who, _draft(tx, task, governing, workspace))
    event = {"packet": made["packet_id"], "state": _LEFT}
    tasks.happened(tx, who, governing.limits, task, "delegated", event)
    if known is not None:
        _withdraw(tx, who, governing, task, known, f"{made['packet_id']} says more")
    return str(made["packet_id"])


def taken_up(tx: Tx, who: Author, governing: Governing, *, task_id: str | None) -> None:
    """The session that left a packet goes on: nobody needs to take its work over now."""
    task = guarding.current(tx, who, task_id)
    if task is None or (known := _left(tx, who, task)) is None:
        return
    if known["session"] == who.session:
        _withdraw(tx, who, governing, task, known, "the session goes on")


# --- parts -------------------------------------------------------------------------------------


def _is_unfinished(task: Task) -> bool:
    if task.state.finished:
        return False
    if task.stable.plan:
        return any(status != "completed" for _, status in task.stable.plan)
    if task.id.startswith(guarding.AUTO):  # nobody said when it would be done
        return task.state.edits > 0
    return task.state.calls > 0 or bool(task.stable.decisions)


def _last_seq(task: Task) -> int:
    return task.state.window[-1]["seq"] if task.state.window else 0


def _left(tx: Tx, who: Author, task: Task) -> Row | None:
    """The packet that was left for this task and still waits."""
    for packet_id, state in task.state.handoffs.items():
        if state == _LEFT:
            row = packets.by_id(tx, packet_id)
            if row is not None and row["agent"] == who.agent and waiting.waits(tx, row):
                return row
    return None


def _withdraw(tx: Tx, who: Author, governing: Governing, task: Task, known: Row, why: str) -> None:
    draft = packet_drafts.draft_packet(
        governing.limits,
        summary=f"Withdrawn: {why}",
        in_reply_to=known["packet"],
        status=_WITHDRAWN,
    )
    handoff.create(tx, who, draft)
    event = {"packet": known["packet"], "state": _WITHDRAWN}
    tasks.happened(tx, who, governing.limits, task, "delegated", event)


def _draft(
    tx: Tx, task: Task, governing: Governing, workspace: dict[str, Any] | None
) -> packet_drafts.PacketDraft:
    stable, state = task.stable, task.state
    done = [text for text, status in stable.plan if status == "completed"]
    edited = state.edited[-_SHOWN_FILES:]
    if edited:
        done.append(f"edited {', '.join(edited)}")
    steps = [text for text, status in stable.plan if status != "completed"]
    failures = sorted(state.failures.values(), key=lambda one: -one.attempts)[:_SHOWN_FAILURES]
    facts = sorted(state.results.values(), key=lambda fact: fact["turn"])[-_SHOWN_REFS:]
    summary = f"Unfinished: {' '.join(stable.objective.split())}"
    return packet_drafts.draft_packet(
        governing.limits,
        summary=summary if len(summary) <= _SUMMARY_CHARS else f"{summary[: _SUMMARY_CHARS - 1]}…",
        done=done,
        next_steps=steps or [f"Go on with: {stable.objective}"],
        open_questions=[
            f"{one.tool} failed {one.attempts} times" + (f": {one.lesson}" if one.lesson else "")
            for one in failures
        ],
        pins=[str(name) for name in _records(tx, task)],
        details={
            "objective": stable.objective,
            "results": {"task": task.id, "refs": [fact["ref"] for fact in facts]},
        },
        workspace=workspace,
    )


def _records(tx: Tx, task: Task) -> list[Name]:
    """The records of a task's stable part that exist."""
    found = (Name(tasks.scope_of(task.id), key) for key in tasks.STABLE if key != "contract")
    return [name for name in found if reading.find(tx, task.project, name) is not None]
