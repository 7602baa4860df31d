"""The arms of the benchmark: each one a way to work, run over every kind and size of payload."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from context.agent import PLAIN, Agent, Habits
from context.counting import SECOND_TOKENIZER
from context.ours import NEVER, SURFACES, Echo, Gateway, Hooks, Served, served
from context.payloads import Payload, kinds, payload
from context.sides import Native, Side
from context.transcript import Count
from handoff_memory.rules import adaptive
from handoff_memory.settings import Settings

SIZES: Final = (200, 800, 2_000, 5_000, 20_000)
ACCESSES: Final = 4
DEFAULT: Final = Settings(home=Path(), database=Path(), folder=Path()).stub_tokens
# From how many tokens on a first read is shortened; `bystander` governs nothing.
FIRST_READ_FROM: Final[dict[adaptive.Mode, int]] = {
    "light": NEVER,
    "standard": adaptive.FIRST_READ_TOKENS,
    "full": DEFAULT,
}


class Arm(NamedTuple):
    """A way to work.

    Attributes:
        name: As it is reported.
        side: What stands before the context.
        mode: Of the governor; None where it follows from the payloads.
        habits: Of the agent.
        surfaces: What our server lists, `none` where it is not there.
    """

    name: str
    side: type[Side]
    mode: adaptive.Mode | None = "bystander"
    habits: Habits = PLAIN
    surfaces: Sequence[str] = SURFACES


ARMS: Final = (
    Arm("raw", Side, surfaces=("none",)),
    Arm("native", Native, surfaces=("none",)),
    Arm("fixed", Hooks, "light"),
    Arm("adaptive", Hooks, None),
    Arm("echo", Echo, "light"),
    Arm("hooks", Hooks, "full"),
    Arm("gateway", Gateway, "full", surfaces=("none", *SURFACES)),
    # The same hooks with an agent that does worse.
    Arm("hooks-help", Hooks, "full", Habits(helps_itself=True), ("dispatch",)),
    Arm("hooks-reread", Hooks, "full", Habits(repeats=True), ("dispatch",)),
    Arm("hooks-own-edit", Hooks, "full", Habits(edits=True), ("dispatch",)),
)


class Run(NamedTuple):
    """One session of one arm.

    Attributes:
        arm: Its name.
        surface: What our server lists.
        kind: Of the payloads; the first one's where there are several.
        size: Of each payload in tokens.
        mode: Of the governor.
        tokens: Of the transcript.
        second: The same by the second tokenizer.
        costs: Of sending it, with 0 and with 20 more turns after it, in input tokens.
        missed: Needs that were not met.
        lossless: Everything kept came back as it was.
    """

    arm: str
    surface: str
    kind: str
    size: int
    mode: str
    tokens: Count
    second: Count
    costs: tuple[float, float]
    missed: tuple[str, ...]
    lossless: bool


async def run(arm: Arm, surface: str, payloads: Sequence[Payload], size: int) -> Run:
    """One session in which an agent works on payloads of one size, one after the other."""
    mode = arm.mode or mode_for(size)
    if not issubclass(arm.side, Served):
        return await _worked(arm, surface, arm.side(), payloads, size, mode)
    with tempfile.TemporaryDirectory() as folder:
        first_from = FIRST_READ_FROM.get(mode, NEVER)
        async with served(arm.side, Path(folder), surface, first_from) as side:
            return await _worked(arm, surface, side, payloads, size, mode)


def mode_for(size: int) -> adaptive.Mode:
    """What rules/adaptive makes of work that reads a payload of that size four times."""
    return adaptive.choose([adaptive.Payload(size, repeats=ACCESSES - 1)]).mode


def arms_named(names: Sequence[str], surfaces: Sequence[str]) -> list[tuple[Arm, str]]:
    """Arms with the surfaces that they are run on; one without a choice of surfaces always is."""
    return [
        (arm, surface)
        for arm in ARMS
        if arm.name in names
        for surface in arm.surfaces
        if surface in surfaces or arm.surfaces == ("none",)
    ]


def session(arm: Arm, surface: str, kind: str, size: int, seed: int, tasks: int = 1) -> Run:
    """A session of so many tasks, each with a payload of its own; the kinds follow in turn."""
    order = kinds()
    start = order.index(kind)
    given = [
        _apart(payload(order[(start + task) % len(order)], size, seed + task), task)
        for task in range(tasks)
    ]
    return asyncio.run(run(arm, surface, given, size))


def _apart(given: Payload, task: int) -> Payload:
    """The payload of a later task: it comes from a call of its own, as another file would."""
    if not task:
        return given
    return given._replace(args={name: f"{said}.{task}" for name, said in given.args.items()})


async def _worked(
    arm: Arm, surface: str, side: Side, payloads: Sequence[Payload], size: int, mode: str
) -> Run:
    agent = Agent(side, arm.habits)
    for given in payloads:
        await agent.work(given)
    transcript = agent.transcript
    return Run(
        arm.name,
        surface,
        payloads[0].kind,
        size,
        "none" if arm.name in {"raw", "native"} else mode,
        transcript.count(),
        transcript.count(SECOND_TOKENIZER),
        (transcript.cost(), transcript.cost(turns_after=20)),
        tuple(agent.missed),
        await side.is_lossless(),
    )
