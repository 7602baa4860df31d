"""Rows of tasks and their events, and the cache of states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from handoff_memory.store.engine import Row, Tx

_TASK: Final = "SELECT * FROM tasks WHERE task = :task"
_RECENT: Final = """
    SELECT t.*, COALESCE(e.seq, t.seq) AS last_seq, COALESCE(e.at, t.at) AS last_at,
        COALESCE(e.agent, t.agent) AS last_agent
    FROM tasks t LEFT JOIN events e
        ON e.seq = (SELECT max(l.seq) FROM events l WHERE l.task = t.task)
    WHERE t.project = :project ORDER BY last_seq DESC LIMIT :limit"""
_COUNT: Final = "SELECT count(*) AS tasks FROM tasks WHERE project = :project"
_LATEST_OF: Final = """
    SELECT e.task FROM events e JOIN tasks t ON t.task = e.task
    WHERE t.project = :project AND e.agent = :agent ORDER BY e.seq DESC LIMIT 1"""
_LATEST_AT_WORK: Final = """
    SELECT e.task FROM events e JOIN tasks t ON t.task = e.task
    WHERE t.project = :project AND e.agent = :agent
        AND (substr(e.task, 1, length(:apart)) <> :apart OR e.task = :own)
    ORDER BY e.seq DESC LIMIT 1"""
_LAST_EVENT: Final = "SELECT event FROM events WHERE task = :task ORDER BY seq DESC LIMIT 1"
_EVENTS: Final = """
    SELECT seq, at, agent, event, body FROM events WHERE task = :task AND seq > :after
    ORDER BY seq"""
_STATE: Final = "SELECT seq, state FROM task_states WHERE task = :task"
_STATES: Final = "SELECT task, seq, state FROM task_states ORDER BY task"
_UNKEPT: Final = """
    SELECT count(*) AS events FROM events WHERE task = :task
        AND seq > COALESCE((SELECT s.seq FROM task_states s WHERE s.task = :task), 0)"""
_SAVE: Final = """
    INSERT INTO task_states (task, seq, state) VALUES (:task, :seq, :state)
    ON CONFLICT (task) DO UPDATE SET seq = excluded.seq, state = excluded.state"""


def find(tx: Tx, task: str) -> Row | None:
    """The task with that id."""
    return tx.one(_TASK, task=task)


def recent(tx: Tx, project: str, limit: int) -> list[Row]:
    """The tasks of a project, the one where something happened last first; when, and by whom."""
    return tx.all(_RECENT, project=project, limit=limit)


def count(tx: Tx, project: str) -> int:
    """How many tasks a project has."""
    found = tx.one(_COUNT, project=project)
    return int(found["tasks"]) if found else 0


def latest_of(tx: Tx, project: str, agent: str) -> str | None:
    """The task in which an agent did something last."""
    found = tx.one(_LATEST_OF, project=project, agent=agent)
    return str(found["task"]) if found else None


def latest_at_work(tx: Tx, project: str, agent: str, *, apart: str, own: str) -> str | None:
    """The task in which an agent did something last; of those whose id begins `apart`, only own."""
    found = tx.one(_LATEST_AT_WORK, project=project, agent=agent, apart=apart, own=own)
    return str(found["task"]) if found else None


def last_event(tx: Tx, task: str) -> str | None:
    """What happened last in a task."""
    found = tx.one(_LAST_EVENT, task=task)
    return str(found["event"]) if found else None


def events(tx: Tx, task: str, after: int = 0) -> Iterator[Row]:
    """What happened in a task after a seq."""
    return tx.each(_EVENTS, task=task, after=after)


def state(tx: Tx, task: str) -> Row | None:
    """The kept state of a task, and the seq that it is of."""
    return tx.one(_STATE, task=task)


def states(tx: Tx) -> Iterator[Row]:
    """Every kept state."""
    return tx.each(_STATES)


def unkept(tx: Tx, task: str) -> int:
    """How many events of a task its kept state does not know yet."""
    found = tx.one(_UNKEPT, task=task)
    return int(found["events"]) if found else 0


def save_state(tx: Tx, task: str, seq: int, data: bytes) -> None:
    """Keep the state of a task."""
    tx.run(_SAVE, task=task, seq=seq, state=data)
