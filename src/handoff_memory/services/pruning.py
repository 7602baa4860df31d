"""Which results an agent may let go of: those whose refs bring them back, when it pays."""

from __future__ import annotations

from typing import Any, Final, get_args

from handoff_memory.core.author import Author
from handoff_memory.core.times import SECOND
from handoff_memory.rules import prune, tokens
from handoff_memory.services import tasks
from handoff_memory.services.limits import Governing
from handoff_memory.services.tasks import Task
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Tx

_MODES: Final = frozenset(get_args(prune.Mode))


def plan(task: Task, governing: Governing, now: int) -> prune.PrunePlan:
    """What leaves now, by the mode that is set."""
    mode: Any = governing.prune_mode if governing.prune_mode in _MODES else "cache_ttl"
    return prune.plan(_items(task), mode, _situation(task, governing, now))


def pruned(tx: Tx, who: Author, governing: Governing, task: Task) -> tuple[Task, Reply | None]:
    """The task with what leaves taken down, and what the agent is told, if anything leaves."""
    made = plan(task, governing, tx.now)
    if not made.moves:
        return task, None
    moved = {move.ref: move.tokens for move in made.moves}
    event = {"mode": governing.prune_mode, "refs": moved, "net": made.net}
    task = tasks.happened(tx, who, governing.limits, task, "pruned", event)
    return task, {"drop": list(moved), "saves": made.net}


def _items(task: Task) -> list[prune.Item]:
    state = task.state
    first = state.calls - len(state.window)
    items = []
    for at, call in enumerate(state.window, start=first + 1):
        ref = call.get("ref")
        if ref is None or ref in state.moved or ref in state.dropped:
            continue
        is_cold = state.calls - at >= prune.COLD_TURNS
        count = call.get("tokens") or 0
        items.append(prune.Item(ref, "D" if is_cold else "C", count, ref, at))
    return list({item.id: item for item in items}.values())


def _situation(task: Task, governing: Governing, now: int) -> prune.Situation:
    last = task.state.window[-1]["at"] if task.state.window else now
    stable = task.stable
    pinned = (stable.objective, *(text for text, _ in stable.plan), stable.contract)
    return prune.Situation(
        idle_s=max(0, now - last) // SECOND,
        ttl_s=governing.cache_ttl_s,
        threshold_tokens=governing.prune_threshold_tokens,
        prefix_tokens=(task.state.head or {}).get("tokens", 0) + sum(map(tokens.estimate, pinned)),
        turn=task.state.calls,
    )
