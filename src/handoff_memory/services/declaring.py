"""What an agent or a person says of a task beside its actions: drops, head, contract, pressure.

No hook loads this; it is what only the tools and the command line ask for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from handoff_memory.core import times
from handoff_memory.core.author import Author
from handoff_memory.core.errors import InvalidArgumentError, NotFoundError
from handoff_memory.rules import tokens, volatile
from handoff_memory.services import refs, sealing, tasks
from handoff_memory.services.limits import Governing
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Tx

_VOLATILE_SHOWN: Final = 5


def files_of(tx: Tx, who: Author, ref: str) -> list[Mapping[str, Any]]:
    """The files whose content a ref holds, as the agent's present task saw them."""
    try:
        task = tasks.get(tx, who, None)
    except NotFoundError:
        return []
    return [{"path": path, **fact} for path, fact in task.state.files.items() if fact["ref"] == ref]


def dropped(
    tx: Tx, who: Author, governing: Governing, ref: str, *, task_id: str | None = None
) -> Reply:
    """Credit a saving: the agent confirms that a payload left its prompt.

    Raises:
        NotFoundError: The ref means no payload of this task.
    """
    task = tasks.get(tx, who, task_id)
    row = refs.find(tx, ref)
    alias = refs.short(row)
    known = [fact for fact in task.state.results.values() if fact["ref"] == alias]
    if not known:
        raise InvalidArgumentError(
            f"{alias} is no result of task {task.id}", way_out="Name a ref that observe gave you."
        )
    if alias in task.state.dropped:
        return {"ok": True, "credited": 0, "note": f"{alias} was credited before"}
    saved = int(known[-1]["tokens"])
    limits = governing.limits
    if alias not in task.state.moved:
        moved = {"mode": "dropped", "refs": {alias: saved}}
        task = tasks.happened(tx, who, limits, task, "pruned", moved)
    tasks.happened(tx, who, limits, task, "dropped", {"ref": alias, "tokens": saved})
    return {"ok": True, "credited": saved}


def recorded(  # noqa: PLR0913 - one argument a thing that was recorded
    tx: Tx,
    who: Author,
    governing: Governing,
    kind: Literal["head", "contract"],
    text: str,
    declared: Sequence[Mapping[str, Any]] = (),
    *,
    task_id: str | None = None,
) -> Reply:
    """Record the system head or the tool contract, and name what breaks a prompt cache in it."""
    task = tasks.get(tx, who, task_id)
    counted = tokens.estimate(text)
    data: dict[str, Any] = {"sha256": refs.hash_of(text), "tokens": counted}
    if kind == "contract":
        data["tools"] = [dict(tool) for tool in declared]
    before = sealing.seal(task, governing)
    task = tasks.happened(tx, who, governing.limits, task, kind, data)
    if kind == "contract":
        names = "\n".join(tool["name"] for tool in declared) or data["sha256"]
        stable = tasks.with_contract(task.stable, names)
        task = tasks.save_stable(tx, who, governing.limits, task, stable)
    reply: Reply = {"ok": True, "tokens": counted}
    if told := sealing.drift(task, governing, before):
        reply["drift"] = told
    sealing.sealed(tx, who, governing, task)
    if found := volatile.find(text):
        reply["volatile"] = [
            f"{one.kind} at line {one.line}, column {one.column}" for one in found[:_VOLATILE_SHOWN]
        ]
        if len(found) > _VOLATILE_SHOWN:
            reply["volatile_total"] = len(found)
    return reply


def declared_pressure(
    tx: Tx, who: Author, governing: Governing, told: Mapping[str, int], *, task_id: str | None
) -> Reply:
    """Take down how full the client says its context is, and what the work cost so far."""
    task = tasks.get(tx, who, task_id)
    tasks.happened(tx, who, governing.limits, task, "pressure", dict(told))
    return {"ok": True}


def approve(
    tx: Tx, who: Author, governing: Governing, rule_id: str, until: int, *, task_id: str | None
) -> Reply:
    """A person lets a rule be broken until a time; only the command line offers this."""
    task = tasks.get(tx, who, task_id)
    told = {"rule": rule_id, "until": until}
    tasks.happened(tx, who, governing.limits, task, "approved", told)
    return {"task": task.id, "rule": rule_id, "until": times.iso(until)}
