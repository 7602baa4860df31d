"""Where every token went: double entry, by cause, with savings proven apart from claimed.

Two accounts stand against each other: `raw`, what would have entered the context without the
governor, and `entered`, what did. Whatever was avoided lowers the one against the other, whatever
the governor wrote raises it; so the parts equal the whole, or the ledger refuses to be drawn up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, get_args

from handoff_memory.core import prices

Overhead = Literal[
    "schema", "manifest", "arguments", "echoed", "replies", "stubs", "recalls", "hook_text"
]
Cause = Literal[Overhead, "payload_in", "payload_avoided"]
OVERHEADS: Final[tuple[Overhead, ...]] = get_args(Overhead)
CAUSES: Final[tuple[Cause, ...]] = (*OVERHEADS, "payload_in", "payload_avoided")
# What the model writes itself: the arguments of a call, and a payload that it repeats in them.
_WRITTEN: Final[frozenset[Cause]] = frozenset({"arguments", "echoed"})


class ImbalanceError(ValueError):
    """The parts do not equal the whole; a ledger that does not balance is not shown."""


@dataclass(frozen=True, slots=True)
class Booking:
    """Tokens with one cause.

    Attributes:
        cause: Why they entered, or that they did not (`payload_avoided`).
        tokens: At least 0.
        counter: What counted them, such as `o200k_base` or `estimate`.
        exact: Whether that counter is exact for the model.
        model: Which model read or wrote them, where known.
        ref: Of an avoided payload: what a drop receipt must name.
        proven: Of an avoided payload: it was seen never to enter (a hook or the gateway).
    """

    cause: Cause
    tokens: int
    counter: str
    exact: bool
    model: str | None = None
    ref: str | None = None
    proven: bool = False


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens of one cause, exact and estimated ones apart."""

    cause: Cause
    exact: int
    estimated: int

    @property
    def tokens(self) -> int:
        """Both together; `estimated` says whether the sum is exact."""
        return self.exact + self.estimated


@dataclass(frozen=True, slots=True)
class Statement:
    """The drawn-up ledger, in tokens.

    Attributes:
        amounts: One for each cause, in the order of `CAUSES`.
        raw: Would have entered without the governor.
        entered: Did enter.
        overhead: Of it, written by the governor or because of it.
        proven: Avoided, and seen or confirmed to be out of the prompt.
        claimed: Avoided by the governor's own account only.
        counters: What counted, in alphabetical order.
    """

    amounts: tuple[Amount, ...]
    raw: int
    entered: int
    overhead: int
    proven: int
    claimed: int
    counters: tuple[str, ...]

    @property
    def net(self) -> int:
        """Proven savings less overhead; negative where the governor cost more than it saved."""
        return self.proven - self.overhead

    @property
    def net_claimed(self) -> int:
        """The same with claimed savings, as an upper bound."""
        return self.net + self.claimed


@dataclass(frozen=True, slots=True)
class Cost:
    """What the tokens that entered cost once, at list prices.

    Attributes:
        usd: Of the priced ones.
        unpriced_tokens: Of models without a price; never guessed.
        as_of: The day of the price table.
    """

    usd: Decimal
    unpriced_tokens: int
    as_of: str = prices.AS_OF


def avoided(raw: int, entered: int, ceiling: int | None = None) -> int:
    """The tokens a replaced payload avoided, at least 0.

    A payload that the client would itself have cut at `ceiling` saves no more than that.
    """
    would = raw if ceiling is None else min(raw, ceiling)
    return max(0, would - entered)


def balance(
    bookings: Sequence[Booking],
    receipts: Collection[str] = (),
    *,
    transcript_tokens: int | None = None,
) -> Statement:
    """The ledger of those bookings.

    Args:
        bookings: All of a task or session.
        receipts: Refs that the agent confirmed to have dropped; each proves what was booked for
            it, and a receipt for anything else credits nothing.
        transcript_tokens: What the tokenised transcript counts, where it was counted.

    Raises:
        ImbalanceError: A booking is negative, or the parts do not equal the whole.
    """
    amounts = tuple(_amount(cause, bookings) for cause in CAUSES)
    by_cause = {amount.cause: amount.tokens for amount in amounts}
    overhead = sum(by_cause[cause] for cause in OVERHEADS)
    raw = by_cause["payload_in"] + by_cause["payload_avoided"]
    proven = sum(b.tokens for b in bookings if _is_proven(b, receipts))
    statement = Statement(
        amounts=amounts,
        raw=raw,
        entered=sum(b.tokens for b in bookings if b.cause != "payload_avoided"),
        overhead=overhead,
        proven=proven,
        claimed=by_cause["payload_avoided"] - proven,
        counters=tuple(sorted({booking.counter for booking in bookings})),
    )
    _check(statement, bookings, transcript_tokens)
    return statement


def cost(bookings: Iterable[Booking], table: Mapping[str, prices.Price] = prices.TABLE) -> Cost:
    """The list price of what entered, each token once, written ones at the output price."""
    usd, unpriced = Decimal(0), 0
    for booking in bookings:
        if booking.cause == "payload_avoided":
            continue
        price = prices.find(booking.model, table)
        if price is None:
            unpriced += booking.tokens
        else:
            rate = price.output if booking.cause in _WRITTEN else price.input
            usd += prices.usd(booking.tokens, rate)
    return Cost(usd, unpriced)


def table(statement: Statement) -> tuple[tuple[str, str, str], ...]:
    """Rows (what, tokens, remark) for people; causes without tokens are left out."""
    return tuple(_rows(statement))


def _rows(statement: Statement) -> Iterator[tuple[str, str, str]]:
    for amount in statement.amounts:
        if amount.tokens:
            yield amount.cause, _shown(amount.tokens), _remark(amount)
    yield "raw", _shown(statement.raw), "without the governor"
    yield (
        "entered",
        _shown(statement.entered),
        "counted by " + (", ".join(statement.counters) or "nothing"),
    )
    yield "overhead", _shown(statement.overhead), "the governor's own"
    yield "saved, proven", _shown(statement.proven), "seen or confirmed"
    yield "saved, claimed", _shown(statement.claimed), "not confirmed"
    yield "net", _shown(statement.net), "proven - overhead"


def _remark(amount: Amount) -> str:
    if not amount.estimated:
        return "exact"
    return f"~{amount.estimated:,} of it estimated" if amount.exact else "estimated"


def _shown(tokens: int) -> str:
    return f"{tokens:,}"


def _amount(cause: Cause, bookings: Sequence[Booking]) -> Amount:
    mine = [booking for booking in bookings if booking.cause == cause]
    exact = sum(booking.tokens for booking in mine if booking.exact)
    return Amount(cause, exact, sum(booking.tokens for booking in mine) - exact)


def _is_proven(booking: Booking, receipts: Collection[str]) -> bool:
    return booking.cause == "payload_avoided" and (booking.proven or booking.ref in receipts)


def _check(
    statement: Statement, bookings: Sequence[Booking], transcript_tokens: int | None
) -> None:
    if any(booking.tokens < 0 for booking in bookings):
        raise ImbalanceError("a booking is negative")
    saved = statement.proven + statement.claimed
    parts = statement.raw - saved + statement.overhead
    if parts != statement.entered:
        raise ImbalanceError(f"{parts} tokens by cause, {statement.entered} entered")
    if transcript_tokens not in {None, statement.entered}:
        raise ImbalanceError(
            f"{statement.entered} tokens booked, the transcript has {transcript_tokens}"
        )
