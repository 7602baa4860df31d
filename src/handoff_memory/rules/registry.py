"""The typed memory registry: the shared memory seen through a task, the nearest level first.

An entry is a record of the shared memory; its scope says level and kind, its key the entry. So it
is hash-chained, searchable and pinnable like any other record, and a project's entries stay in the
project, while an agent's and the global ones are seen from everywhere.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, assert_never, get_args

from handoff_memory.core import names
from handoff_memory.core.errors import InvalidNameError
from handoff_memory.core.names import Name

Kind = Literal["constraint", "decision", "fact", "failure", "file", "lesson", "result"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Level = Literal["task", "project", "agent", "global"]
# Nearest first.
LEVELS: Final[tuple[Level, ...]] = get_args(Level)

# Two successes from the memory's default of 0.7; a single one proves little.
PROVEN_CONFIDENCE: Final = 800_000
# Files and results belong to the work that made them; they are no knowledge to pass on.
_PROMOTABLE: Final[frozenset[Kind]] = frozenset({"decision", "fact", "failure", "lesson"})


class Place(NamedTuple):
    """From where one looks: an agent, at work on a task or on none."""

    agent: str
    task: str | None = None


class Entry(NamedTuple):
    """What stands in the registry at one level; `confidence` in millionths."""

    level: Level
    kind: Kind
    name: Name
    body: Mapping[str, Any]
    confidence: int


class Promotion(NamedTuple):
    """The record to write one level up; its body names the source."""

    level: Level
    name: Name
    body: Mapping[str, Any]


class NotPromoted(NamedTuple):
    """Why an entry stays at its level."""

    why: str


def scope(level: Level, kind: Kind, place: Place) -> str:
    """The scope of a level's entries of a kind.

    Raises:
        InvalidNameError: The place has no task, or its id is not one segment of a scope.
    """
    match level:
        case "task":
            return f"osiris/task/{_segment(place.task)}/{kind}"
        case "project":
            return f"osiris/project/{kind}"
        case "agent":
            return f"agent/{place.agent}/osiris/{kind}"
        case "global":
            return f"global/osiris/{kind}"
        case _:
            assert_never(level)


def lookup(kind: Kind, key: str, place: Place) -> tuple[tuple[Level, Name], ...]:
    """The names under which an entry may stand, nearest first.

    Raises:
        InvalidNameError: The key or an id breaks a naming rule.
    """
    return tuple((level, names.name(scope(level, kind, place), key)) for level in _levels(place))


def nearest(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """For each kind and key the entry of the nearest level, in the order of their names."""
    found: dict[tuple[Kind, str], Entry] = {}
    for entry in sorted(entries, key=lambda entry: LEVELS.index(entry.level)):
        found.setdefault((entry.kind, entry.name.key), entry)
    return tuple(found[place] for place in sorted(found))


def promotion(entry: Entry, place: Place) -> Promotion | NotPromoted:
    """An entry as a new record one level up, where it proved itself.

    Raises:
        InvalidNameError: The agent's id cannot stand in a scope.
    """
    if entry.level == "global":
        return NotPromoted("it is global already")
    if entry.kind not in _PROMOTABLE:
        return NotPromoted(f"a {entry.kind} holds for its own task only")
    if entry.confidence < PROVEN_CONFIDENCE:
        return NotPromoted("it has not proved itself yet: report its successes first")
    level = LEVELS[LEVELS.index(entry.level) + 1]
    target = names.name(scope(level, entry.kind, place), entry.name.key)
    return Promotion(level, target, {**entry.body, "promoted_from": str(entry.name)})


def _levels(place: Place) -> tuple[Level, ...]:
    return LEVELS if place.task is not None else LEVELS[1:]


def _segment(task: str | None) -> str:
    if not task or "/" in task:
        raise InvalidNameError(f"task id {task!r} is no single segment of a scope")
    return task
