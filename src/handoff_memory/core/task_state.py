"""The state of a task: a fold of its journaled events.

`apply(state, event)` is pure and total, so replaying the journal gives the same state, byte for
byte, in any process. What is stable (objective, constraints, decisions, plan, contract) lives in
records of the memory; here is what happens at every turn.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args

import orjson

EventKind = Literal[
    "sealed",
    "called",
    "lesson",
    "flag",
    "stepped",
    "overridden",
    "dropped",
    "pruned",
    "compacted",
    "restored",
    "head",
    "contract",
    "booked",
    "budget",
    "pressure",
    "checkpointed",
    "delegated",
    "approved",
    "finished",
    "resumed",
    "prompted",
    "gap",
    "emptied",
]
EVENT_KINDS: Final[tuple[EventKind, ...]] = get_args(EventKind)

WINDOW: Final = 64  # calls that the loop guard looks back on
SEALS: Final = 64  # seals that a drift can be told from
KEPT: Final = 256  # files, results and failures that are remembered, the latest
# What an edit makes doubtful until it is observed anew.
CLEARED_BY_EDIT: Final = ("tests_passed",)

CONTEXTS: Final = 16  # contexts of which is known when they were emptied
NAMED: Final = 64  # file names that prompts mentioned, and files that were edited, the latest

_OF_A_CALL: Final = ("tool", "args", "result", "raw", "error", "ref", "tokens")
# Of a call whose result a hook or the gateway handed over: what entered which context.
_OF_A_DELIVERY: Final = ("shown", "context")
V = TypeVar("V")


class Event(NamedTuple):
    """One journaled thing that happened in a task."""

    seq: int
    at: int
    agent: str
    kind: EventKind | str
    data: Mapping[str, Any]


class Failure(NamedTuple):
    """An error that came up, by its signature."""

    tool: str
    args: str
    attempts: int
    lesson: str | None = None


class Flag(NamedTuple):
    """A named fact that invariants require.

    Attributes:
        value: Whether it holds.
        source: `observed` from a run's exit status, `claimed` by an agent.
        at: When it was set, microseconds.
    """

    value: bool
    source: str
    at: int


class TaskState(NamedTuple):
    """What happened in a task so far; every mapping is ordered by what was touched last."""

    calls: int = 0
    refs: int = 0
    progress: int = 0
    edits: int = 0
    last_edit_at: int | None = None
    finished: bool = False
    window: tuple[Mapping[str, Any], ...] = ()
    files: Mapping[str, Mapping[str, Any]] = {}
    results: Mapping[str, Mapping[str, Any]] = {}
    failures: Mapping[str, Failure] = {}
    lessons: tuple[str, ...] = ()
    flags: Mapping[str, Flag] = {}
    dropped: Mapping[str, int] = {}
    moved: Mapping[str, int] = {}
    undo: tuple[Mapping[str, Any], ...] = ()
    handoffs: Mapping[str, str] = {}
    approvals: Mapping[str, int] = {}
    seals: Mapping[str, Mapping[str, Any]] = {}
    head: Mapping[str, Any] | None = None
    contract: Mapping[str, Any] | None = None
    tools: Mapping[str, Mapping[str, int]] = {}
    booked: Mapping[str, int] = {}
    budget: Mapping[str, int] = {}
    pressure: Mapping[str, int] = {}
    checkpoints: int = 0
    edited: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    gaps: int = 0
    emptied: Mapping[str, int] = {}


def apply(state: TaskState, event: Event) -> TaskState:
    """The state after one more event; an erased, altered or newer one changes nothing."""
    try:
        return _applied(state, event)
    except (AttributeError, KeyError, TypeError, ValueError):
        return state  # verification names it, and the task stays readable


def moved_on(state: TaskState, call: Mapping[str, Any], at: int) -> TaskState:
    """The state with what a call changed of the world: files, and the facts that it shows."""
    if call.get("edit"):
        flags = {name: flag for name, flag in state.flags.items() if name not in CLEARED_BY_EDIT}
        state = state._replace(progress=state.progress + 1, flags=flags)
    for name, value in (call.get("flags") or {}).items():
        state = _flagged(state, name, Flag(bool(value), str(call["flag_source"]), at))
    return state


def to_bytes(state: TaskState) -> bytes:
    """The canonical bytes of a state."""
    return orjson.dumps(state._asdict(), default=_members, option=orjson.OPT_SORT_KEYS)


def from_bytes(data: bytes) -> TaskState:
    """The state of canonical bytes.

    Sorting loses the order in which things were touched, so it is kept beside them; see `_kept`.
    """
    found: dict[str, Any] = orjson.loads(data)
    found["failures"] = {key: Failure(**value) for key, value in found["failures"].items()}
    found["flags"] = {key: Flag(**value) for key, value in found["flags"].items()}
    for name in ("window", "lessons", "undo", "edited", "named"):
        found[name] = tuple(found.get(name, ()))
    return TaskState(**found)


def _members(value: Failure | Flag) -> dict[str, Any]:
    return value._asdict()


def _applied(state: TaskState, event: Event) -> TaskState:  # noqa: C901, PLR0911, PLR0912 - one case a kind
    data = event.data
    match event.kind:
        case "called":
            return _called(state, event)
        case "sealed":
            return state._replace(seals=_kept(state.seals, data["seal"], dict(data), SEALS))
        case "lesson":
            return _learned(state, data)
        case "flag":
            flag = Flag(bool(data["value"]), str(data["source"]), event.at)
            return _flagged(state, data["name"], flag)
        case "stepped":
            return state._replace(progress=state.progress + 1)
        case "overridden":
            return _remembered(state, event, "override")
        case "dropped":
            return state._replace(dropped={**state.dropped, data["ref"]: data["tokens"]})
        case "pruned":
            return state._replace(moved={**state.moved, **data["refs"]})
        case "compacted":
            return state._replace(undo=(*state.undo, dict(data)))
        case "restored":
            return state._replace(undo=state.undo[:-1])
        case "head":
            return state._replace(head=dict(data))
        case "contract":
            return state._replace(contract=dict(data))
        case "booked":
            return state._replace(booked=_summed(state.booked, data["tokens"]))
        case "budget":
            return state._replace(budget=dict(data))
        case "pressure":
            return state._replace(pressure=dict(data))
        case "checkpointed":
            return state._replace(checkpoints=state.checkpoints + 1)
        case "delegated":
            return state._replace(handoffs={**state.handoffs, data["packet"]: data["state"]})
        case "approved":
            return state._replace(approvals={**state.approvals, data["rule"]: data["until"]})
        case "prompted":
            # Who spoke may have changed the world, too: nobody else could tell.
            named = _latest(state.named, data["files"])
            return state._replace(named=named, progress=state.progress + 1)
        case "gap":
            return state._replace(gaps=state.gaps + 1)
        case "emptied":
            return state._replace(emptied=_emptied(state.emptied, data["context"], event.seq))
        case "finished" | "resumed":
            return state._replace(finished=event.kind == "finished")
        case _:  # a kind of a newer program
            return state


def _called(state: TaskState, event: Event) -> TaskState:
    data = event.data
    is_edit = bool(data.get("edit"))
    failures, tools = state.failures, state.tools
    if signature := data.get("error"):
        known = failures.get(signature)
        attempts = known.attempts + 1 if known else 1
        lesson = known.lesson if known else None
        failure = Failure(data["tool"], data["args"], attempts, lesson)
        failures = _limited(failures, signature, failure)
    fared = tools.get(data["tool"], {"calls": 0, "failures": 0})
    fared = {"calls": fared["calls"] + 1, "failures": fared["failures"] + bool(signature)}
    after = moved_on(state, data, event.at)
    remembered = _remembered(after, event, "edit" if is_edit else "call")
    files = state.files
    if file := data.get("file"):
        files = _kept(files, file["path"], {**file, "ref": data.get("ref"), "seen_at": event.at})
    results = state.results
    if data.get("ref") and not signature:
        key = f"{data['tool']} {data['args']}"
        fact = {"ref": data["ref"], "size": data.get("size", 0), "tokens": data.get("tokens", 0)}
        results = _kept(results, key, {**fact, "at": event.at, "edits": state.edits})
    moved, dropped = state.moved, state.dropped
    if saved := data.get("saved"):  # it was seen never to enter: saved and proven at once
        moved, dropped = (
            {**known, data["ref"]: known.get(data["ref"], 0) + saved} for known in (moved, dropped)
        )
    return remembered._replace(
        files=files,
        moved=moved,
        dropped=dropped,
        edited=_latest(state.edited, data.get("edited") or ()),
        booked=_summed(state.booked, data.get("cost") or {}),
        calls=state.calls + 1,
        refs=state.refs + bool(data.get("new_ref")),
        edits=state.edits + is_edit,
        last_edit_at=event.at if is_edit else state.last_edit_at,
        failures=failures,
        tools={**tools, data["tool"]: fared},
        results=results,
    )


def _remembered(state: TaskState, event: Event, kind: str) -> TaskState:
    """The state with one more call in the window that the loop guard looks back on."""
    call = {
        **{name: event.data.get(name) for name in _OF_A_CALL},
        **{name: event.data[name] for name in _OF_A_DELIVERY if name in event.data},
        "seq": event.seq,
        "at": event.at,
        "agent": event.agent,
        "progress": state.progress,
        "kind": kind,
    }
    return state._replace(window=(*state.window, call)[-WINDOW:])


def _flagged(state: TaskState, name: str, flag: Flag) -> TaskState:
    known = state.flags.get(name)
    is_change = known is None or known.value != flag.value
    return state._replace(flags={**state.flags, name: flag}, progress=state.progress + is_change)


def _learned(state: TaskState, data: Mapping[str, Any]) -> TaskState:
    lessons = (
        state.lessons if data["text"] in state.lessons else (*state.lessons, data["text"])[-KEPT:]
    )
    failures = state.failures
    known = failures.get(data.get("failure") or "")
    if known:
        failures = {**failures, data["failure"]: known._replace(lesson=data["text"])}
    return state._replace(lessons=lessons, failures=failures)


def _kept(
    facts: Mapping[str, Mapping[str, Any]], key: str, fact: Mapping[str, Any], limit: int = KEPT
) -> dict[str, Mapping[str, Any]]:
    """The facts with one more; beyond the limit the one that was touched first goes."""
    turn = 1 + max((known["turn"] for known in facts.values()), default=0)
    found = {**facts, key: {**fact, "turn": turn}}
    if len(found) > limit:
        del found[min(found, key=lambda name: found[name]["turn"])]
    return found


def _limited(facts: Mapping[str, V], key: str, fact: V) -> dict[str, V]:
    found = {**facts, key: fact}
    if len(found) > KEPT:
        del found[min(name for name in found if name != key)]
    return found


def _emptied(known: Mapping[str, int], context: str, seq: int) -> dict[str, int]:
    """When each context was last emptied by its client; the latest few."""
    latest = sorted({**known, context: seq}.items(), key=lambda pair: pair[1])[-CONTEXTS:]
    return dict(sorted(latest))


def _latest(names: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    """The names with more, each once, in the order of their last mention."""
    fresh = tuple(dict.fromkeys(new))
    return (*(name for name in names if name not in fresh), *fresh)[-NAMED:]


def _summed(booked: Mapping[str, int], causes: Mapping[str, int]) -> dict[str, int]:
    return {
        cause: booked.get(cause, 0) + causes.get(cause, 0) for cause in sorted({*booked, *causes})
    }
