"""Which payloads leave the context for a ref: four modes, the formula, and the priced truth.

A plan only; nothing is ever deleted. What has no ref stays, and a prune that gains nothing is not
made. Beside the formula of the specification stands what the same prune gains at cache prices.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final, Literal, NamedTuple, get_args

Mode = Literal["cache_ttl", "conservative", "balanced", "aggressive"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
Zone = Literal["A", "B", "C", "D"]
Kind = Literal["payload", "turn"]

# Per cent of OSIRIS_PRUNE_THRESHOLD_TOKENS; `cache_ttl` looks at the clock instead.
_THRESHOLDS: Final[dict[Mode, int]] = {"conservative": 200, "balanced": 100, "aggressive": 25}
# Once begun, a prune goes on to this share of the threshold, so that the next turn does not begin
# another; one that would free less than the least share waits.
_LOW_WATER_PERCENT: Final = 50
_LEAST_PERCENT: Final = 10
# A turn is cold when this many turns came after it.
COLD_TURNS: Final = 8
_LEAVES_FIRST: Final = "DCBA"
_PREFIX: Final = frozenset("AB")


class CachePrices(NamedTuple):
    """Cache prices as multiples of the input price. Source: context.md §1.5."""

    read: Decimal = Decimal("0.1")
    write: Decimal = Decimal("1.25")
    as_of: str = "2026-10-24"


CACHE_PRICES: Final = CachePrices()


class Item(NamedTuple):
    """A piece of the context, in prompt order.

    Attributes:
        id: Its name in the session.
        zone: A pinned, B objective and plan, C recent turns, D cold history and payloads.
        tokens: Its size.
        ref: Where its bytes are kept; None where it exists in the prompt only.
        turn: When it entered.
        kind: A tool's payload, or what was said.
    """

    id: str
    zone: Zone
    tokens: int
    ref: str | None
    turn: int
    kind: Kind = "payload"


class Situation(NamedTuple):
    """What a plan is made for.

    Attributes:
        idle_s: Seconds since the prompt cache was last used.
        ttl_s: Its lifetime (`OSIRIS_CACHE_TTL_S`).
        threshold_tokens: `OSIRIS_PRUNE_THRESHOLD_TOKENS`.
        prefix_tokens: The cached prefix: head and zone B.
        turn: The current turn.
        turns_left: Expected further turns, for the priced truth.
    """

    idle_s: int
    ttl_s: int
    threshold_tokens: int
    prefix_tokens: int
    turn: int
    turns_left: int = 0


class Move(NamedTuple):
    """An item that leaves for its ref; `cost` is the zone's pruning cost in tokens."""

    id: str
    ref: str
    tokens: int
    cost: int


class Kept(NamedTuple):
    """An item that stays, and why."""

    id: str
    why: str


class PrunePlan(NamedTuple):
    """What leaves and what stays; together they are all items.

    Attributes:
        moves: In prompt order.
        kept: In prompt order.
        net: Net savings by the formula, tokens; 0 where nothing moves.
        priced: The same in input-token equivalents at cache prices; may be negative.
        why: One sentence.
    """

    moves: tuple[Move, ...]
    kept: tuple[Kept, ...]
    net: int
    priced: Decimal
    why: str


def p_cache_dead(idle_s: int, ttl_s: int) -> int:
    """The probability that this prune kills a live cache: 1 while it lives, 0 once expired."""
    return 1 if idle_s < ttl_s else 0


def net_savings(pruned_tokens: int, prefix_tokens: int, p_dead: int, *, prefix_pruned: bool) -> int:
    """Net savings in tokens. Source: governor.md §5, as written there."""
    return pruned_tokens - prefix_tokens * p_dead * int(prefix_pruned)


def zone_cost(zone: Zone, tokens: int) -> int:
    """The pruning cost of a zone: its tokens in the cached prefix, 0 in C and D."""
    return tokens if zone in _PREFIX else 0


def priced(
    removed: int, suffix: int, turns: int, prices: CachePrices = CACHE_PRICES, *, alive: bool = True
) -> Decimal:
    """What a prune gains, in input-token equivalents: 0.1·d·n - 1.15·s at today's prices.

    Args:
        removed: d, the tokens that leave.
        suffix: s, the tokens behind them that must be written to the cache anew.
        turns: n, the turns still to come.
        prices: What a cache read and write cost.
        alive: Whether the cache still lives; an expired one is written anew in any case.

    Source: governor.md §5.
    """
    gain = prices.read * removed * turns
    return gain - (prices.write - prices.read) * suffix if alive else gain


def plan(
    items: Sequence[Item], mode: Mode, now: Situation, prices: CachePrices = CACHE_PRICES
) -> PrunePlan:
    """What should leave now, in this mode."""
    waits = _waits(items, mode, now)
    if waits:
        return _nothing(items, waits)
    reasons = {item.id: why for item in items if (why := _stays(item, mode, now))}
    free = [item for item in items if item.id not in reasons]
    chosen = _enough(free, items, mode, now)
    loss = _prefix_loss(chosen, now)
    if loss is not None:
        chosen = [item for item in chosen if item.zone not in _PREFIX]
        reasons |= {item.id: loss for item in free if item.zone in _PREFIX}
    freed = sum(item.tokens for item in chosen)
    if freed <= 0:
        return _nothing(items, loss or "nothing can leave: no item has a ref and may go", reasons)
    if mode != "cache_ttl" and freed * 100 < _threshold(mode, now) * _LEAST_PERCENT:
        return _nothing(items, f"only {freed} tokens would be freed: not worth a prune yet")
    return _made(items, chosen, reasons, now, prices)


def _waits(items: Sequence[Item], mode: Mode, now: Situation) -> str | None:
    if mode == "cache_ttl":
        if now.idle_s > now.ttl_s:
            return None
        return f"the cache is alive: idle {now.idle_s} s of {now.ttl_s} s"
    total = sum(item.tokens for item in items)
    threshold = _threshold(mode, now)
    return None if total > threshold else f"{total} tokens do not exceed {threshold}"


def _threshold(mode: Mode, now: Situation) -> int:
    return now.threshold_tokens * _THRESHOLDS[mode] // 100


def _stays(item: Item, mode: Mode, now: Situation) -> str | None:
    """Why an item may not leave in this mode."""
    if item.ref is None:
        return "has no ref"
    if item.zone in _PREFIX and mode in {"conservative", "balanced"}:
        return "is in the cached prefix"
    if item.kind == "turn" and mode == "conservative":
        return "is a turn, not a payload"
    if item.kind == "turn" and mode == "balanced" and now.turn - item.turn < COLD_TURNS:
        return "is a recent turn"
    return None


def _enough(free: list[Item], items: Sequence[Item], mode: Mode, now: Situation) -> list[Item]:
    """The items to take, coldest first, until the low water is reached."""
    coldest = sorted(free, key=lambda item: (_LEAVES_FIRST.index(item.zone), item.turn))
    if mode == "cache_ttl":
        return coldest
    surplus = sum(item.tokens for item in items)
    surplus -= _threshold(mode, now) * _LOW_WATER_PERCENT // 100
    taken: list[Item] = []
    for item in coldest:
        if surplus <= 0:
            break
        taken.append(item)
        surplus -= item.tokens
    return taken


def _prefix_loss(chosen: list[Item], now: Situation) -> str | None:
    """Why the chosen items of the prefix had better stay."""
    if not _touches_prefix(chosen):
        return None
    net = _net(chosen, now)
    return None if net > 0 else f"pruning the live prefix would net {net} tokens"


def _net(chosen: list[Item], now: Situation) -> int:
    return net_savings(
        sum(item.tokens for item in chosen),
        now.prefix_tokens,
        p_cache_dead(now.idle_s, now.ttl_s),
        prefix_pruned=_touches_prefix(chosen),
    )


def _touches_prefix(chosen: list[Item]) -> bool:
    return any(item.zone in _PREFIX for item in chosen)


def _made(
    items: Sequence[Item],
    chosen: list[Item],
    reasons: dict[str, str],
    now: Situation,
    prices: CachePrices,
) -> PrunePlan:
    leaving = {item.id for item in chosen}
    moves = tuple(
        Move(item.id, item.ref, item.tokens, zone_cost(item.zone, item.tokens))
        for item in items
        if item.id in leaving and item.ref is not None
    )
    freed = sum(move.tokens for move in moves)
    first = next(at for at, item in enumerate(items) if item.id in leaving)
    suffix = sum(item.tokens for item in items[first:] if item.id not in leaving)
    alive = now.idle_s < now.ttl_s
    net = _net(chosen, now)
    return PrunePlan(
        moves=moves,
        kept=tuple(
            Kept(item.id, reasons.get(item.id, "is not needed to reach the low water"))
            for item in items
            if item.id not in leaving
        ),
        net=net,
        priced=priced(freed, suffix, now.turns_left, prices, alive=alive),
        why=f"{len(moves)} items, {freed} tokens, leave for their refs: net {net}",
    )


def _nothing(items: Sequence[Item], why: str, reasons: dict[str, str] | None = None) -> PrunePlan:
    kept = tuple(Kept(item.id, (reasons or {}).get(item.id, why)) for item in items)
    return PrunePlan((), kept, 0, Decimal(0), why)
