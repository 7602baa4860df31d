"""A transcript whose every token has one cause, and what it costs to send it turn by turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, get_args

from context.counting import TOKENIZER, count_joined, counts

Cause = Literal[
    "constant",
    "payload",
    "schema",
    "manifest",
    "arguments",
    "echoed",
    "replies",
    "stubs",
    "recalls",
    "hook_text",
]
CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)
# Of the price of an input token: read from the cache, written to it, put out.
# Source: notes/context.md §1.5, list prices of November 2026.
CACHED, NEW, WRITTEN = 0.1, 1.25, 5.0


class Entry(NamedTuple):
    """One message, or one part of it that stands for itself.

    Attributes:
        cause: Why it stands there.
        text: What the model reads or writes.
        written: The model writes it.
        access: In which access to a payload, 0 before the first.
    """

    cause: Cause
    text: str
    written: bool
    access: int


class Count(NamedTuple):
    """A transcript's tokens.

    Attributes:
        total: All of them.
        causes: By cause; their sum is the total.
        first: Of them, those that are there once the first need is met.
    """

    total: int
    causes: dict[str, int]
    first: int


@dataclass
class Transcript:
    """What a model read and wrote, in order."""

    entries: list[Entry] = field(default_factory=list)
    access: int = 0

    def read(self, cause: Cause, text: str) -> None:
        """Something enters that the model did not write."""
        self._add(cause, text, written=False)

    def write(self, cause: Cause, text: str) -> None:
        """The model writes something."""
        self._add(cause, text, written=True)

    def visible(self) -> Iterator[Entry]:
        """What a model can look back on, the latest first."""
        return reversed(self.entries)

    def count(self, tokenizer: str = TOKENIZER) -> Count:
        """The tokens by cause.

        Raises:
            ValueError: The causes do not add up to the transcript, tokenised as a whole.
        """
        texts = [entry.text for entry in self.entries]
        tokens = counts(texts, tokenizer)
        whole = count_joined(texts, tokenizer)
        causes = dict.fromkeys(CAUSES, 0)
        first = 0
        for entry, number in zip(self.entries, tokens, strict=True):
            causes[entry.cause] += number
            first += number if entry.access <= 1 else 0
        if sum(causes.values()) != whole:
            raise ValueError(f"{sum(causes.values())} tokens booked, the transcript has {whole}")
        return Count(whole, {k: v for k, v in causes.items() if v}, first)

    def cost(self, turns_after: int = 0) -> float:
        """What it costs to send, in input tokens at list price.

        Each time the model writes is a request: what an earlier one sent comes from the cache.

        Args:
            turns_after: How many more turns of other work follow, 40 tokens in and 40 out.
        """
        numbers = counts(entry.text for entry in self.entries)
        turns = [*zip(numbers, (entry.written for entry in self.entries), strict=True)]
        return _cost([*turns, *[(40, False), (40, True)] * turns_after])

    def _add(self, cause: Cause, text: str, *, written: bool) -> None:
        if text:
            self.entries.append(Entry(cause, text, written, self.access))


def _cost(turns: Sequence[tuple[int, bool]]) -> float:
    cost, cached, new, out = 0.0, 0, 0, 0
    for tokens, written in turns:
        if not written and out:  # the turn is over: what was put out is read from now on
            cost += CACHED * cached + NEW * new + WRITTEN * out
            cached, new, out = cached + new, out, 0
        if written:
            out += tokens
        else:
            new += tokens
    return cost + (CACHED * cached + NEW * new + WRITTEN * out if out else 0.0)
