"""The seven tools of the memory: parse, one service call, reply."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import orjson

from handoff_memory import workspace
from handoff_memory.app import App, is_dead, storage_facts
from handoff_memory.core.author import Author
from handoff_memory.core.errors import CorruptDatabaseError, InvalidArgumentError
from handoff_memory.server import arguments as a
from handoff_memory.server.tool import Tool
from handoff_memory.services import (
    handoff,
    memory,
    outcomes,
    packet_drafts,
    presence,
    reading,
    search,
    verify,
)
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Operation

_WRITE: Final = (
    "Keep a fact for every agent: appends a version to scope/key, like listing/553 + assessment. "
    "Write findings, decisions and corrections once you know them. expected_version: the version "
    "you read (0: new), else nothing is written. if_changed skips an equal value. request_id makes "
    "a retry safe."
)
_READ: Final = (
    "Read scope+key, or several names (scope/key or scope/key@2). history: all versions with "
    "outcomes. Reread what is stale before acting on it."
)
_SEARCH: Final = (
    "Find records by words, path or code; no query lists the newest. Use it before working out "
    "what another agent may know."
)
_OUTCOME: Final = "Report what really happened after acting on a record; moves its confidence."
_STATS: Final = "Counts, agents, what waits; verify recomputes every hash."
_CREATE: Final = (
    "Before you stop: hand over. summary is one line, next[0] the first step, open the questions, "
    "pins the records (scope/key) to start from. To hand a packet back: in_reply_to, status, "
    "token. details: severity, objective, last_request, evidence, if_then, dead_ends, decisions, "
    "results."
)
_PICKUP: Final = (
    "First call of a session: claims what waits for you, with its pinned records and which are "
    "stale. peek only looks; read_back tells the sender what you understood."
)
_SMALL_BYTES: Final = 4096


class MemoryTools:
    """The tools on one application."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._limits = app.settings.limits

    @cached_property
    def table(self) -> Mapping[str, Tool]:
        """The tools by name, in the order in which they are listed."""
        tools = (
            Tool("handoff_pickup", _PICKUP, a.PickupArguments, self.handoff_pickup, eager=True),
            Tool("handoff_create", _CREATE, a.CreateArguments, self.handoff_create, eager=True),
            Tool("memory_write", _WRITE, a.WriteArguments, self.memory_write, eager=True),
            Tool("memory_read", _READ, a.ReadArguments, self.memory_read, reads=True),
            Tool(
                "memory_search",
                _SEARCH,
                a.SearchArguments,
                self.memory_search,
                reads=True,
                eager=True,
            ),
            Tool("memory_outcome", _OUTCOME, a.OutcomeArguments, self.memory_outcome),
            Tool("memory_stats", _STATS, a.StatsArguments, self.memory_stats, reads=True),
        )
        return {tool.name: tool for tool in tools}

    async def memory_write(self, who: Author, given: a.WriteArguments) -> Reply:
        """Append a version to a record."""

        def drafted() -> memory.RecordDraft:
            return memory.draft_record(
                self._limits,
                scope=given.scope,
                key=given.key,
                value=given.value,
                confidence_share=given.confidence,
                tags=given.tags,
                source=given.source,
                expires_in=given.expires_in,
                condition=[given.expected_version, given.if_changed],
            )

        # Another thread costs more than a small value does.
        draft = drafted() if _is_small(given.value) else await asyncio.to_thread(drafted)
        return await self._write(
            who,
            lambda tx: memory.write(
                tx,
                who,
                draft,
                expected_version=given.expected_version,
                if_changed=given.if_changed,
                op=given.request_id,
            ),
        )

    async def memory_read(self, who: Author, given: a.ReadArguments) -> Reply:
        """One record, several, or the history of one."""
        if given.names is not None:
            if given.scope or given.key:
                raise InvalidArgumentError("give names, or scope and key, not both")
            names = [memory.checked_name(self._limits, name) for name in given.names]
            return await self._read(
                who,
                lambda tx: reading.read_many(tx, who, self._limits, names, after=given.cursor),
            )
        if given.scope is None or given.key is None:
            raise InvalidArgumentError("give scope and key, or names")
        name = memory.plain_name(self._limits, given.scope, given.key, given.version)
        if given.history:
            return await self._read(
                who,
                lambda tx: reading.history(
                    tx, who, self._limits, name, limit=given.limit, after=given.cursor
                ),
            )
        return await self._read(
            who, lambda tx: reading.read(tx, who, self._limits, name, after=given.cursor)
        )

    async def memory_search(self, who: Author, given: a.SearchArguments) -> Reply:
        """Previews of records that match."""
        wanted = search.Search(
            query=given.query,
            scope=given.scope,
            tags=tuple(given.tags),
            agent=given.agent,
            min_confidence=given.min_confidence,
            since=given.since,
            include_superseded=given.include_superseded,
        )
        return await self._read(
            who,
            lambda tx: search.search(
                tx, who, self._limits, wanted, limit=given.limit, after=given.cursor
            ),
        )

    async def memory_outcome(self, who: Author, given: a.OutcomeArguments) -> Reply:
        """Record an outcome of a version."""
        draft = outcomes.draft_outcome(
            self._limits,
            name=memory.plain_name(self._limits, given.scope, given.key, given.version),
            outcome=given.outcome,
            note=given.note,
            packet=given.packet_id,
        )
        return await self._write(
            who, lambda tx: outcomes.report(tx, who, draft, op=given.request_id)
        )

    async def memory_stats(self, who: Author, given: a.StatsArguments) -> Reply:
        """Counts and health, and a verification where it is asked for."""
        facts = storage_facts(self._app.settings) | {"failed_writes": self._app.failed_writes}
        try:
            reply = await self._read(who, lambda tx: presence.stats(tx, who, scope=given.scope))
        except CorruptDatabaseError as fault:
            if not given.verify:
                raise
            return {**facts, "verify": verify.damaged(fault)}
        reply = {"waiting": 0, **reply, **facts}
        if given.verify:
            reply["verify"] = verify.shortened(await self._app.verify())
        return reply

    async def handoff_create(self, who: Author, given: a.CreateArguments) -> Reply:
        """Write a packet, or hand one back."""
        draft = packet_drafts.draft_packet(
            self._limits,
            summary=given.summary,
            done=given.done,
            next_steps=given.next,
            open_questions=given.open,
            pins=given.pins,
            to=given.to,
            details=given.details,
            priority=given.priority,
            expires_in=given.expires_in,
            in_reply_to=given.in_reply_to,
            status=given.status,
            token=given.token,
            workspace=await self._workspace(),
        )
        return await self._write(
            who, lambda tx: handoff.create(tx, who, draft, op=given.request_id)
        )

    async def handoff_pickup(self, who: Author, given: a.PickupArguments) -> Reply:
        """Claim what waits, or look at it."""
        here = await self._workspace()
        if given.peek:
            reply = await self._read(
                who,
                lambda tx: handoff.peek(
                    tx, who, self._limits, packet_id=given.packet_id, is_dead=is_dead, here=here
                ),
            )
        else:
            reply = await self._write(
                who,
                lambda tx: handoff.pickup(
                    tx,
                    who,
                    self._limits,
                    packet_id=given.packet_id,
                    read_back=given.read_back,
                    token=given.token,
                    is_dead=is_dead,
                    here=here,
                ),
            )
        return {"waiting": 0, **reply}

    async def _workspace(self) -> dict[str, Any] | None:
        return await asyncio.to_thread(workspace.state, self._app.settings.folder)

    async def _write(self, who: Author, operation: Operation[Reply]) -> Reply:
        return await self._app.write(lambda tx: handoff.with_waiting(tx, who, operation(tx)))

    async def _read(self, who: Author, operation: Operation[Reply]) -> Reply:
        return await self._app.read(lambda tx: handoff.with_waiting(tx, who, operation(tx)))


def _is_small(value: Any) -> bool:
    """Whether a value is drafted in a fraction of a millisecond."""
    try:
        return len(orjson.dumps(value)) <= _SMALL_BYTES
    except TypeError:  # refused by the draft, which says why
        return False
