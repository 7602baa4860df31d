"""What the sessions of the demo share: an MCP client over stdio, and lines in the terminal.

Each session starts a server process of its own, as any MCP client does; the database file is all
that they have in common.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from mcp import Client, StdioServerParameters

SCOUT: Final = "scout-agent"
EXECUTOR: Final = "executor-agent"
WAIT_S: Final = 120.0
_POLL_S: Final = 0.5
_WIDTH: Final = 67

Reply = dict[str, Any]


class DemoError(Exception):
    """The demo cannot go on; the message says why."""


class Agent:
    """One agent's session with the memory."""

    def __init__(self, name: str, client: Client) -> None:
        self.name = name
        self._client = client

    async def call(self, tool: str, **arguments: Any) -> Reply:
        """The structured reply of a tool.

        Raises:
            DemoError: The tool answered with an error.
        """
        result = await self._client.call_tool(tool, arguments)
        reply = result.structured_content or {}
        if result.is_error:
            raise DemoError(f"{tool}: {reply.get('message')} {reply.get('next')}")
        return reply

    async def write(self, name: str, value: Any, **more: Any) -> Reply:
        """Append a version to `scope/key`."""
        scope, _, key = name.rpartition("/")
        return await self.call("memory_write", scope=scope, key=key, value=value, **more)

    async def read(self, name: str) -> Reply | None:
        """The current version of `scope/key`, or None."""
        (record,) = (await self.call("memory_read", names=[name]))["records"]
        return None if record.get("error") else record

    async def report(self, record: Reply, outcome: str, note: str, packet_id: str) -> None:
        """Report what happened with a version of a record, and say how its confidence moved."""
        about = {field: record[field] for field in ("scope", "key", "version")}
        moved = await self.call(
            "memory_outcome", **about, outcome=outcome, note=note, packet_id=packet_id
        )
        change = f"{percent(moved['before'])} -> {percent(moved['after'])}"
        say(f"{outcome} on {name_of(record)}: confidence {change}")

    async def wait_for_packet(self, wait_s: float) -> Reply | None:
        """The packet that waits for this agent, once its author has left; None if none came.

        Looking claims nothing. Who still works may yet revise what it pinned, and the demo is about
        that: `agent/<id>/shift` is "on" while an author works. `wait_s` bounds both waits.
        """
        deadline = asyncio.get_running_loop().time() + wait_s
        told = ""
        while True:
            packet: Reply | None = (await self.call("handoff_pickup", peek=True))["packet"]
            if packet and not await self._is_at_work(packet["from"]):
                return packet
            if asyncio.get_running_loop().time() >= deadline:
                return packet
            why = f"{packet['from']} is still at work" if packet else "nothing waits yet"
            if why != told:
                say(f"{why}; looking again every {_POLL_S}s, for {wait_s:g}s at most")
                told = why
            await asyncio.sleep(_POLL_S)

    async def _is_at_work(self, author: str) -> bool:
        shift = await self.read(shift_of(author))
        return shift is not None and shift["value"] == "on"


@asynccontextmanager
async def session(name: str, database: Path) -> AsyncIterator[Agent]:
    """A session of an agent: a client, and a server process that ends with it."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "handoff_memory"],
        env={"MEMORY_DB": str(database), "AGENT_ID": name},
        cwd=Path(__file__).parent,
    )
    async with Client(server) as client:
        yield Agent(name, client)


def title(text: str) -> None:
    """Print the title of a session."""
    print(f"\n=== {text} ".ljust(_WIDTH + 1, "="), flush=True)


def step(text: str) -> None:
    """Print the title of a step."""
    print(f"--- {text} ".ljust(_WIDTH, "-"), flush=True)


def say(text: str) -> None:
    """Print what a step did."""
    print(f"  . {text}", flush=True)


def percent(confidence: float) -> str:
    """A confidence as people read it."""
    return f"{confidence:.0%}"


def name_of(record: Reply) -> str:
    """`scope/key` of a record."""
    return f"{record['scope']}/{record['key']}"


def shift_of(agent: str) -> str:
    """The record that says whether an agent is at work."""
    return f"agent/{agent}/shift"


def arguments(description: str, given: Sequence[str] | None) -> tuple[Path, float]:
    """Database and patience of a script that runs in a terminal of its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--db",
        default=os.environ.get("MEMORY_DB"),
        help="the file that both agents share (default: $MEMORY_DB)",
    )
    parser.add_argument(
        "--wait", type=float, default=WAIT_S, help="seconds to wait for the other (%(default)g)"
    )
    found = parser.parse_args(given)
    if not found.db:
        parser.error("set MEMORY_DB to the file that both agents share")
    return Path(found.db).absolute(), found.wait


def run(story: Coroutine[Any, Any, None]) -> int:
    """Run a session to its end; 1, with a sentence on stderr, where it cannot go on."""
    failed: list[str] = []
    try:
        asyncio.run(story)
    except* DemoError as group:  # the client's task group wraps what happens inside it
        failed = [str(error) for error in _leaves(group)]
    for sentence in failed:
        print(sentence, file=sys.stderr)
    return 1 if failed else 0


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for child in error.exceptions for leaf in _leaves(child)]
    return [error]
