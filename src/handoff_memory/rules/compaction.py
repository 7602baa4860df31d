"""Three ways to make a session small without losing a byte: trim, compact, clear.

Each gives the text that stays in the prompt and the undo: a gap for everything that left, with its
place and its ref. A gap without a ref cannot be made, so `restore` brings back exactly what was
given. What would have to leave and has no ref yet is named, for the caller to externalise first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

Mode = Literal["trim", "compact", "clear"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
Kind = Literal[
    "objective",
    "constraint",
    "decision",
    "step",
    "ref",
    "file",
    "failure",
    "lesson",
    "payload",
    "message",
]
Count = Callable[[str], int]

# Headings of the skeleton, in its order.
_HEADINGS: Final[dict[Kind, str]] = {
    "objective": "objective",
    "constraint": "constraints",
    "decision": "decisions",
    "step": "plan",
    "ref": "open refs",
    "file": "files read",
    "failure": "failures",
    "lesson": "lessons",
}
_PINNED: Final[frozenset[Kind]] = frozenset({"objective", "constraint", "decision", "step"})
# What is worth most where not everything fits.
_WORTH: Final[tuple[Kind, ...]] = ("lesson", "failure", "ref", "file")


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of the session, in order.

    Attributes:
        id: Its name in the session.
        kind: What it is; payloads and messages never enter a skeleton.
        text: In full. A step's text says its status, a file's its hash.
        turn: When it entered.
        ref: Where its bytes are kept; None where it exists in the prompt only.
    """

    id: str
    kind: Kind
    text: str
    turn: int
    ref: str | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """An item that left: everything but its text, which the ref holds."""

    position: int
    id: str
    kind: Kind
    turn: int
    ref: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """A session made small.

    Attributes:
        mode: How.
        text: What stands in the prompt instead; within the budget.
        tokens: Of the text.
        kept: Items that stay, with their positions.
        undo: A gap for each item that left.
    """

    mode: Mode
    text: str
    tokens: int
    kept: tuple[tuple[int, Item], ...]
    undo: tuple[Gap, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """No compaction was made.

    Attributes:
        why: One sentence.
        without_ref: Items that would leave and must be externalised first.
    """

    why: str
    without_ref: tuple[str, ...] = ()


def trim(items: Sequence[Item], keep_turns: int, budget: int, count: Count) -> Compacted | Refused:
    """Leave out what can be read again, but for the newest turns and the pinned kinds.

    The text lists what left, as much of it as the budget holds. What has no ref simply stays.
    """
    newest = max((item.turn for item in items), default=0)
    leaving = {
        at
        for at, item in enumerate(items)
        if item.ref and item.kind not in _PINNED and item.turn <= newest - keep_turns
    }
    gaps = _gaps(items, leaving, [count(item.text) for item in items])
    lines = [f"{gap.ref} {gap.kind}, turn {gap.turn}, {gap.tokens} tokens" for gap in gaps]

    def text(shown: int) -> str:
        more = [f"and {len(lines) - shown} more in the undo"] if shown < len(lines) else []
        return "\n".join([_summary("trimmed", gaps), *lines[:shown], *more])

    fitting = _most(len(lines), text, budget, count)
    if fitting is None:
        return Refused(f"the budget of {budget} tokens does not hold one line")
    return _made("trim", items, gaps, text(fitting), count)


def compact(items: Sequence[Item], budget: int, count: Count) -> Compacted | Refused:
    """A skeleton: objective, constraints, decisions and plan verbatim, then what else fits."""
    return _skeleton("compact", items, budget, count)


def clear(items: Sequence[Item], manifest: str, budget: int, count: Count) -> Compacted | Refused:
    """The manifest and the skeleton, to start anew from."""
    return _skeleton("clear", items, budget, count, manifest)


def restore(made: Compacted, fetch: Callable[[str], str]) -> tuple[Item, ...]:
    """The items as they were given; `fetch` is the text of a ref, verified by who keeps it."""
    returned = [
        (gap.position, Item(gap.id, gap.kind, fetch(gap.ref), gap.turn, gap.ref))
        for gap in made.undo
    ]
    whole = sorted([*made.kept, *returned], key=lambda placed: placed[0])
    return tuple(item for _, item in whole)


def _skeleton(
    mode: Mode, items: Sequence[Item], budget: int, count: Count, manifest: str | None = None
) -> Compacted | Refused:
    pinned = {at for at, item in enumerate(items) if item.kind in _PINNED}
    ranked = _ranked(items)
    sizes = [count(item.text) for item in items]

    def gaps(shown: int) -> tuple[Gap, ...]:
        return _gaps(items, set(range(len(items))) - pinned - set(ranked[:shown]), sizes)

    def text(shown: int) -> str:
        sections = _sections([items[at] for at in sorted(pinned.union(ranked[:shown]))])
        last = _summary("left out", gaps(shown))
        return "\n".join([*([] if manifest is None else [manifest]), *sections, last])

    fitting = _most(len(ranked), text, budget, count)
    if fitting is None:
        need = count(text(0))
        return Refused(f"the pinned parts alone need {need} tokens, the budget is {budget}")
    left = set(range(len(items))) - pinned - set(ranked[:fitting])
    bare = tuple(items[at].id for at in sorted(left) if not items[at].ref)
    if bare:
        return Refused(f"{len(bare)} items would leave and have no ref yet", bare)
    return _made(mode, items, gaps(fitting), text(fitting), count)


def _ranked(items: Sequence[Item]) -> list[int]:
    """Positions of what may stand in a skeleton beside the pinned, the most worth first."""
    worthy = [at for at, item in enumerate(items) if item.kind in _WORTH]
    return sorted(worthy, key=lambda at: (_WORTH.index(items[at].kind), -items[at].turn, at))


def _sections(items: Sequence[Item]) -> list[str]:
    return [
        "\n".join([f"{heading}:", *(f"- {item.text}" for item in items if item.kind == kind)])
        for kind, heading in _HEADINGS.items()
        if any(item.kind == kind for item in items)
    ]


def _most(lines: int, text: Callable[[int], str], budget: int, count: Count) -> int | None:
    """The largest number of lines whose text keeps the budget; None where none at all does."""
    least, most = 0, lines
    while least < most:
        middle = (least + most + 1) // 2
        fits = count(text(middle)) <= budget
        least, most = (middle, most) if fits else (least, middle - 1)
    # What is returned was counted, so a counter that does not grow with every line does no harm.
    return least if count(text(least)) <= budget else None


def _summary(what: str, gaps: Sequence[Gap]) -> str:
    tokens = sum(gap.tokens for gap in gaps)
    return f"{what}: {len(gaps)} items, {tokens} tokens, each kept under its ref"


def _gaps(items: Sequence[Item], leaving: Collection[int], sizes: Sequence[int]) -> tuple[Gap, ...]:
    return tuple(
        Gap(at, item.id, item.kind, item.turn, item.ref, sizes[at])
        for at, item in enumerate(items)
        if at in leaving and item.ref
    )


def _made(
    mode: Mode, items: Sequence[Item], gaps: tuple[Gap, ...], text: str, count: Count
) -> Compacted:
    gone = {gap.position for gap in gaps}
    kept = tuple((at, item) for at, item in enumerate(items) if at not in gone)
    return Compacted(mode, text, count(text), kept, gaps)
