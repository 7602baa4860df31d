"""Tasks: what is stable lives in records, what happens is a fold of journaled events."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from handoff_memory.core import canonical, lazy, names, task_state, times
from handoff_memory.core.author import Author
from handoff_memory.core.errors import CorruptDatabaseError, InvalidNameError, NotFoundError
from handoff_memory.core.task_state import Event, EventKind, TaskState
from handoff_memory.rules import redact
from handoff_memory.services import writing
from handoff_memory.services.limits import Limits
from handoff_memory.services.writing import Reply
from handoff_memory.store import records
from handoff_memory.store import tasks as rows
from handoff_memory.store.engine import Row, Tx

STABLE: Final = ("objective", "constraints", "decisions", "plan", "contract")
_EVERY: Final = 16  # events between two kept states: replaying fewer is cheaper than keeping more
_ID: Final = lazy.pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_SOURCE: Final = "osiris_plan"


class Stable(NamedTuple):
    """The part of a task that its manifest seals.

    Attributes:
        objective: What it is for; never changed.
        constraints: What must hold; only ever more.
        decisions: What was decided, word for word; only ever more.
        plan: Text and status (`pending`, `active`, `completed`) of each step.
        contract: The tools that the agent declared, one a line.
    """

    objective: str
    constraints: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    plan: tuple[tuple[str, str], ...] = ()
    contract: str = ""


class Task(NamedTuple):
    """A task as it is now; `seq` is that of its newest event."""

    id: str
    project: str
    stable: Stable
    state: TaskState
    seq: int = 0


def scope_of(task_id: str) -> str:
    """The scope of a task's records."""
    return f"osiris/task/{task_id}"


def checked_id(task_id: str) -> str:
    """A task id that can stand in a manifest, a scope and a file name.

    Raises:
        InvalidNameError: It cannot.
    """
    if not _ID.fullmatch(task_id) or set(task_id) == {"."}:
        raise InvalidNameError(
            f"{task_id!r} is no task id",
            way_out="Use 1 to 40 letters, digits, '.', '_' or '-', or leave it out.",
        )
    return task_id


def new_id(tx: Tx) -> str:
    """An id that no task has."""
    size = 2
    while rows.find(tx, found := f"t{tx.random(size).hex()}"):
        size += 1
    return found


def start(tx: Tx, who: Author, limits: Limits, task_id: str, stable: Stable) -> Task:
    """Begin a task."""
    writing.append(tx, who, "task", {"project": who.project, "task": task_id})
    task = Task(task_id, who.project, Stable(""), TaskState())
    return save_stable(tx, who, limits, task, stable)


def find(tx: Tx, project: str, task_id: str) -> Task | None:
    """A task of a project, or None."""
    row = rows.find(tx, task_id)
    if row is None or row["project"] != project:
        return None
    return Task(task_id, project, _stable(tx, project, task_id), load_state(tx, task_id))


def get(tx: Tx, who: Author, task_id: str | None) -> Task:
    """The task with that id, or the one in which this agent did something last.

    Raises:
        NotFoundError: There is none.
    """
    wanted = task_id or rows.latest_of(tx, who.project, who.agent)
    task = find(tx, who.project, wanted) if wanted else None
    if task is None:
        known = [row["task"] for row in rows.recent(tx, who.project, 5)]
        said = f"no task {task_id}" if task_id else "you have no task"
        raise NotFoundError(
            said,
            way_out="Call osiris_plan with an objective to start one, or name one of the nearest.",
            nearest=known,
        )
    return task


def overview(tx: Tx, project: str, limit: int) -> list[Reply]:
    """The tasks of a project in short, the one where something happened last first."""
    return [_in_short(tx, row) for row in rows.recent(tx, project, limit)]


def newest(tx: Tx, project: str) -> str:
    """The task of a project in which anybody did something last.

    Raises:
        NotFoundError: The project has none.
    """
    found = rows.recent(tx, project, 1)
    if not found:
        raise NotFoundError("there is no task", way_out="osiris_plan starts one.", nearest=[])
    return str(found[0]["task"])


def save_stable(tx: Tx, who: Author, limits: Limits, task: Task, stable: Stable) -> Task:
    """Keep what changed of the stable part, each as a new version of its record."""
    from handoff_memory.services import memory  # noqa: PLC0415 - what only happens changes nothing

    for name in STABLE:
        value = _plain(getattr(stable, name))
        if value != _plain(getattr(task.stable, name)):
            draft = memory.draft_record(
                limits,
                scope=scope_of(task.id),
                key=name,
                value=value,
                source=_SOURCE,
                reserved=True,
            )
            memory.write(tx, who, draft)
    return task._replace(stable=_stable(tx, task.project, task.id))


def with_contract(stable: Stable, contract: str) -> Stable:
    """The stable part with other tools declared."""
    return stable._replace(contract=contract)


def happened(
    tx: Tx, who: Author, limits: Limits, task: Task, kind: EventKind, data: Mapping[str, Any]
) -> Task:
    """Journal an event of a task; the task with its new state."""
    clean: redact.Redacted[Any] = redact.redact_value(dict(data), limits.allowed)
    body = canonical.encode(clean.value)
    new = writing.append(tx, who, "event", {"task": task.id, "event": kind}, body=body)
    event = Event(new.seq, tx.now, who.agent, kind, canonical.decode(body))
    state = task_state.apply(task.state, event)
    changed = task._replace(state=state, seq=new.seq)
    # Counted, not read off the seq: where each event follows a payload, it may be odd for ever.
    if rows.unkept(tx, task.id) >= _EVERY:
        keep_state(tx, changed)
    return changed


def keep_state(tx: Tx, task: Task) -> None:
    """Keep the state of a task as it is after its newest event."""
    rows.save_state(tx, task.id, task.seq, task_state.to_bytes(task.state))


def load_state(tx: Tx, task_id: str) -> TaskState:
    """The state of a task: what is kept of it, and the events since.

    Raises:
        CorruptDatabaseError: What is kept is no state.
    """
    kept = rows.state(tx, task_id)
    try:
        state = task_state.from_bytes(bytes(kept["state"])) if kept else TaskState()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptDatabaseError(f"the kept state of task {task_id} is damaged") from error
    return replay(state, rows.events(tx, task_id, kept["seq"] if kept else 0))


def replay(state: TaskState, events: Iterable[Row]) -> TaskState:
    """The state after those events."""
    for row in events:
        state = task_state.apply(state, event_of(row))
    return state


def event_of(row: Row) -> Event:
    """The event in a row; an erased one says nothing, nor does one that was made unreadable."""
    try:
        data = canonical.decode(row["body"]) if row["body"] else {}
    except ValueError:
        data = {}
    return Event(row["seq"], row["at"], row["agent"], row["event"], data)


def _in_short(tx: Tx, row: Row) -> Reply:
    stable, state = _stable(tx, row["project"], row["task"]), load_state(tx, row["task"])
    return {
        "task": row["task"],
        "objective": stable.objective,
        "done": sum(status == "completed" for _, status in stable.plan),
        "steps": len(stable.plan),
        "calls": state.calls,
        "finished": state.finished,
        "agent": row["last_agent"],
        "at": times.iso(row["last_at"]),
    }


def _stable(tx: Tx, project: str, task_id: str) -> Stable:
    scope = scope_of(task_id)
    home = names.home(scope, project)
    found: dict[str, Any] = {}
    for name in STABLE:
        row = records.current(tx, home, scope, name)
        if row is not None and row["body"] is not None:
            found[name] = canonical.decode(row["body"])
    return Stable(
        objective=found.get("objective", ""),
        constraints=tuple(found.get("constraints", ())),
        decisions=tuple(found.get("decisions", ())),
        plan=tuple((step["text"], step["status"]) for step in found.get("plan", ())),
        contract=found.get("contract", ""),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return [
        {"text": item[0], "status": item[1]} if isinstance(item, tuple) else item for item in value
    ]
