"""An answer with its ceiling, and pages of entries that stay below it."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from handoff_memory.core import media

NOTES_BYTES: Final = 400
Unit = Literal["lines", "bytes", "matches", "rows", "entries", "groups"]


class Answer(NamedTuple):
    """What was found, as text.

    Attributes:
        text: The lines, one by one; exact bytes of the payload for line ranges, head and tail.
        unit: What is counted.
        shown: How many of them the text holds, at least in part.
        left: How many more there are from here on.
        next: The position at which the same question goes on; None where nothing is left.
        notes: What a reader has to know: clipped lines, an encoding, rows that could not be read.
        binary: The payload is no text, so only byte ranges make sense.
    """

    text: str
    unit: Unit
    shown: int
    left: int = 0
    next: int | None = None
    notes: tuple[str, ...] = ()
    binary: bool = False

    @property
    def size_bytes(self) -> int:
        """What the ceiling counts: text and notes in UTF-8."""
        return sum(len(part.encode()) for part in (self.text, *self.notes))

    def noting(self, *notes: str) -> "Answer":
        """The same answer with these notes after its own, within what notes may take."""
        kept: list[str] = []
        room = NOTES_BYTES
        for note in (*self.notes, *notes):
            kept.append(clipped(note, room))
            room -= len(kept[-1].encode())
        return self._replace(notes=tuple(note for note in kept if note))


def said_to_be_binary(data: bytes) -> Answer:
    """The answer to any question for text where there is none."""
    kind = media.sniff(data)
    text = (
        f"binary: {kind}, {len(data):,} bytes; "
        'read it with op="range", unit="bytes", form="hex" or "base64"'
    )
    return Answer(text, "bytes", 0, len(data), binary=True)


def page(entries: Sequence[str], position: int, budget: int, unit: Unit) -> Answer:
    """The entries from a position on, one a line, as many as the budget holds; at least one."""
    shown: list[str] = []
    room = budget
    for entry in entries[position:]:
        size = len(entry.encode()) + 1
        if shown and size > room:
            break
        shown.append(clipped(entry, budget))
        room -= size
    end = min(position, len(entries)) + len(shown)
    left = len(entries) - end
    return Answer("\n".join(shown), unit, len(shown), left, end if left else None)


def clipped(text: str, most_bytes: int) -> str:
    """The text, or as much of its start as fits with an ellipsis; empty where nothing fits."""
    if len(text) <= most_bytes // 4:
        return text
    raw = text[: most_bytes + 1].encode()
    if len(raw) <= most_bytes:
        return text
    return raw[: most_bytes - 3].decode("utf-8", "ignore") + "…" if most_bytes > 3 else ""
