"""The executor: knows nothing but what waits for it, acts on that, reports, and hands back.

In a terminal of its own, before or after the scout: `MEMORY_DB=shared.db python demo/executor.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent import (
    EXECUTOR,
    Agent,
    DemoError,
    Reply,
    arguments,
    name_of,
    percent,
    run,
    say,
    session,
    step,
    title,
)
from board import Board, ThrottledError

_PATIENCE_S: Final = 300
_RATE_LIMIT: Final = "source/boards-example/rate-limit"


async def work(database: Path, wait_s: float) -> None:
    """The whole session, from the pickup to the handing back.

    Raises:
        DemoError: No packet came in time.
    """
    title(f"{EXECUTOR}, one session")
    async with session(EXECUTOR, database) as agent:
        step("1. pick up whatever is waiting")
        came = await _pick_up(agent, wait_s)
        step("2. read back what was understood")
        plan = await _read_back(agent, came)
        step("3. re-read anything the warning touched")
        dropped = await _reread(agent, plan["stale"])
        step("4. act on what is left")
        sent = await _act(agent, plan, dropped)
        step("5. report what actually happened")
        await _report(agent, plan, sent)
        step("6. hand back")
        await _hand_back(agent, came, sent, dropped)


@dataclass(frozen=True, slots=True)
class Sent:
    """An application that was sent: for which listing, the answer, and after which wait."""

    listing: int
    answer: str
    waited_s: int


async def _pick_up(agent: Agent, wait_s: float) -> Reply:
    if await agent.wait_for_packet(wait_s) is None:
        raise DemoError("Nothing came in time: run demo/scout.py on the same MEMORY_DB.")
    came = await agent.call("handoff_pickup")
    packet = came["packet"]
    say(f"packet {packet['packet_id']} from {packet['from']}: {packet['summary']}")
    for field in ("next", "open"):
        for line in packet[field]:
            say(f"{field}: {line}")
    say(f"{len(came['records'])} pinned record versions arrived with the packet")
    for stale in came["stale"]:
        moved = f"was pinned at v{stale['pinned']}, now at v{stale['current']}"
        say(f"stale: {stale['name']} {moved}")
    return came


async def _read_back(agent: Agent, came: Reply) -> Reply:
    packet = came["packet"]
    assessed = await agent.call("memory_search", scope="listing", tags=["assessment"])
    count = len(assessed["results"])
    say(f'done: "{packet["done"][0]}" - {count} assessments are in the memory')
    objective, first = packet["details"]["objective"], packet["next"][0]
    say(f"objective: {objective}")
    say(f"first action: {first}")
    text = f"{objective}. First: {first}. Checked: {count} assessments exist."
    plan = await agent.call(
        "handoff_pickup", packet_id=packet["packet_id"], token=came["token"], read_back=text
    )
    say(f"told {packet['from']} so")
    return plan


async def _reread(agent: Agent, stale: list[Reply]) -> list[str]:
    dropped = []
    for item in stale:
        current = await agent.read(item["name"])
        if current is None:
            continue
        scope, said = current["scope"], current["value"]
        say(f'{scope} v{current["version"]} now says "{said["verdict"]}" ({said["reason"]})')
        if said["verdict"] != "apply":
            say(f"dropping {scope} - acting on the pinned v{item['pinned']} would be wrong")
            dropped.append(scope)
    return dropped


async def _act(agent: Agent, plan: Reply, dropped: list[str]) -> Sent:
    verdict = next(
        record
        for record in plan["records"]
        if record["key"] == "assessment" and record["scope"] not in dropped
    )
    posting = _record(plan, f"{verdict['scope']}/posting")["value"]
    said = verdict["value"]
    say(f'{verdict["scope"]}: the pinned v{verdict["version"]} says "{said["verdict"]}"')
    letter = f"{posting['title']} for ${posting['budget_usd']}: {said['reason']}"
    listing = posting["id"]
    draft = await agent.write(f"application/{listing}/draft", letter, tags=["application"])
    say(f"{name_of(draft)} v{draft['version']}: {letter}")
    board = Board()
    waited_s = _record(plan, _RATE_LIMIT)["value"]["backoff_s"]
    try:
        answer = board.apply(listing, waited_s=waited_s)
    except ThrottledError:
        say(f"429, and 429 again after the {waited_s}s that the memory advised")
        waited_s = _PATIENCE_S
        answer = board.apply(listing, waited_s=waited_s)
    say(f"sent after {waited_s}s: {answer}")
    return Sent(listing, answer, waited_s)


async def _report(agent: Agent, plan: Reply, sent: Sent) -> None:
    packet_id = plan["packet"]["packet_id"]
    advised = _record(plan, _RATE_LIMIT)
    about = _record(plan, f"listing/{sent.listing}/assessment")
    await agent.report(about, "success", sent.answer, packet_id)
    note = f"{advised['value']['backoff_s']}s was not enough, {sent.waited_s}s was"
    await agent.report(advised, "failure", note, packet_id)


async def _hand_back(agent: Agent, came: Reply, sent: Sent, dropped: list[str]) -> None:
    packet = came["packet"]
    known = _record(came, _RATE_LIMIT)
    text = f"the board keeps a penalty window: {sent.waited_s}s after a 429"
    learned = await agent.write(
        name_of(known),
        {"backoff_s": sent.waited_s, "note": text},
        confidence=0.8,
        tags=["caveat"],
        source="one application that was held back",
        expected_version=known["version"],
    )
    now = percent(learned["confidence"])
    say(f"{name_of(learned)} v{learned['version']}: confidence {now} ({text})")
    summary = f"One application sent, {len(dropped)} listing dropped, one question answered"
    done = [
        f"Applied to listing/{sent.listing}: {sent.answer}",
        *(f"Dropped {scope}: no longer worth it" for scope in dropped),
        f"Answered the open question: {text}",
    ]
    back = await agent.call(
        "handoff_create",
        in_reply_to=packet["packet_id"],
        status="done",
        token=came["token"],
        summary=summary,
        done=done,
        next=[f"Send the client of listing/{sent.listing} a start date"],
        pins=[f"application/{sent.listing}/draft", name_of(learned)],
        details={"evidence": [{"grade": "observed"} for _ in done]},
    )
    say(f"packet {back['packet_id']} to {back['to']}: {summary}")
    say(f"packet {packet['packet_id']} is {back['closed']['status']}")


def _record(came: Reply, name: str) -> Reply:
    return next(record for record in came["records"] if name_of(record) == name)


def main(given: Sequence[str] | None = None) -> int:
    """The executor's session; waits for a packet where none is there yet."""
    database, wait_s = arguments("The executor of the demo.", given)
    return run(work(database, wait_s))


if __name__ == "__main__":
    sys.exit(main())
