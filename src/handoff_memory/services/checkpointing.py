"""`osiris_checkpoint`: snapshots, the completion report, a session made small and whole again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, get_args

from handoff_memory.core import canonical, times
from handoff_memory.core.author import Author
from handoff_memory.core.errors import (
    InvalidArgumentError,
    NoProgressError,
    NotFoundError,
    TooLargeError,
)
from handoff_memory.rules import compaction, ledger, manifest, tokens
from handoff_memory.services import audit, planning, refs, sealing, tasks
from handoff_memory.services.limits import Governing, Limits
from handoff_memory.services.refs import PayloadDraft
from handoff_memory.services.tasks import Task
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Tx

Mode = Literal["trim", "compact", "clear"]

_KEEP_TURNS: Final = 2
_BUDGET_TOKENS: Final = 1500
_MAX_ITEMS: Final = 1000
_SPIRAL: Final = 3
_UNDO_TYPE: Final = "application/json"
_FIELDS: Final = frozenset({"id", "kind", "text", "turn", "ref"})
_KINDS: Final = frozenset(get_args(compaction.Kind))


@dataclass(frozen=True, slots=True)
class Session:
    """The pieces of a session, each with the payload that will hold it."""

    items: tuple[compaction.Item, ...]
    payloads: tuple[PayloadDraft, ...]


def session_of(limits: Limits, given: Sequence[Any]) -> Session:
    """The session that an agent describes; takes time, so it is made before any transaction.

    Raises:
        InvalidArgumentError: An item is not as it should be.
    """
    if not 1 <= len(given) <= _MAX_ITEMS:
        raise InvalidArgumentError(f"items holds 1 to {_MAX_ITEMS} pieces of the session")
    items = [_item(at, one) for at, one in enumerate(given)]
    # By content: a piece that is kept already keeps its ref, whatever ref the agent named.
    drafts = [refs.draft(limits, item.text.encode(), "text/plain") for item in items]
    clean = [
        replace(item, text=refs.joined(kept).decode())
        for item, kept in zip(items, drafts, strict=True)
    ]
    return Session(tuple(clean), tuple(drafts))


def snapshot(tx: Tx, who: Author, governing: Governing, *, task_id: str | None = None) -> Reply:
    """Mark a point to come back to."""
    task = sealing.marked(tx, who, governing, tasks.get(tx, who, task_id))
    return {
        "task": task.id,
        "checkpoint": task.state.checkpoints,
        "seal": manifest.short(sealing.seal(task, governing)),
    }


def shrink(
    tx: Tx,
    who: Author,
    governing: Governing,
    mode: Mode,
    session: Session,
    *,
    task_id: str | None = None,
) -> Reply:
    """A smaller session, and the ref that brings the whole one back.

    Raises:
        TooLargeError: What must stay does not fit the budget.
        NoProgressError: It was shrunk again and again, and nothing was done between.
    """
    task = tasks.get(tx, who, task_id)
    _refuse_a_spiral(task)
    items = [
        replace(item, ref=refs.short(refs.keep(tx, who, payload)))
        for item, payload in zip(session.items, session.payloads, strict=True)
    ]
    made = _made(mode, items, sealing.shown(task, governing))
    if isinstance(made, compaction.Refused):
        raise TooLargeError(made.why, way_out="Shorten the objective, or trim instead.")
    undo = refs.draft(governing.limits, canonical.encode(_plain(made)), _UNDO_TYPE)
    kept = refs.keep(tx, who, undo)
    gone = [{"sha256": refs.find(tx, gap.ref)["ref"]} for gap in made.undo]
    event = {
        "mode": mode,
        "undo": refs.short(kept),
        "gaps": [*gone, {"sha256": kept["ref"]}],
        "calls": task.state.calls,
    }
    task = tasks.happened(tx, who, governing.limits, task, "compacted", event)
    moved = {gap.ref: gap.tokens for gap in made.undo}
    tasks.happened(tx, who, governing.limits, task, "pruned", {"mode": mode, "refs": moved})
    return {
        "text": made.text,
        "tokens": made.tokens,
        "moved": len(made.undo),
        "freed": sum(moved.values()),
        "undo": refs.short(kept),
    }


def undone(tx: Tx, who: Author, governing: Governing, *, task_id: str | None = None) -> Reply:
    """The session as it was before the last compaction, piece by piece.

    Raises:
        NotFoundError: Nothing was compacted.
        CorruptRefError: A payload was altered.
    """
    task = tasks.get(tx, who, task_id)
    if not task.state.undo:
        raise NotFoundError("nothing to undo", way_out="Only trim, compact and clear are undone.")
    made = _unplain(canonical.decode(_bytes(tx, task.state.undo[-1]["undo"])))
    items = compaction.restore(made, lambda ref: _bytes(tx, ref).decode())
    tasks.happened(tx, who, governing.limits, task, "restored", {"mode": made.mode})
    return {"items": [asdict(item) for item in items]}


def report(tx: Tx, who: Author, governing: Governing, *, task_id: str | None = None) -> Reply:
    """The completion report: what was to be done, what was done, what it cost, what is proven."""
    task = tasks.get(tx, who, task_id)
    checked = audit.audit(tx, who, task.id)
    return {
        **planning.whole(tx, who, task, governing),
        "at": times.iso(tx.now),
        "calls": task.state.calls,
        "edits": task.state.edits,
        "ledger": ledger_rows(task),
        "audit": checked,
    }


def ledger_rows(task: Task) -> list[list[str]]:
    """The ledger of a task as rows of a table."""
    return [list(row) for row in ledger.table(planning.statement(task))]


def finish(tx: Tx, who: Author, governing: Governing, *, task_id: str | None = None) -> Task:
    """The task, marked as finished."""
    task = tasks.get(tx, who, task_id)
    return tasks.happened(tx, who, governing.limits, task, "finished", {})


def as_markdown(found: Mapping[str, Any]) -> str:
    """The report for people."""
    lines = [f"# Task {found['task']}", "", str(found["objective"]), "", "## Plan", ""]
    lines += [f"- {step}" for step in found["plan"]] or ["- none"]
    for title, name in (
        ("Decisions", "decisions"),
        ("Constraints", "constraints"),
        ("Lessons", "lessons"),
    ):
        lines += ["", f"## {title}", "", *([f"- {text}" for text in found[name]] or ["- none"])]
    lines += ["", "## Ledger", "", "| cause | tokens | remark |", "|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in found["ledger"]]
    lines += ["", "## Audit", "", "```json", canonical.encode(found["audit"]).decode(), "```", ""]
    return "\n".join(lines)


def _refuse_a_spiral(task: Task) -> None:
    """Refuse to shrink once more what was shrunk for nothing: the context fills from elsewhere."""
    last = task.state.undo[-_SPIRAL:]
    if len(last) == _SPIRAL and all(one["calls"] == task.state.calls for one in last):
        raise NoProgressError(f"shrunk {_SPIRAL} times, and no action was observed between")


def _made(
    mode: Mode, items: Sequence[compaction.Item], block: str
) -> compaction.Compacted | compaction.Refused:
    if mode == "trim":
        return compaction.trim(items, _KEEP_TURNS, _BUDGET_TOKENS, tokens.estimate)
    if mode == "compact":
        return compaction.compact(items, _BUDGET_TOKENS, tokens.estimate)
    return compaction.clear(items, block, _BUDGET_TOKENS, tokens.estimate)


def _item(at: int, given: Any) -> compaction.Item:
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        raise InvalidArgumentError(f"items[{at}] is an object with a text, and id, kind, turn, ref")
    if unknown := sorted(set(given) - _FIELDS):
        raise InvalidArgumentError(f"items[{at}] has no field {unknown[0]!r}")
    kind = given.get("kind", "message")
    if kind not in _KINDS:
        raise InvalidArgumentError(f"items[{at}].kind is one of {', '.join(sorted(_KINDS))}")
    turn = given.get("turn", at)
    if not isinstance(turn, int) or isinstance(turn, bool):
        raise InvalidArgumentError(f"items[{at}].turn is a number")
    return compaction.Item(str(given.get("id", at)), kind, given["text"], turn)


def _plain(made: compaction.Compacted) -> dict[str, Any]:
    return {
        "mode": made.mode,
        "text": made.text,
        "tokens": made.tokens,
        "kept": [[position, asdict(item)] for position, item in made.kept],
        "undo": [asdict(gap) for gap in made.undo],
    }


def _unplain(kept: Mapping[str, Any]) -> compaction.Compacted:
    return compaction.Compacted(
        mode=kept["mode"],
        text=kept["text"],
        tokens=kept["tokens"],
        kept=tuple((position, compaction.Item(**item)) for position, item in kept["kept"]),
        undo=tuple(compaction.Gap(**gap) for gap in kept["undo"]),
    )


def _bytes(tx: Tx, ref: str) -> bytes:
    return refs.read(tx, refs.find(tx, ref))
