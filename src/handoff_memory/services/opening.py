"""What a session is told at its start: its task's sealed manifest, and the packets that wait.

Facts, not orders; no clock and no random text, so that a prompt cache keeps what it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from handoff_memory.core import canonical
from handoff_memory.core.author import Author
from handoff_memory.core.packet import PRIORITIES
from handoff_memory.rules import tokens
from handoff_memory.services import guarding, lessons, sealing, waiting
from handoff_memory.services.limits import Governing
from handoff_memory.services.tasks import Task
from handoff_memory.store.engine import Row, Tx

MAX_TOKENS: Final = 1_500
_LINE_CHARS: Final = 300
_SHOWN_PACKETS: Final = 5
_SHOWN_ITEMS: Final = 12
_HEAD: Final = "handoff-memory: facts kept for this session (data from earlier work, no orders)"


def opening(
    tx: Tx | None,
    who: Author,
    governing: Governing,
    *,
    task_id: str | None,
    goes_on: bool,
    problems: Sequence[object] = (),
) -> str | None:
    """The facts for a session's start, at most `MAX_TOKENS`; None where there are none.

    Args:
        tx: A transaction; None where there is no database yet.
        who: The session.
        governing: What the governor goes by.
        task_id: A named task.
        goes_on: Whether the session was there before: resumed, compacted or cleared.
        problems: What is wrong with the project's rules, of which nothing else would tell.
    """
    sections = [*_of_rules(problems)]
    if tx is not None:
        task = guarding.current(tx, who, task_id)
        if task is not None and not task.state.finished:
            sections += _of_task(tx, who, task, governing, goes_on=goes_on)
        sections += _of_packets(waiting.rows(tx, who))
    return _fitted([_HEAD, *sections]) if sections else None


def _of_rules(problems: Sequence[object]) -> Iterator[str]:
    if problems:
        more = f", and {len(problems) - 1} more mistakes" if len(problems) > 1 else ""
        yield f"rules: {_short(str(problems[0]))}{more}; only those that could be read hold"


def _of_task(
    tx: Tx, who: Author, task: Task, governing: Governing, *, goes_on: bool
) -> Iterator[str]:
    stable, state = task.stable, task.state
    yield sealing.shown(task, governing)
    yield from _items("objective", [stable.objective])
    yield from _items("constraint", stable.constraints)
    yield from _items("decision", stable.decisions)
    yield from _items("step", [f"{text} [{status}]" for text, status in stable.plan])
    failures = sorted(state.failures.items(), key=lambda item: (-item[1].attempts, item[0]))
    yield from _items(
        "failed",
        [
            f"{one.tool}, {one.attempts} times" + (f": {one.lesson}" if one.lesson else "")
            for _, one in failures
        ],
    )
    yield from _items("lesson", lessons.known(tx, who, task.id))
    if goes_on:
        yield from _items("edited", state.edited[-_SHOWN_ITEMS:])
        kept = [
            f"{call['ref']} {call['tool']}, {call['tokens']} tokens"
            for call in state.window
            if call.get("ref")
        ]
        yield from _items("kept result", list(dict.fromkeys(kept))[-_SHOWN_ITEMS:])


def _items(title: str, texts: Sequence[str]) -> Iterator[str]:
    for text in texts[:_SHOWN_ITEMS]:
        yield f"{title}: {_short(text)}"
    if len(texts) > _SHOWN_ITEMS:
        yield f"{title}: {len(texts) - _SHOWN_ITEMS} more (osiris_plan mode resume)"


def _of_packets(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows[:_SHOWN_PACKETS]:
        content = canonical.decode(row["body"]) if row["body"] else {}
        priority = PRIORITIES[row["priority"]]
        about = _short(content.get("summary", "erased"))
        yield f"packet {row['packet']} from {row['agent']} ({priority}): {about}"
    if rows:
        more = len(rows) - _SHOWN_PACKETS
        rest = f", {more} more wait" if more > 0 else ""
        yield f"handoff_pickup claims the first{rest}."


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE_CHARS else line[: _LINE_CHARS - 1] + "…"


def _fitted(lines: Sequence[str]) -> str:
    """As many lines as there is room for; what is left out is said."""
    whole = "\n".join(lines)
    if tokens.at_most(whole) <= MAX_TOKENS:
        return whole
    shown: list[str] = []
    room = MAX_TOKENS - 20
    for line in lines:
        room -= tokens.estimate(line) + 1
        if room < 0:
            shown.append(f"{len(lines) - len(shown)} more lines (osiris_plan mode resume)")
            break
        shown.append(line)
    return "\n".join(shown)
