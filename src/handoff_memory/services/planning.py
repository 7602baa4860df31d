"""`osiris_plan`: a task begins, grows, is taken up again, and says how full its context is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal

from handoff_memory.core.author import Author
from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.rules import compass, ledger, pressure, redact, tokens
from handoff_memory.services import enforcement, lessons, sealing, tasks
from handoff_memory.services.limits import Governing, Limits
from handoff_memory.services.tasks import Stable, Task
from handoff_memory.services.writing import Reply
from handoff_memory.store import tasks as rows
from handoff_memory.store.engine import Tx

Mode = Literal["start", "update", "rewrite", "resume", "status", "promote"]

_BUDGET: Final = {"tokens": "tokens", "calls": "calls", "time_s": "time_s", "cost_usd": None}
_SHOWN_FAILURES: Final = 5
_SHOWN_REFS: Final = 10
_COUNTER: Final = "estimate"


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What `osiris_plan` is asked for."""

    mode: Mode | None = None
    task: str | None = None
    objective: str | None = None
    constraints: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    step: int | None = None
    budget: Mapping[str, Any] = field(default_factory=dict)
    lesson: str | None = None


def plan(tx: Tx, who: Author, governing: Governing, asked: PlanRequest) -> Reply:
    """Start a task, or change, resume or show one; gives the sealed manifest.

    Raises:
        InvalidArgumentError: The request contradicts itself or the task.
        NotFoundError: No such task.
    """
    asked = _redacted(governing.limits, asked)
    mode = asked.mode or ("start" if asked.objective and not _exists(tx, who, asked) else "update")
    if mode == "start":
        return _started(tx, who, governing, asked)
    task = tasks.get(tx, who, asked.task)
    if mode == "status":
        proven = enforcement.standing(tx, who)
        told = status(task, governing)
        return {**told, "enforcement": proven} if proven else told
    if mode == "resume":
        return _resumed(tx, who, governing, task)
    if mode == "promote":
        if not asked.lesson:
            raise InvalidArgumentError("promote takes the lesson, word for word")
        name = lessons.promote(tx, who, governing.limits, task, asked.lesson)
        return {"task": task.id, "promoted": str(name)}
    return _changed(tx, who, governing, task, asked, rewrites=mode == "rewrite")


def status(task: Task, governing: Governing) -> Reply:
    """Context pressure by kind, the zones, the ledger, and which tools are worth having."""
    judged = context_pressure(task, governing)
    drawn = statement(task)
    told: Reply = {
        "task": task.id,
        "pressure": {
            "used_percent": judged.used.percent,
            "basis": judged.used.basis,
            "measured": judged.measured,
            "declared": judged.declared,
            "estimated": judged.estimated,
            "unknown": judged.unknown,
            "level": judged.level,
            "turns_left": judged.turns_left,
        },
        "zones": [asdict(row) for row in judged.rows],
        "budget": sealing.standing(task.state).state,
        "ledger": {
            "overhead": drawn.overhead,
            "saved_proven": drawn.proven,
            "saved_claimed": drawn.claimed,
            "net": drawn.net,
        },
    }
    if bearing := tool_compass(task):
        told["tools"] = [one.tool.name for one in bearing.recommended]
        told["never_used"] = list(bearing.never_used)[:10]
    return told


def context_pressure(task: Task, governing: Governing) -> pressure.Pressure:
    """How full the context is, as far as anybody said."""
    zones = sealing.zones(task, governing)
    pinned = tokens.estimate(sealing.shown(task, governing)) + sum(
        map(tokens.estimate, (*zones.constraints, *zones.decisions))
    )
    head = (task.state.head or {}).get("tokens")
    contract = (task.state.contract or {}).get("tokens")
    inside = sum(
        call.get("tokens") or 0 for call in task.state.window if call.get("ref") not in _gone(task)
    )
    readings = [
        pressure.Reading("A", "estimated", pinned),
        pressure.Reading("A", "declared", head),
        pressure.Reading("B", "declared", contract),
        pressure.Reading("C", "estimated", inside),
    ]
    known = task.state.pressure
    return pressure.judge(
        readings,
        known.get("window", governing.window_tokens),
        client_tokens=known.get("used"),
        growth=[call.get("tokens") or 0 for call in task.state.window],
    )


def statement(task: Task) -> ledger.Statement:
    """The ledger of a task, drawn up and balanced."""
    bookings = [
        ledger.Booking(cause, count, _COUNTER, exact=False)  # type: ignore[arg-type]
        for cause, count in sorted(task.state.booked.items())
        if cause != "payload_avoided"
    ]
    bookings += [
        ledger.Booking("payload_avoided", count, _COUNTER, exact=False, ref=ref)
        for ref, count in sorted(task.state.moved.items())
    ]
    return ledger.balance(bookings, receipts=set(task.state.dropped))


def tool_compass(task: Task) -> compass.Bearing | None:
    """Which of the declared tools are worth having for the active step."""
    declared = (task.state.contract or {}).get("tools") or []
    if not declared:
        return None
    active = next((text for text, state in task.stable.plan if state == "active"), "")
    fared = {
        name: compass.Fared(counts["calls"] - counts["failures"], counts["failures"])
        for name, counts in task.state.tools.items()
    }
    offered = [
        compass.Tool(tool["name"], tool.get("description", ""), tokens=tool.get("tokens", 0))
        for tool in declared
    ]
    return compass.survey(offered, active or task.stable.objective, fared)


def _redacted(limits: Limits, asked: PlanRequest) -> PlanRequest:
    """The request as it will be kept, so that a text with a secret is known when it comes again."""
    texts = {
        name: getattr(asked, name)
        for name in ("objective", "constraints", "decisions", "plan", "lesson")
    }
    clean: redact.Redacted[Any] = redact.redact_value(
        {name: list(text) if isinstance(text, tuple) else text for name, text in texts.items()},
        limits.allowed,
    )
    if not clean.kinds:
        return asked
    kept: dict[str, Any] = {
        name: tuple(text) if isinstance(text, list) else text for name, text in clean.value.items()
    }
    return replace(asked, **kept)


def _gone(task: Task) -> set[str]:
    return {*task.state.dropped, *task.state.moved}


def _exists(tx: Tx, who: Author, asked: PlanRequest) -> bool:
    return asked.task is not None and tasks.find(tx, who.project, asked.task) is not None


def _started(tx: Tx, who: Author, governing: Governing, asked: PlanRequest) -> Reply:
    if not asked.objective or not asked.objective.strip():
        raise InvalidArgumentError("a task starts with an objective")
    task_id = tasks.checked_id(asked.task) if asked.task else tasks.new_id(tx)
    if rows.find(tx, task_id) is not None:
        raise InvalidArgumentError(
            f"task {task_id} exists already",
            way_out="Update it, or leave the task out for a new id.",
        )
    stable = Stable(
        objective=asked.objective.strip(),
        constraints=tuple(dict.fromkeys(asked.constraints)),
        decisions=tuple(dict.fromkeys(asked.decisions)),
        plan=_steps((), asked.plan),
    )
    task = tasks.start(tx, who, governing.limits, task_id, stable)
    task = _with_extras(tx, who, governing, task, asked)
    task = sealing.sealed(tx, who, governing, task)
    return _manifest(task, governing)


def _changed(
    tx: Tx, who: Author, governing: Governing, task: Task, asked: PlanRequest, *, rewrites: bool
) -> Reply:
    if asked.objective and asked.objective.strip() != task.stable.objective:
        raise InvalidArgumentError(
            "the objective of a task never changes",
            way_out="Start another task, or record a decision.",
        )
    before = sealing.seal(task, governing)
    old = task.stable
    stable = old._replace(
        constraints=_grown(old.constraints, asked.constraints, rewrites=rewrites),
        decisions=_grown(old.decisions, asked.decisions, rewrites=rewrites),
        plan=_stepped(_steps(old.plan, asked.plan) if asked.plan else old.plan, asked.step),
    )
    task = tasks.save_stable(tx, who, governing.limits, task, stable)
    if asked.step is not None:
        task = tasks.happened(tx, who, governing.limits, task, "stepped", {"step": asked.step})
    task = _with_extras(tx, who, governing, task, asked)
    told = sealing.drift(task, governing, before)
    task = sealing.sealed(tx, who, governing, task)
    reply = _manifest(task, governing)
    return {**reply, "drift": told} if told else reply


def _resumed(tx: Tx, who: Author, governing: Governing, task: Task) -> Reply:
    task = tasks.happened(tx, who, governing.limits, task, "resumed", {"by": who.session})
    return whole(tx, who, task, governing)


def whole(tx: Tx, who: Author, task: Task, governing: Governing) -> Reply:
    """All that a session needs to take a task up again."""
    state = task.state
    # A kept state comes back in the order of its names.
    failures = sorted(state.failures.items(), key=lambda item: (-item[1].attempts, item[0]))
    results = sorted(state.results.values(), key=lambda fact: fact["turn"])
    return {
        **_manifest(task, governing),
        "objective": task.stable.objective,
        "constraints": list(task.stable.constraints),
        "decisions": list(task.stable.decisions),
        "plan": [f"{text} [{status}]" for text, status in task.stable.plan],
        "failures": [
            {"tool": failure.tool, "attempts": failure.attempts, "lesson": failure.lesson}
            for _, failure in failures[:_SHOWN_FAILURES]
        ],
        "lessons": lessons.known(tx, who, task.id),
        "refs": [fact["ref"] for fact in results][-_SHOWN_REFS:],
        "flags": {name: f"{flag.value} ({flag.source})" for name, flag in state.flags.items()},
        "files": len(state.files),
    }


def _with_extras(tx: Tx, who: Author, governing: Governing, task: Task, asked: PlanRequest) -> Task:
    if asked.budget:
        limits = _budget(asked.budget)
        task = tasks.happened(tx, who, governing.limits, task, "budget", limits)
    if asked.lesson:
        task = lessons.learn(tx, who, governing.limits, task, asked.lesson)
    return task


def _manifest(task: Task, governing: Governing) -> Reply:
    return {"task": task.id, "manifest": sealing.shown(task, governing)}


def _grown(old: tuple[str, ...], new: tuple[str, ...], *, rewrites: bool) -> tuple[str, ...]:
    if rewrites:
        return tuple(dict.fromkeys(new)) if new else old
    return tuple(dict.fromkeys((*old, *new)))


def _steps(old: tuple[tuple[str, str], ...], texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    known = dict(old)
    steps = [(text, known.get(text, "pending")) for text in dict.fromkeys(texts)]
    return _active(steps)


def _stepped(plan: tuple[tuple[str, str], ...], step: int | None) -> tuple[tuple[str, str], ...]:
    if step is None:
        return plan
    if not 1 <= step <= len(plan):
        raise InvalidArgumentError(
            f"step is a number from 1 to {len(plan)}, the length of the plan"
        )
    steps = [
        (text, "completed" if at == step else status)
        for at, (text, status) in enumerate(plan, start=1)
    ]
    return _active(steps)


def _active(steps: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The plan with its first step that is not completed as the active one."""
    first = next((at for at, (_, status) in enumerate(steps) if status != "completed"), None)
    return tuple(
        (text, "active" if at == first else "pending" if status == "active" else status)
        for at, (text, status) in enumerate(steps)
    )


def _budget(given: Mapping[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in given.items():
        if name not in _BUDGET:
            raise InvalidArgumentError(f"budget takes {', '.join(_BUDGET)}; not {name!r}")
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise InvalidArgumentError(f"budget.{name} is a number from 0 on")
        if name == "cost_usd":
            found["cost_micro_usd"] = round(value * sealing.MICRO_USD)
        else:
            found[name] = int(value)
    return found
