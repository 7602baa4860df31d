"""What of a result enters a context: all of it, or a stub that says what it replaced.

A stub saves nothing if its reader must come back for more than it spared, so a result stays whole
where it is small, a part that was asked for, about to be edited, or asked for again after a stub.
What stood in this context before comes as one line, what changed a little as that change.

Source: governor §13; notes/context.md §1.3 and §4.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final, Literal, NamedTuple

Shown = Literal["whole", "stub"]
Form = Literal["whole", "outline", "unchanged", "changed"]

# Below this even a line in its place saves too little.
REPEAT_FROM_TOKENS: Final = 120
OUTLINE_FROM_TOKENS: Final = 400
# A file that is about to be edited stays whole up to here: an edit needs its exact text.
EDITED_UP_TO_TOKENS: Final = 6_000
_CHANGED_LINES: Final = 60
_CHANGED_SHARE: Final = 2  # a change counts as small up to this part of the whole
_LINE_CHARS: Final = 300
_OUTLINE_SHARE: Final = 8
_TOKEN_BYTES: Final = 3  # about what a token of an outline takes: names, numbers, marks
_OUTLINE_TOKENS: Final = (60, 260)


class Result(NamedTuple):
    """A result that a hook or the gateway holds in its hands.

    Attributes:
        tokens: Of its text, estimated.
        raw: Hash of its bytes.
        is_text: Not so for what is binary.
        is_partial: The call asked for a part of something.
        is_replaceable: The client lets its result be replaced, here.
        is_edited: It is a file that is at work.
        folded: Its signature, which clocks and the like do not change.
        progress: The state of the world in which it was asked for.
    """

    tokens: int
    raw: str
    is_text: bool = True
    is_partial: bool = False
    is_replaceable: bool = True
    is_edited: bool = False
    folded: str = ""
    progress: int = 0


class Earlier(NamedTuple):
    """A result that entered the same context before.

    Attributes:
        ref: Where it is kept.
        raw: Hash of its bytes.
        shown: In which form it entered.
        is_same_call: Tool and arguments are those of the result at hand.
        folded: Its signature, which clocks and the like do not change.
        progress: The state of the world after it.
    """

    ref: str
    raw: str
    shown: Shown
    is_same_call: bool
    folded: str = ""
    progress: int = 0


class Choice(NamedTuple):
    """In which form a result enters, and which earlier one it is like."""

    form: Form
    earlier: Earlier | None = None


class Kept(NamedTuple):
    """What a stub says of the payload that it stands for.

    Attributes:
        ref: Its alias.
        sha256: Of its bytes, hexadecimal.
        tokens: Of its text, estimated.
        lines: How many it has.
        recall: What brings it back: a tool's name or a command.
    """

    ref: str
    sha256: str
    tokens: int
    lines: int
    recall: str = "osiris_recall"


def choose(result: Result, before: Sequence[Earlier], outline_from: int) -> Choice:
    """The form for a result.

    Args:
        result: The result.
        before: What entered this context before, the latest last.
        outline_from: From how many tokens on a first read is shortened.
    """
    if (
        not result.is_replaceable
        or not result.is_text
        or result.is_partial
        or result.tokens < REPEAT_FROM_TOKENS
    ):
        return Choice("whole")
    twin = next((one for one in reversed(before) if one.raw == result.raw), None)
    if twin is not None:
        return Choice("unchanged", twin) if twin.shown == "whole" else Choice("whole")
    if result.is_edited and result.tokens <= EDITED_UP_TO_TOKENS:
        return Choice("whole")
    asked = [one for one in before if one.is_same_call]
    if _is_asked_again(result, asked):
        return Choice("whole")
    if asked:
        return Choice("changed", asked[-1])
    return Choice("outline" if result.tokens >= outline_from else "whole")


def _is_asked_again(result: Result, asked: Sequence[Earlier]) -> bool:
    """Whether the reader was shown stubs for this and still asks, in the same world.

    An output that differs at each call would else never be seen: it has no twin.
    """
    stubs = list(
        takewhile(
            lambda one: one.shown == "stub" and one.progress == result.progress, reversed(asked)
        )
    )
    return len(stubs) > 1 or any(one.folded == result.folded for one in stubs)


def unchanged(kept: Kept) -> str:
    """The line that stands for a result that stands in this context already."""
    return f"[handoff-memory: unchanged since {kept.ref} above; repeat the call to see it]"


def changed(kept: Kept, earlier: str, difference: str) -> str:
    """What stands for a result of which this context holds an earlier state."""
    return (
        f"[handoff-memory: {kept.ref}, its change since {earlier}; repeat the call to see all of "
        f"it]\n{difference}"
    )


def outlined(kept: Kept, outline: Sequence[str]) -> str:
    """What stands for a result that never entered: what it is, what is in it, how to get it."""
    low, high = _OUTLINE_TOKENS
    room = _TOKEN_BYTES * min(high, max(low, kept.tokens // _OUTLINE_SHARE))
    shown: list[str] = []
    for entry in outline:
        line = entry if len(entry) <= _LINE_CHARS else entry[:_LINE_CHARS] + "…"
        room -= len(line.encode()) + 1
        if room < 0:
            break
        shown.append(line)
    left = len(outline) - len(shown)
    more = [f"… {left} more entries: op outline"] if left else []
    head = (
        f"[handoff-memory kept this result outside the context: {_measures(kept)}, sha256 "
        f"{kept.sha256[:12]}. Parts: {_asked_for(kept)}; range, head, tail too. All of it: "
        "repeat the call.]"
    )
    return "\n".join((head, *shown, *more))


def difference(old: str, new: str) -> str | None:
    """The lines that changed between two texts, as one hunk; None where that is no small part.

    Equal lines at both ends are passed over, so the time is linear in the length of the texts.
    """
    before, after = old.splitlines(), new.splitlines()
    shortest = min(len(before), len(after))
    head = next((at for at in range(shortest) if before[at] != after[at]), shortest)
    tail = next(
        (at for at in range(shortest - head) if before[-1 - at] != after[-1 - at]), shortest - head
    )
    gone, new_lines = before[head : len(before) - tail], after[head : len(after) - tail]
    hunk = [
        f"@@ -{_span(head, gone)} +{_span(head, new_lines)} @@",
        *(f"-{line}" for line in gone),
        *(f"+{line}" for line in new_lines),
    ]
    text = "\n".join(hunk)
    is_small = len(hunk) <= _CHANGED_LINES and len(text) * _CHANGED_SHARE <= len(new)
    return text if is_small else None


def _span(head: int, lines: Sequence[str]) -> str:
    """Where a hunk stands, as `diff -u` writes it: the number of lines only where it is not 1."""
    return f"{head + 1}" if len(lines) == 1 else f"{head + 1},{len(lines)}"


def _asked_for(kept: Kept) -> str:
    """How a part is asked for, as the tool takes it or as a command."""
    if " " in kept.recall:
        return f"{kept.recall} {kept.ref} grep --pattern TEXT"
    return f'{kept.recall} {{"ref":"{kept.ref}","op":"grep","args":{{"pattern":"TEXT"}}}}'


def _measures(kept: Kept) -> str:
    return f"{kept.ref}, about {kept.tokens:,} tokens, {kept.lines:,} lines"
