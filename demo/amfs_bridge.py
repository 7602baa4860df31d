"""The handoff once more, through SenseLab's AMFS SDK: the same two agents, the same file.

The scout writes, packs and leaves; the executor is a process of its own that knows nothing else.
Neither uses a tool of this project: both hold an `AgentMemory`, on `MemoryAdapter`. At the end the
shared memory's own side reads what they wrote. `make demo-amfs`, or
`python demo/amfs_bridge.py [--db FILE]`; needs the extra `amfs`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amfs import AgentMemory, OutcomeType

from handoff_memory.amfs import MemoryAdapter
from handoff_memory.app import open_local
from handoff_memory.core.names import Name
from handoff_memory.services import reading
from handoff_memory.settings import read_settings

SCOUT, EXECUTOR = "scout-agent", "executor-agent"
SOURCE = ("source/boards-example", "rate-limit")
PACKET = ("handoff/executor-agent", "packet")


def title(text: str) -> None:
    """A heading."""
    print(f"\n=== {text} ".ljust(72, "="))


def step(text: str) -> None:
    """A step of a session."""
    print(f"--- {text} ".ljust(67, "-"))


def say(text: str) -> None:
    """A line below a step."""
    print(f"  . {text}")


def opened(agent: str, database: Path) -> AgentMemory:
    """An agent's memory on the shared file."""
    return AgentMemory(agent, session_id=f"{agent}-demo", adapter=MemoryAdapter(database))


def hand_over(database: Path) -> None:
    """The scout's session: findings, a packet that pins versions, and a late revision."""
    title(f"{SCOUT}, through the SDK")
    with opened(SCOUT, database) as memory:
        step("1. write down what was found")
        memory.write(*SOURCE, {"backoff_s": 60, "seen": "429 after 10 pages"}, confidence=0.6)
        apply = {"verdict": "apply", "why": "fixed price, clear scope"}
        for listing in ("482", "553"):
            found = memory.write(f"listing/{listing}", "assessment", apply, confidence=0.7)
            say(f"{found.entry_key} v{found.version}: {found.value['verdict']}")
        step("2. hand over, in one transaction")
        pins = {"/".join(name): memory.read(*name).version for name in _assessed()}
        with memory.transaction("handoff") as handoff:
            handoff.write(*PACKET, _packet(pins))
            handoff.write("handoff/status", "scout-agent", {"shift": "over"})
        say(f"commit {handoff.commit.message!r}: {len(handoff.entries)} entries, all or none")
        step("3. revise one of them afterwards")
        changed = {"verdict": "maybe", "why": "budget edited down to $400"}
        late = memory.write("listing/553", "assessment", changed, confidence=0.7)
        say(
            f"{late.entry_key} is at v{late.version} now; the packet pinned v{pins[late.entry_key]}"
        )


def work(database: Path) -> None:
    """The executor's session: it picks up, re-reads what moved, and says what really happened."""
    title(f"{EXECUTOR}, in a process of its own")
    with opened(EXECUTOR, database) as memory:
        step("1. pick up the packet")
        packet = memory.read(*PACKET).value
        say(f"{packet['summary']}; {len(packet['pins'])} pinned versions")
        step("2. compare the pins with what is current")
        for name, pinned in packet["pins"].items():
            current = memory.read(*name.rsplit("/", 1))
            moved = f"stale: pinned v{pinned}, now v{current.version}"
            say(f"{name}: {moved if current.version != pinned else 'as pinned'}")
        dropped = memory.read("listing/553", "assessment").value
        say(f"listing/553 now says {dropped['verdict']!r} ({dropped['why']}): dropped")
        step("3. report what actually happened")
        _report(memory, "application-482", OutcomeType.SUCCESS, "listing/482/assessment")
        _report(memory, "crawl-7", OutcomeType.FAILURE, "/".join(SOURCE))


def look_back(database: Path) -> bool:
    """What both sides say of the file afterwards; whether all of it is in order."""
    title("afterwards")
    with opened(SCOUT, database) as memory:
        step("the SDK's own check")
        report = memory.verify()
        clean = not report["corrupted"] and not report["chain_breaks"]
        say(f"verify(): {report['total_checked']} versions, {'clean' if clean else report}")
        kept = memory.adapter.list_outcomes()
        say(f"{len(kept)} outcomes and {len(memory.commit_log())} commit are kept")
    step("the shared memory's side of it")
    with open_local(read_settings(flags={"MEMORY_DB": str(database)})) as local:
        name = Name("listing/553", "assessment")
        row = local.read(lambda tx: reading.get(tx, local.identity.project, name))
        say(f"record {name}@{row['version']} by {row['agent']}: {reading.text_of_value(row)}")
        verified = local.verify(lambda done, total: None)
        say(
            f"memory_stats --verify: {verified['checked']['journal']} journal lines, "
            f"{len(verified['problems'])} problems"
        )
    return clean and verified["ok"]


def main(given: Sequence[str] | None = None) -> int:
    """Run both sessions; the exit status."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--db", type=Path, help="a file that does not exist yet; it is kept")
    parser.add_argument("--executor", action="store_true", help="run the executor's session only")
    found = parser.parse_args(given)
    if found.executor:
        work(found.db)
        return 0
    if found.db:
        return tell(found.db.absolute())
    with tempfile.TemporaryDirectory(prefix="handoff-memory-") as folder:
        return tell(Path(folder) / "shared.db")


def tell(database: Path) -> int:
    """The whole story on one file; the exit status."""
    hand_over(database)
    sys.stdout.flush()
    executor = [sys.executable, __file__, "--executor", "--db", str(database)]
    subprocess.run(executor, check=True, timeout=120)  # noqa: S603 - this very script
    return 0 if look_back(database) else 1


def _assessed() -> list[tuple[str, str]]:
    return [("listing/482", "assessment"), ("listing/553", "assessment"), SOURCE]


def _packet(pins: dict[str, int]) -> dict[str, Any]:
    return {
        "from": SCOUT,
        "summary": "Two listings worth an application, one source caveat",
        "next": ["Draft an application for listing/482", "Draft an application for listing/553"],
        "open": ["Is the 60s backoff enough?"],
        "pins": pins,
    }


def _report(memory: AgentMemory, ref: str, outcome: OutcomeType, name: str) -> None:
    before = memory.read(*name.rsplit("/", 1)).confidence
    for _ in range(2):  # a retry of the same report changes nothing
        (after,) = memory.commit_outcome(ref, outcome, causal_entry_keys=[name])
    say(f"{outcome.value} on {name}: confidence {before:.0%} -> {after.confidence:.0%}")


if __name__ == "__main__":
    sys.exit(main())
