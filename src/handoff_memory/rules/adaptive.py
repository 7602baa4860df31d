"""How much the governor should do at all, by what the payloads make worthwhile.

Doing nothing nets nothing; any other mode is taken only where it is expected to net more. So small
work is never made dearer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Mode = Literal["bystander", "light", "standard", "full"]
# Externalising a first read below this size risks more recalls than it saves (context.md §1.3).
FIRST_READ_TOKENS: Final = 1_500
# A mode must gain this much before it is worth its risk, so small work stays as it is.
MARGIN_TOKENS: Final = 100


@dataclass(frozen=True, slots=True)
class Payload:
    """A result that entered once and was then read `repeats` more times, unchanged."""

    tokens: int
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class Overheads:
    """What the governor itself costs, in tokens. Source: context.md §1.3, measured there.

    Attributes:
        observe: Each result's own call and reply; nothing where a hook hands it over.
        stub: What stands for a repeat.
        recall: One filtered recall, arguments included.
        outline: What stands for a payload that left whole.
        manifest: The plan's reply and the manifest.
        checkpoint: Checkpoints and reminders of the fuller modes.
    """

    observe: int = 0
    stub: int = 12
    recall: int = 150
    outline: int = 340
    manifest: int = 80
    checkpoint: int = 160


BY_HOOK: Final = Overheads()
BY_AGENT: Final = Overheads(observe=120)


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """The mode, and the expected net tokens of each one by itself."""

    mode: Mode
    nets: tuple[tuple[Mode, int], ...]
    why: str


def choose(payloads: Sequence[Payload], cost: Overheads = BY_HOOK) -> ModeChoice:
    """The mode for work that goes on as it went so far.

    `bystander` answers only when asked; `light` turns unchanged repeats into stubs; `standard` also
    shortens large first reads to a preview; `full` replaces those by an outline and recalls. The
    mode with the largest net is taken, the lesser of two equal ones, and none below the margin.
    """
    repeats = sum(_repeats(payload, cost) for payload in payloads)
    fixed = cost.manifest + cost.observe * sum(1 + payload.repeats for payload in payloads)
    nets: tuple[tuple[Mode, int], ...] = (
        ("bystander", 0),
        ("light", repeats - fixed),
        ("standard", repeats + sum(_preview(p, cost) for p in payloads) - fixed - cost.checkpoint),
        ("full", repeats + sum(_outline(p, cost) for p in payloads) - fixed - 2 * cost.checkpoint),
    )
    mode, net = max(nets, key=lambda pair: pair[1])
    if net < MARGIN_TOKENS:
        return ModeChoice("bystander", nets, "the payloads are too small to pay for more")
    return ModeChoice(mode, nets, f"expected to save {net} tokens net")


def _repeats(payload: Payload, cost: Overheads) -> int:
    return payload.repeats * max(0, payload.tokens - cost.stub)


def _preview(payload: Payload, cost: Overheads) -> int:
    """Saved by a preview of an eighth, at most 2,500 tokens, and one recall."""
    if payload.tokens < FIRST_READ_TOKENS:
        return 0
    return payload.tokens - min(payload.tokens // 8, 2_500) - cost.recall


def _outline(payload: Payload, cost: Overheads) -> int:
    """Saved by an outline and three recalls."""
    if payload.tokens < FIRST_READ_TOKENS:
        return 0
    return payload.tokens - cost.outline - 3 * cost.recall
