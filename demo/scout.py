"""The scout: crawls the board, writes what it finds, corrects itself, hands over, looks again.

Its next session reads what came back. In a terminal of its own:
`MEMORY_DB=shared.db python demo/scout.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from agent import (
    EXECUTOR,
    SCOUT,
    Agent,
    DemoError,
    arguments,
    name_of,
    percent,
    run,
    say,
    session,
    shift_of,
    step,
    title,
)
from board import Board, Posting, ThrottledError

_BACKOFF_S: Final = 60
_RATE_LIMIT: Final = "source/boards-example/rate-limit"


async def hand_over(database: Path) -> None:
    """The first session: from the crawl to the handoff, and one look back.

    Raises:
        DemoError: The database holds the demo already.
    """
    title(f"{SCOUT}, first session")
    async with session(SCOUT, database) as agent:
        board = Board()
        step("1. pick up whatever is waiting")
        if await agent.read(_RATE_LIMIT):
            raise DemoError("This database holds the demo already: choose a new file.")
        if (await agent.call("handoff_pickup"))["packet"] is None:
            say("nothing: this is where the work begins")
        await agent.write(shift_of(SCOUT), "on")
        step("2. crawl the board")
        postings = _crawl(board)
        step("3. write down what was found")
        for posting in postings:
            await _write_findings(agent, board, posting)
        step("4. correct an assessment")
        await _correct(agent, board, postings[0])
        step("5. note what the source is like")
        await _note_caveat(agent)
        step("6. hand over")
        await _create_packet(agent, len(postings))
        step("7. look at the board once more")
        await _revise(agent, board, next(p for p in postings if p.id == 553))
        await agent.write(shift_of(SCOUT), "off")
        say("end of the shift")


async def read_return(database: Path, wait_s: float) -> None:
    """The next session: reads the packet that came back, and checks the memory.

    Raises:
        DemoError: Nothing came back in time, or the memory is broken.
    """
    title(f"{SCOUT}, next session")
    async with session(SCOUT, database) as agent:
        step("1. pick up whatever is waiting")
        if await agent.wait_for_packet(wait_s) is None:
            raise DemoError(
                "Nothing came back in time: run demo/executor.py on the same MEMORY_DB."
            )
        came = await agent.call("handoff_pickup")
        packet = came["packet"]
        answers = f"{packet['in_reply_to']} is {packet['status']}"
        say(f"packet {packet['packet_id']} from {packet['from']}: {packet['summary']} ({answers})")
        for field in ("done", "next"):
            for line in packet.get(field, ()):
                say(f"{field}: {line}")
        say(came["pins_moved"])
        sent = await agent.call("handoff_pickup", packet_id=packet["in_reply_to"], peek=True)
        for note in sent["read_back"]:
            say(f"{note['by']} had read it back as: {note['text']}")
        step("2. see what the outcomes did to the belief")
        await _show_belief(agent)
        step("3. verify the memory")
        await _verify(agent)


def _crawl(board: Board) -> list[Posting]:
    found: list[Posting] = []
    for number in range(1, board.page_count + 1):
        try:
            postings = board.page(number)
            how = ""
        except ThrottledError:
            postings = board.page(number, waited_s=_BACKOFF_S)
            how = f" (429 at first; backed off {_BACKOFF_S}s)"
        say(f"page {number} of {board.name}: {len(postings)} listings{how}")
        found += postings
    return found


def _assess(posting: Posting, detail: str | None = None) -> tuple[str, str, float]:
    """Verdict, reason and confidence; without the listing's own page doubts stay doubts."""
    facts = f"${posting.hourly_usd:.0f} an hour, {posting.applicants} applicants"
    if posting.objection:
        return "skip", posting.objection, 0.85
    if posting.hourly_usd < 10:
        return "skip", facts, 0.9
    if posting.open_question and detail is None:
        return "maybe", posting.open_question, 0.55
    if posting.hourly_usd < 35 or posting.applicants > 15:
        return "maybe", facts, 0.5
    return "apply", detail or facts, 0.7 if detail is None else 0.8


async def _write_findings(agent: Agent, board: Board, posting: Posting) -> None:
    scope = f"listing/{posting.id}"
    shown = {field: value for field, value in asdict(posting).items() if value is not None}
    source = f"{board.name}, seen on the card"
    await agent.write(f"{scope}/posting", shown, confidence=0.95, tags=["posting"], source=source)
    await _write_assessment(agent, posting.id, _assess(posting), source=source, expected_version=0)


async def _write_assessment(
    agent: Agent, listing: int, assessed: tuple[str, str, float], **more: Any
) -> None:
    verdict, reason, confidence = assessed
    written = await agent.write(
        f"listing/{listing}/assessment",
        {"verdict": verdict, "reason": reason},
        confidence=confidence,
        tags=["assessment", verdict],
        **more,
    )
    where = f"{name_of(written)} v{written['version']}"
    say(f'{where}: "{verdict}", confidence {percent(confidence)} ({reason})')


async def _correct(agent: Agent, board: Board, posting: Posting) -> None:
    before = await agent.read(f"listing/{posting.id}/assessment")
    detail = board.detail(posting.id)
    if before is None:
        raise DemoError(f"listing/{posting.id}/assessment is gone.")
    say(f"opened the page of listing/{posting.id}: {detail}")
    await _write_assessment(
        agent,
        posting.id,
        _assess(posting, detail),
        source=f"{board.name}, the listing's own page",
        expected_version=before["version"],
    )


async def _note_caveat(agent: Agent) -> None:
    text = f"answers 429 under load; a backoff of {_BACKOFF_S}s was enough, seen once"
    written = await agent.write(
        _RATE_LIMIT,
        {"backoff_s": _BACKOFF_S, "note": text},
        confidence=0.6,
        tags=["caveat"],
        source="one crawl of two pages",
    )
    say(f"{name_of(written)} v{written['version']}: confidence 60% ({text})")


async def _create_packet(agent: Agent, count: int) -> None:
    packet = await agent.call(
        "handoff_create",
        to=EXECUTOR,
        summary="Two listings worth an application, one source caveat",
        done=[f"Assessed {count} listings of boards-example"],
        next=[
            "Draft an application for listing/482 (supplier catalogue scrape, $900)",
            "Draft an application for listing/553 (price monitor, $600)",
        ],
        open=["Is the 60s backoff enough, or does the board keep a longer penalty window?"],
        pins=[
            "listing/482/posting",
            "listing/482/assessment",
            "listing/553/assessment",
            _RATE_LIMIT,
        ],
        details={
            "objective": "Win one well-paid listing this week without annoying the board",
            "evidence": [{"grade": "observed", "by": "read both pages of the board"}],
            "dead_ends": ["listing/517 pays $3 an hour", "listing/561: the shop forbids bots"],
        },
    )
    say(f"packet {packet['packet_id']} waits for {packet['to']}")
    for pin in packet["pins"]:
        say(f"pinned {pin}")


async def _revise(agent: Agent, board: Board, old: Posting) -> None:
    new = board.look_again(old.id)
    more = new.applicants - old.applicants
    reason = f"budget edited down to ${new.budget_usd} and {more} more applicants arrived"
    verdict, _, confidence = _assess(new)
    await _write_assessment(
        agent,
        old.id,
        (verdict, reason, confidence),
        source="second look, after the handoff",
        expected_version=1,
    )
    say("the packet goes on pinning v1: whoever picks it up will be told")


async def _show_belief(agent: Agent) -> None:
    scope, _, key = _RATE_LIMIT.rpartition("/")
    found = await agent.call("memory_read", scope=scope, key=key, history=True)
    for version in reversed(found["history"]):
        first, now = percent(version["believed_at_first"]), percent(version["confidence"])
        said = f"v{version['version']} by {version['agent']}: believed at {first}"
        for outcome in version["outcomes"]:
            said += f", {now} after a {outcome['outcome']} ({outcome['note']})"
        say(f"{said}; it says: {version['value']['note']}")


async def _verify(agent: Agent) -> None:
    found = (await agent.call("memory_stats", verify=True))["verify"]
    for problem in found["problems"]:
        say(f"broken: {problem['kind']} {problem['name']}: {problem['what']}")
    if not found["ok"]:
        raise DemoError("The memory does not verify.")
    say(f"every hash recomputed, {found['checked']['journal']} journal entries: no problem")


async def _both(database: Path, wait_s: float) -> None:
    await hand_over(database)
    await read_return(database, wait_s)


def main(given: Sequence[str] | None = None) -> int:
    """Both sessions of the scout; between them the executor works in another terminal."""
    database, wait_s = arguments("The scout of the demo.", given)
    return run(_both(database, wait_s))


if __name__ == "__main__":
    sys.exit(main())
