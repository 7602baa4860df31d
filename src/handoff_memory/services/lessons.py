"""Lessons: what a task taught, kept in the registry, confirmed by coming up again, and promoted."""

from __future__ import annotations

from typing import Final

from handoff_memory.core import canonical, confidence, lazy
from handoff_memory.core.author import Author
from handoff_memory.core.digest import sha256
from handoff_memory.core.errors import NotFoundError, NotProvenError
from handoff_memory.core.names import Name
from handoff_memory.rules import registry
from handoff_memory.services import reading, tasks
from handoff_memory.services.limits import Limits
from handoff_memory.services.tasks import Task
from handoff_memory.services.writing import Reply
from handoff_memory.store import search
from handoff_memory.store import tasks as rows
from handoff_memory.store.engine import Tx

_LISTED: Final = 20
_KEY: Final = lazy.pattern(r"l-[0-9a-f]{12}")


def learn(tx: Tx, who: Author, limits: Limits, task: Task, text: str) -> Task:
    """Keep a lesson of a task; one that is learned again has proved itself a little more."""
    place = registry.Place(who.agent, task.id)
    name = Name(registry.scope("task", "lesson", place), key_of(text))
    if reading.find(tx, who.project, name) is None:
        _write(tx, who, limits, name, {"text": text})
    else:
        from handoff_memory.services import outcomes  # noqa: PLC0415 - as in `_write`

        draft = outcomes.draft_outcome(limits, name=name, outcome="success", reserved=True)
        outcomes.report(tx, who, draft)
    return tasks.happened(tx, who, limits, task, "lesson", {"text": text})


def promote(tx: Tx, who: Author, limits: Limits, task: Task, text: str) -> Name:
    """Write a lesson one level up, as a new record that names its source.

    Raises:
        NotFoundError: No such lesson.
        NotProvenError: It has not proved itself.
    """
    place = registry.Place(who.agent, task.id)
    entry = highest(tx, who, place, text)
    if entry is None:
        raise NotFoundError("no such lesson", nearest=[])
    found = registry.promotion(entry, place)
    if isinstance(found, registry.NotPromoted):
        raise NotProvenError(f"the lesson stays at its level: {found.why}")
    _write(tx, who, limits, found.name, dict(found.body))
    return found.name


def highest(tx: Tx, who: Author, place: registry.Place, text: str) -> registry.Entry | None:
    """A lesson at the highest level that it reached so far."""
    found = None
    for level, name in registry.lookup("lesson", key_of(text), place):
        row = reading.find(tx, who.project, name)
        if row is not None and row["body"] is not None:
            body = canonical.decode(row["body"])
            found = registry.Entry(level, "lesson", name, body, row["confidence"])
    return found


def found(tx: Tx, who: Author, key: str) -> Reply:
    """A lesson by its key or its words, at the nearest level: task, project, agent, global.

    Raises:
        NotFoundError: There is none.
    """
    task_id = rows.latest_of(tx, who.project, who.agent)
    wanted = key if _KEY.fullmatch(key) else key_of(key)
    for level, name in registry.lookup("lesson", wanted, registry.Place(who.agent, task_id)):
        row = reading.find(tx, who.project, name)
        if row is not None and row["body"] is not None:
            return {
                "level": level,
                "name": str(name),
                **canonical.decode(row["body"]),
                "confidence": confidence.to_fraction(row["confidence"]),
            }
    raise NotFoundError(f"no lesson {key}", way_out="osiris_plan lists them.", nearest=[])


def known(tx: Tx, who: Author, task_id: str) -> list[str]:
    """The lessons that hold for a task, of every level, the nearest first."""
    place = registry.Place(who.agent, task_id)
    texts: list[str] = []
    for level in registry.LEVELS:
        scope = registry.scope(level, "lesson", place)
        wanted = search.Filter(who.project, scope, "[]", None, 0, None, tx.now, 2**62)
        for hit in search.listed(tx, wanted, reach="current", limit=_LISTED):
            row = reading.by_seq(tx, hit["seq"])
            if row is not None and row["body"] is not None:
                texts.append(str(canonical.decode(row["body"])["text"]))
    return list(dict.fromkeys(texts))[:_LISTED]


def key_of(text: str) -> str:
    """The key of a lesson: the same words, the same key."""
    folded = " ".join(text.split()).casefold()
    return f"l-{sha256(folded.encode()).hexdigest()[:12]}"


def _write(tx: Tx, who: Author, limits: Limits, name: Name, body: dict[str, object]) -> None:
    from handoff_memory.services import memory  # noqa: PLC0415 - a session's start writes none

    draft = memory.draft_record(
        limits, scope=name.scope, key=name.key, value=body, source="osiris_plan", reserved=True
    )
    memory.write(tx, who, draft)
