"""The sealed prefix: zones, their hashes, the seal, what drifted and what that costs.

The prompt cache matches prefixes, so the zones are hashed apart: the head never changes, zone B
seldom, the tail only grows. A rewrite of a pinned item leaves the cache intact and the task state
corrupt; it is found by comparing each item's own hash, not only the zone's.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from handoff_memory.core.digest import tagged

Verdict = Literal["none", "semantic", "major", "minor", "growth"]
Collection = Literal["constraint", "decision"]
Break = Literal["rewritten", "removed", "reordered"]
Reach = Literal["nothing", "difference", "everything"]


class Zones(NamedTuple):
    """The stable texts of a task.

    Attributes:
        system_head: What stands first in the prompt.
        rules: The active invariants.
        objective: The task's aim.
        global_plan: The steps' texts without their status.
        tool_contract: The tools as the client declares them.
        constraints: Append-only.
        decisions: Append-only, pinned verbatim.
    """

    system_head: str
    rules: tuple[str, ...]
    objective: str
    global_plan: tuple[str, ...]
    tool_contract: str
    constraints: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()


class Pinned(NamedTuple):
    """The identity of the append-only collections: each item's own hash, in order."""

    constraints: tuple[str, ...]
    decisions: tuple[str, ...]


class Hashes(NamedTuple):
    """The five hashes of a state and its pinned items', 64 hex digits each."""

    head: str
    zone_b: str
    tail: str
    prefix: str
    zone_a: str
    items: Pinned

    def plain(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {**self._asdict(), "items": self.items._asdict()}


class Counts(NamedTuple):
    """Tokens of the zones as they stand now.

    Attributes:
        head: System head and rules.
        zone_b: Objective, plan and tool contract.
        constraints: Of each constraint, in order.
        decisions: Of each decision, in order.
        rest: All that follows the tail in the prompt: zones C and D.
    """

    head: int
    zone_b: int
    constraints: tuple[int, ...] = ()
    decisions: tuple[int, ...] = ()
    rest: int = 0

    @property
    def tail(self) -> int:
        """Tokens of all pinned items."""
        return sum(self.constraints) + sum(self.decisions)


class PrefillPlan(NamedTuple):
    """What a model has to read anew.

    Attributes:
        reach: Everything, the difference only, or nothing (the cache is intact).
        tokens: The changed part itself.
        behind: What follows it in the prompt; a cache that matches strict prefixes reads that
            anew as well, unless it was placed before.
    """

    reach: Reach
    tokens: int
    behind: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that drifted.

    Attributes:
        verdict: Its severity.
        cause: A stable name, such as `pinned_rewrite`.
        prefill: What it costs.
        collection: Where a pinned item was touched or added.
        index: The first item that differs, from 0.
        broken: What happened to it.
    """

    verdict: Verdict
    cause: str
    prefill: PrefillPlan
    collection: Collection | None = None
    index: int | None = None
    broken: Break | None = None


@dataclass(frozen=True, slots=True)
class Drift:
    """All that changed between two states, most severe first."""

    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The most severe one."""
        return self.findings[0].verdict if self.findings else "none"

    @property
    def cause(self) -> str | None:
        """The cause of the most severe one."""
        return self.findings[0].cause if self.findings else None

    @property
    def semantic_break(self) -> bool:
        """Whether a pinned item was rewritten, removed or moved: the task state is corrupt."""
        return self.verdict == "semantic"

    @property
    def prefill(self) -> PrefillPlan:
        """The cost of all findings together; a part that is read anew is counted once."""
        plans = [finding.prefill for finding in self.findings]
        for plan in plans:
            if plan.reach == "everything":
                return plan
        changed = [plan for plan in plans if plan.reach == "difference"]
        if not changed:
            return PrefillPlan("nothing", 0)
        tokens = sum(plan.tokens for plan in changed)
        first, behind = changed[0], changed[0].behind
        # What was appended to the tail lies behind zone B.
        inside = tokens - first.tokens if self._has("minor") else 0
        return PrefillPlan("difference", tokens, behind - inside)

    def _has(self, verdict: Verdict) -> bool:
        return any(finding.verdict == verdict for finding in self.findings)


_RANK: Final[dict[Verdict, int]] = {"semantic": 0, "major": 1, "minor": 2, "growth": 3}


def hashes(zones: Zones) -> Hashes:
    """The hashes of a state. Source: governor.md §2, format.md."""
    head = tagged(b"hm/head/1\0", _utf8(zones.system_head), _list(zones.rules))
    zone_b = tagged(
        b"hm/zone-b/1\0",
        _utf8(zones.objective),
        _list(zones.global_plan),
        _utf8(zones.tool_contract),
    )
    tail = tagged(b"hm/tail/1\0", _list(zones.constraints), _list(zones.decisions))
    return Hashes(
        head=head.hex(),
        zone_b=zone_b.hex(),
        tail=tail.hex(),
        prefix=tagged(b"hm/prefix/1\0", head, zone_b).hex(),
        zone_a=tagged(b"hm/zone-a/1\0", head, tail).hex(),
        items=Pinned(
            tuple(tagged(b"hm/constraint/1\0", _utf8(text)).hex() for text in zones.constraints),
            tuple(tagged(b"hm/decision/1\0", _utf8(text)).hex() for text in zones.decisions),
        ),
    )


def seal(state: Hashes) -> str:
    """The seal over the stable zones, 64 hex digits."""
    parts = bytes.fromhex(state.prefix), bytes.fromhex(state.tail)
    return tagged(b"hm/seal/1\0", *parts).hex()


def counts(zones: Zones, count: Callable[[str], int], rest: int = 0) -> Counts:
    """The tokens of each zone, by the given counter."""
    return Counts(
        head=count("\n".join((zones.system_head, *zones.rules))),
        zone_b=count("\n".join((zones.objective, *zones.global_plan, zones.tool_contract))),
        constraints=tuple(map(count, zones.constraints)),
        decisions=tuple(map(count, zones.decisions)),
        rest=rest,
    )


def drift(old: Hashes, new: Hashes, tokens: Counts) -> Drift:
    """What changed from one state to the next. `tokens` are those of the new state."""
    found = [
        *_zones(old, new, tokens),
        *_pins("constraint", old.items.constraints, new.items.constraints, tokens),
        *_pins("decision", old.items.decisions, new.items.decisions, tokens),
    ]
    return Drift(tuple(sorted(found, key=lambda finding: _RANK[finding.verdict])))


def _zones(old: Hashes, new: Hashes, tokens: Counts) -> Iterator[Finding]:
    after_b = tokens.tail + tokens.rest
    if old.head != new.head:
        whole = PrefillPlan("everything", tokens.head + tokens.zone_b + after_b)
        yield Finding("major", "head_changed", whole)
    if old.zone_b != new.zone_b:
        changed = PrefillPlan("difference", tokens.zone_b, after_b)
        yield Finding("minor", "zone_b_changed", changed)


def _pins(
    collection: Collection, old: tuple[str, ...], new: tuple[str, ...], tokens: Counts
) -> Iterator[Finding]:
    index = _first_difference(old, new)
    if index < len(old):
        yield Finding(
            verdict="semantic",
            cause="pinned_rewrite",
            prefill=PrefillPlan("nothing", 0),
            collection=collection,
            index=index,
            broken=_break(old, new),
        )
    elif index < len(new):
        sizes = tokens.constraints if collection == "constraint" else tokens.decisions
        added = PrefillPlan("difference", sum(sizes[index:]), tokens.rest)
        yield Finding("growth", "tail_appended", added, collection, index)


def _first_difference(old: tuple[str, ...], new: tuple[str, ...]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (was, now) in pairs if was != now), min(len(old), len(new)))


def _break(old: tuple[str, ...], new: tuple[str, ...]) -> Break:
    if not Counter(old) - Counter(new):
        return "reordered"
    return "removed" if len(new) < len(old) else "rewritten"


def _list(texts: tuple[str, ...]) -> bytes:
    return tagged(b"hm/list/1\0", *map(_utf8, texts))


def _utf8(text: str) -> bytes:
    return text.encode()
