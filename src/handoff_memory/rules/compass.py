"""Tool Compass: which of the declared tools are worth having for the active step, and why.

Words of the step are weighed against each tool's name and description (BM25), then by how the tool
fared. Advice only, and the tokens that the listing costs are counted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_K1: Final = 1.2
_B: Final = 0.75
_NAME_WEIGHT: Final = 3
# A tool is worth its place only where it is not far behind the best.
_WORTH_SHARE: Final = 0.25
_DIGITS: Final = 3

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_STOP: Final = frozenset(
    (  # noqa: SIM905 - a sentence a person can read
        "a an and are as at be by for from in into is it its of on or that the then this to was "
        "when which with you your use used using tool"
    ).split()
)
_ENDINGS: Final = ("ing", "ed", "es", "s")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the client declares it; `tokens` is what its listing costs."""

    name: str
    description: str
    server: str = ""
    tokens: int = 0

    @property
    def key(self) -> str:
        """Its name among all servers' tools."""
        return f"{self.server}/{self.name}" if self.server else self.name


@dataclass(frozen=True, slots=True)
class Fared:
    """How a tool's calls ended so far."""

    successes: int = 0
    failures: int = 0


UNTRIED: Final = Fared()


@dataclass(frozen=True, slots=True)
class Scored:
    """A tool's score and how it comes about."""

    tool: Tool
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Bearing:
    """The advice.

    Attributes:
        recommended: The few worth having, best first.
        scored: All, best first.
        never_used: Keys of tools without a call.
        listing_tokens: What listing all of them costs.
        recommended_tokens: What listing the recommended ones would cost.
    """

    recommended: tuple[Scored, ...]
    scored: tuple[Scored, ...]
    never_used: tuple[str, ...]
    listing_tokens: int
    recommended_tokens: int


def survey(tools: Sequence[Tool], step: str, fared: Mapping[str, Fared], few: int = 5) -> Bearing:
    """The tools by their worth for a step.

    Args:
        tools: As declared, of any server.
        step: Text of the active step.
        fared: By `Tool.key`.
        few: How many to recommend at most.
    """
    scored = sorted(
        _scored(tools, step, fared), key=lambda one: (-one.score, one.tool.tokens, one.tool.key)
    )
    best = scored[0].score if scored else 0.0
    worthy = [one for one in scored if 0 < one.score >= best * _WORTH_SHARE][:few]
    return Bearing(
        recommended=tuple(worthy),
        scored=tuple(scored),
        never_used=tuple(
            sorted(tool.key for tool in tools if fared.get(tool.key, UNTRIED) == UNTRIED)
        ),
        listing_tokens=sum(tool.tokens for tool in tools),
        recommended_tokens=sum(one.tool.tokens for one in worthy),
    )


def _scored(tools: Sequence[Tool], step: str, fared: Mapping[str, Fared]) -> Iterator[Scored]:
    bags = [_bag(tool) for tool in tools]
    mean = sum(bag.total() for bag in bags) / max(1, len(bags))
    wanted = list(dict.fromkeys(_words(step)))
    rarity = {word: _rarity(sum(word in bag for bag in bags), len(bags)) for word in wanted}
    for tool, bag in zip(tools, bags, strict=True):
        hits = [word for word in wanted if word in bag]
        length = _K1 * (1 - _B + _B * bag.total() / (mean or 1))
        relevance = sum(rarity[w] * bag[w] * (_K1 + 1) / (bag[w] + length) for w in hits)
        record = fared.get(tool.key, UNTRIED)
        weight = _weight(record)
        yield Scored(tool, round(relevance * weight, _DIGITS), _why(hits, relevance, record))


def _rarity(holders: int, tools: int) -> float:
    return math.log(1 + (tools - holders + 0.5) / (holders + 0.5))


def _weight(record: Fared) -> float:
    """Between 0 and 2; 1 for a tool without a record."""
    return 2 * (record.successes + 1) / (record.successes + record.failures + 2)


def _why(hits: Sequence[str], relevance: float, record: Fared) -> str:
    words = "matches " + ", ".join(hits) if hits else "matches no word of the step"
    if record == UNTRIED:
        return f"{words} ({relevance:.2f}); never used"
    return (
        f"{words} ({relevance:.2f}); {record.successes} succeeded, {record.failures} failed"
        f" (x{_weight(record):.2f})"
    )


def _bag(tool: Tool) -> Counter[str]:
    names = list(_words(f"{tool.server} {tool.name}")) * _NAME_WEIGHT
    return Counter([*names, *_words(tool.description)])


def _words(text: str) -> Iterator[str]:
    for found in _WORD.findall(text):
        word = found.casefold()
        if word not in _STOP:
            yield _stem(word)


def _stem(word: str) -> str:
    """Without its ending, so that "tests", "tested" and "testing" meet; rough, but for both."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
