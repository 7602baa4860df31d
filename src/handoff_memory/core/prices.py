"""What tokens cost: list prices by model, with the day on which they were read.

A table goes out of date; whoever shows a sum shows `AS_OF` with it. Long-prompt and batch tariffs
are left out: the figures are those of an ordinary request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

AS_OF: Final = "2026-10-24"
PER_TOKENS: Final = 1_000_000

_SUFFIX: Final = re.compile(r"(?:\[1m\]|-latest|[-@]\d{8}|-\d{4}-\d\d-\d\d)\Z")


@dataclass(frozen=True, slots=True)
class Price:
    """USD for a million tokens of one model; the cache write is the five-minute one."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal


def _price(input_: str, output: str, cache_read: str, cache_write: str) -> Price:
    return Price(Decimal(input_), Decimal(output), Decimal(cache_read), Decimal(cache_write))


TABLE: Final[Mapping[str, Price]] = {
    "claude-fable-5-1": _price("10", "50", "0.25", "12.50"),
    "claude-opus-5-5": _price("4", "20", "0.20", "5"),
    "claude-opus-5": _price("5", "25", "0.50", "6.25"),
    "claude-sonnet-5-5": _price("2", "10", "0.10", "2.50"),
    "claude-sonnet-5": _price("2", "10", "0.20", "2.50"),
    "claude-haiku-5-5": _price("0.10", "0.50", "0.01", "0.125"),
    "gpt-6.1-sol": _price("2", "10", "0.10", "2.50"),
    "gpt-6-sol": _price("2", "10", "0.20", "2.50"),
    "gpt-6-luna": _price("0.10", "0.50", "0.01", "0.125"),
}


def find(model: str | None, table: Mapping[str, Price] = TABLE) -> Price | None:
    """The price of a model, a dated or long-context name included; None where it is not listed."""
    if model is None:
        return None
    return table.get(model) or table.get(_SUFFIX.sub("", model))


def usd(tokens: int, per_million: Decimal) -> Decimal:
    """The price of that many tokens."""
    return tokens * per_million / PER_TOKENS
