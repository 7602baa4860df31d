"""Who acts in the tests of the memory: an agent on the services, a client of the tools, a clock.

Every call of an `Agent` is a transaction of its own on a real database.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from mcp import Client

from handoff_memory.app import Local
from handoff_memory.core.author import Author
from handoff_memory.core.names import parse_name
from handoff_memory.services import (
    handoff,
    memory,
    outcomes,
    packet_drafts,
    reading,
    search,
    waiting,
)

START_US = 1_796_054_400_000_000  # 2026-11-30T16:00:00Z
Reply = dict[str, Any]


@dataclass
class Clock:
    """A clock that shows what it was set to."""

    now: int = START_US

    def __call__(self) -> int:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += round(seconds * 1_000_000)


@dataclass
class Agent:
    """One session of an agent; each call is a transaction of its own."""

    local: Local
    who: Author
    dead: set[str] = field(default_factory=set)

    def write(
        self,
        name: str,
        value: Any = "a fact",
        *,
        expected_version: int | None = None,
        if_changed: bool = False,
        request_id: str | None = None,
        **more: Any,
    ) -> Reply:
        scope, _, key = name.rpartition("/")
        draft = memory.draft_record(
            self.local.settings.limits,
            scope=scope,
            key=key,
            value=value,
            condition=[expected_version, if_changed],
            **more,
        )
        return self.local.write(
            lambda tx: memory.write(
                tx,
                self.who,
                draft,
                expected_version=expected_version,
                if_changed=if_changed,
                op=request_id,
            )
        )

    def read(self, name: str, cursor: str | None = None) -> Reply:
        limits = self.local.settings.limits
        return self.local.read(
            lambda tx: reading.read(tx, self.who, limits, parse_name(name), after=cursor)
        )

    def history(self, name: str, *, limit: int = 20) -> list[Reply]:
        found: list[Reply] = self.history_page(name, limit=limit)["history"]
        return found

    def history_page(self, name: str, *, limit: int, cursor: str | None = None) -> Reply:
        limits = self.local.settings.limits
        return self.local.read(
            lambda tx: reading.history(
                tx, self.who, limits, parse_name(name), limit=limit, after=cursor
            )
        )

    def report(
        self, name: str, outcome: Any, *, request_id: str | None = None, **more: Any
    ) -> Reply:
        draft = outcomes.draft_outcome(
            self.local.settings.limits, name=parse_name(name), outcome=outcome, **more
        )
        return self.local.write(lambda tx: outcomes.report(tx, self.who, draft, op=request_id))

    def search(
        self, query: str = "", *, limit: int = 10, cursor: str | None = None, **filters: Any
    ) -> Reply:
        wanted = search.Search(query=query, **filters)
        limits = self.local.settings.limits
        return self.local.read(
            lambda tx: search.search(tx, self.who, limits, wanted, limit=limit, after=cursor)
        )

    def found(self, query: str = "", **filters: Any) -> list[str]:
        return [
            f"{hit['scope']}/{hit['key']}@{hit['version']}"
            for hit in self.search(query, **filters)["results"]
        ]

    def create(
        self,
        summary: str = "Take over",
        *,
        next: Sequence[str] = ("go on",),  # noqa: A002 - the tool's own word
        request_id: str | None = None,
        **more: Any,
    ) -> Reply:
        draft = packet_drafts.draft_packet(
            self.local.settings.limits, summary=summary, next_steps=next, **more
        )
        return self.local.write(lambda tx: handoff.create(tx, self.who, draft, op=request_id))

    def hand_back(self, packet_id: str, status: Any, **more: Any) -> Reply:
        return self.create(
            f"handed back: {status}", next=(), in_reply_to=packet_id, status=status, **more
        )

    def pickup(self, packet_id: str | None = None, **more: Any) -> Reply:
        return self.local.write(
            lambda tx: handoff.pickup(
                tx,
                self.who,
                self.local.settings.limits,
                packet_id=packet_id,
                is_dead=self._is_dead,
                **more,
            )
        )

    def peek(self, packet_id: str | None = None, **more: Any) -> Reply:
        return self.local.read(
            lambda tx: handoff.peek(
                tx,
                self.who,
                self.local.settings.limits,
                packet_id=packet_id,
                is_dead=self._is_dead,
                **more,
            )
        )

    @property
    def waiting(self) -> int:
        return self.local.read(lambda tx: waiting.count(tx, self.who))

    def _is_dead(self, session: Any) -> bool:
        return session["session"] in self.dead


@dataclass(frozen=True)
class Tools:
    """The tools as a client calls them."""

    client: Client

    async def __call__(self, tool: str, /, **arguments: Any) -> Reply:
        """The reply of a call that works."""
        reply = await self.client.call_tool(tool, arguments)
        assert not reply.is_error, reply.structured_content
        return self._same(reply)

    async def refused(self, tool: str, /, **arguments: Any) -> Reply:
        """The error of a call that does not."""
        reply = await self.client.call_tool(tool, arguments)
        assert reply.is_error, reply.structured_content
        return self._same(reply)

    @staticmethod
    def _same(reply: Any) -> Reply:
        (content,) = reply.content
        assert orjson.loads(content.text) == reply.structured_content
        found: Reply = reply.structured_content
        return found


def git(folder: Path, *arguments: str) -> str:
    """What git says in a folder, whoever the person at the machine is."""
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    command = ["git", *identity, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
