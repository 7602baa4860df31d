"""The sealed manifest of a task: its zones, its hashes, and what drifted since a seal was given."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from handoff_memory.core.author import Author
from handoff_memory.core.task_state import TaskState
from handoff_memory.rules import manifest, policy, prefix, tokens
from handoff_memory.services import tasks
from handoff_memory.services.limits import Governing
from handoff_memory.services.tasks import Task
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Tx

MICRO_USD: Final = 1_000_000


def zones(task: Task, governing: Governing) -> prefix.Zones:
    """What the seal covers."""
    stable = task.stable
    return prefix.Zones(
        system_head=(task.state.head or {}).get("sha256", ""),
        rules=governing.rules,
        objective=stable.objective,
        global_plan=tuple(text for text, _ in stable.plan),
        tool_contract=stable.contract,
        constraints=stable.constraints,
        decisions=stable.decisions,
    )


def seal(task: Task, governing: Governing) -> str:
    """The seal of a task as it is now, 64 hex digits."""
    return prefix.seal(prefix.hashes(zones(task, governing)))


def sealed(tx: Tx, who: Author, governing: Governing, task: Task) -> Task:
    """The task with its present seal remembered, so that a later drift can be told from it."""
    hashes = prefix.hashes(zones(task, governing))
    digest = prefix.seal(hashes)
    if digest in task.state.seals:
        return task
    return tasks.happened(
        tx, who, governing.limits, task, "sealed", {"seal": digest, "hashes": hashes.plain()}
    )


def marked(tx: Tx, who: Author, governing: Governing, task: Task) -> Task:
    """The task with a point to come back to, and its state kept as it is there."""
    event = {"seal": seal(task, governing)}
    task = tasks.happened(tx, who, governing.limits, task, "checkpointed", event)
    tasks.keep_state(tx, task)
    return task


def drift(task: Task, governing: Governing, given: str) -> Reply | None:
    """What changed since the seal that an agent hands back, or None where nothing did."""
    new = prefix.hashes(zones(task, governing))
    if manifest.matches(given, prefix.seal(new)):
        return None
    known = next((old for old in task.state.seals if manifest.matches(given, old)), None)
    if known is None:
        return {"verdict": "unknown", "next": "osiris_plan mode resume gives the present manifest"}
    counts = prefix.counts(zones(task, governing), tokens.estimate)
    found = prefix.drift(_hashes(task.state.seals[known]["hashes"]), new, counts)
    told: Reply = {"verdict": found.verdict, "cause": found.cause, "prefill": found.prefill.tokens}
    if found.semantic_break:
        worst = found.findings[0]
        told |= {"semantic_break": True, "item": f"{worst.collection} {(worst.index or 0) + 1}"}
    return told


def shown(task: Task, governing: Governing) -> str:
    """The block that an agent keeps in sight."""
    done = sum(status == "completed" for _, status in task.stable.plan)
    return manifest.render(
        manifest.Glance(
            task=task.id,
            objective=task.stable.objective,
            done=done,
            steps=len(task.stable.plan),
            invariants=len(governing.rules),
            files=len(task.state.files),
            refs=task.state.refs,
            decisions=len(task.stable.decisions),
            budget=standing(task.state).state,
            seal=seal(task, governing),
        )
    )


def standing(state: TaskState) -> policy.Standing:
    """How much of a task's budget is used up."""
    return policy.standing(budget(state), spent(state))


def budget(state: TaskState) -> policy.Budget:
    """A task's limits, as its events set them."""
    given = state.budget
    cost = given.get("cost_micro_usd")
    return policy.Budget(
        tokens=given.get("tokens"),
        cost_usd=None if cost is None else Decimal(cost) / MICRO_USD,
        calls=given.get("calls"),
        time_s=given.get("time_s"),
    )


def spent(state: TaskState) -> policy.Spent:
    """What a task used up so far; a saving is no negative spending."""
    used = sum(count for cause, count in state.booked.items() if cause != "payload_avoided")
    return policy.Spent(
        tokens=used + state.pressure.get("spent_tokens", 0),
        cost_usd=Decimal(state.pressure.get("spent_micro_usd", 0)) / MICRO_USD,
        calls=state.calls,
        time_s=state.pressure.get("spent_s", 0),
    )


def _hashes(kept: Mapping[str, Any]) -> prefix.Hashes:
    items = kept["items"]
    pinned = prefix.Pinned(tuple(items["constraints"]), tuple(items["decisions"]))
    return prefix.Hashes(**{**kept, "items": pinned})
