"""The governor's six tools: parse, one service call, reply."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Protocol, TypeVar

import orjson

from handoff_memory import fileops, reports
from handoff_memory.action import action_of
from handoff_memory.app import governing, is_dead
from handoff_memory.core import calls
from handoff_memory.core.author import Author
from handoff_memory.core.errors import InvalidArgumentError, MemoryFault
from handoff_memory.rulebook import RuleBook
from handoff_memory.rules import redact
from handoff_memory.server import governor_arguments as g
from handoff_memory.server.tool import Tool
from handoff_memory.services import (
    checkpointing,
    declaring,
    delegating,
    handoff,
    lessons,
    observing,
    planning,
    recalling,
    refs,
)
from handoff_memory.services.limits import Governing
from handoff_memory.services.refs import PayloadDraft
from handoff_memory.services.writing import Reply
from handoff_memory.settings import Settings
from handoff_memory.store.engine import Operation, Tx

T = TypeVar("T")

_PLAN: Final = (
    "Begin a task (objective) or change it: constraints, decisions append; step n is done. Keep "
    "the sealed manifest in sight. mode: start update rewrite resume status promote."
)
_PRECHECK: Final = "Ask before a costly or risky action: rules, budget, loops."
_OBSERVE: Final = (
    "Report each action once; a big result becomes a ref (path spares echoing a file). kind: call "
    "dropped (result: a ref that left your prompt) head contract pressure."
)
_RECALL: Final = (
    "Part of a ref. op: grep range head tail outline aggregate jsonl; grep takes args.pattern."
)
_CHECKPOINT: Final = "mode: snapshot resume report, or trim compact clear (items) and undo."
_HANDOFF: Final = (
    "Delegate under a contract (tools, paths, checks, budget, deadline_s); accept a packet; with "
    "result (status, summary, evidence) hand it back."
)
_PRESSURE: Final = ("used", "window", "spent_tokens", "spent_micro_usd", "spent_s")


class Memory(Protocol):
    """What the tools ask of an application, `App` or another."""

    @property
    def settings(self) -> Settings:
        """What the environment and the command line say."""

    async def write(self, operation: Operation[T]) -> T:
        """Run an operation in a write transaction."""

    async def read(self, operation: Operation[T]) -> T:
        """Run an operation on a snapshot."""


class GovernorTools:
    """The governor's tools on one application."""

    def __init__(self, app: Memory) -> None:
        self._app = app
        self._limits = app.settings.limits
        self._book = RuleBook(app.settings.folder)

    @cached_property
    def table(self) -> Mapping[str, Tool]:
        """The tools by name, in the order in which they are listed."""
        tools = (
            Tool("osiris_plan", _PLAN, g.PlanArguments, self.osiris_plan, eager=True),
            Tool("osiris_precheck", _PRECHECK, g.PrecheckArguments, self.osiris_precheck),
            Tool("osiris_observe", _OBSERVE, g.ObserveArguments, self.osiris_observe, eager=True),
            Tool("osiris_recall", _RECALL, g.RecallArguments, self.osiris_recall, reads=True),
            Tool("osiris_checkpoint", _CHECKPOINT, g.CheckpointArguments, self.osiris_checkpoint),
            Tool("osiris_handoff", _HANDOFF, g.DelegateArguments, self.osiris_handoff),
        )
        return {tool.name: tool for tool in tools}

    @property
    def governing(self) -> Governing:
        """What the governor goes by at this moment."""
        return governing(self._app.settings, self._book.read())

    async def osiris_plan(self, who: Author, given: g.PlanArguments) -> Reply:
        """Start, change, resume or show a task."""
        asked = planning.PlanRequest(
            mode=given.mode,
            task=given.task,
            objective=given.objective,
            constraints=tuple(given.constraints),
            decisions=tuple(given.decisions),
            plan=tuple(given.plan),
            step=given.step,
            budget=given.budget,
            lesson=given.lesson,
        )
        governing = self.governing
        return await self._write(who, lambda tx: planning.plan(tx, who, governing, asked))

    async def osiris_precheck(self, who: Author, given: g.PrecheckArguments) -> Reply:
        """Whether an action may be done."""
        seen = observing.see(self._limits, given.tool, given.args, root=self._root)
        # A verdict repeats what it matched, so it may match no secret.
        clean: redact.Redacted[Any] = redact.redact_value(dict(given.args), self._limits.allowed)
        governing, book = self.governing, self._book.read()
        action = await asyncio.to_thread(
            action_of, self._app.settings.folder, who, given.tool, clean.value, seen, book
        )

        def checked(tx: Tx) -> Reply:
            return observing.precheck(
                tx,
                who,
                governing,
                book,
                action,
                seen,
                work="read" if calls.only_reads(given.tool) else "other",
                override=given.override,
                task_id=given.task,
            )

        # Only an override is logged: a question must wait for nobody.
        return await (self._write if given.override else self._read)(who, checked)

    async def osiris_observe(self, who: Author, given: g.ObserveArguments) -> Reply:
        """Log an action, or one of the other things that can be reported."""
        governing, task_id = self.governing, given.task
        if given.kind == "dropped":
            ref = _text(given.result)
            return await self._write(
                who, lambda tx: declaring.dropped(tx, who, governing, ref, task_id=task_id)
            )
        if given.kind == "pressure":
            told = _numbers(given.args)
            return await self._write(
                who,
                lambda tx: declaring.declared_pressure(tx, who, governing, told, task_id=task_id),
            )
        if given.kind in {"head", "contract"}:
            return await self._recorded(who, governing, given)
        return await self._called(who, governing, given)

    async def osiris_recall(self, who: Author, given: g.RecallArguments) -> Reply:
        """A part of a payload."""
        if given.ref.startswith("lesson:"):
            key = given.ref.removeprefix("lesson:").strip()
            return await self._app.read(lambda tx: lessons.found(tx, who, key))
        options = dict(given.args)
        after = options.pop("cursor", None)
        row, data = await self._app.read(lambda tx: recalling.payload(tx, given.ref))
        seen = await self._app.read(lambda tx: declaring.files_of(tx, who, refs.short(row)))
        reply = await asyncio.to_thread(
            recalling.answer,
            *(self._limits, row, data),
            op=given.op,
            options=options,
            after=None if after is None else _text(after),
        )
        moved = await asyncio.to_thread(self._moved, seen)
        return {**reply, "notes": [*reply.get("notes", []), *moved]} if moved else reply

    async def osiris_checkpoint(self, who: Author, given: g.CheckpointArguments) -> Reply:
        """Snapshot, resume, report, compact or undo."""
        governing, task_id = self.governing, given.task
        match given.mode:
            case "snapshot":
                return await self._write(
                    who, lambda tx: checkpointing.snapshot(tx, who, governing, task_id=task_id)
                )
            case "resume":
                asked = planning.PlanRequest(mode="resume", task=task_id)
                return await self._write(who, lambda tx: planning.plan(tx, who, governing, asked))
            case "report":
                return await self._reported(who, governing, task_id)
            case "undo":
                return await self._write(
                    who, lambda tx: checkpointing.undone(tx, who, governing, task_id=task_id)
                )
            case mode:
                session = await asyncio.to_thread(
                    checkpointing.session_of, self._limits, given.items
                )
                return await self._write(
                    who,
                    lambda tx: checkpointing.shrink(
                        tx, who, governing, mode, session, task_id=task_id
                    ),
                )

    async def osiris_handoff(self, who: Author, given: g.DelegateArguments) -> Reply:
        """Delegate, accept, or hand a delegation back with its result."""
        limits = self._limits
        if given.result:
            if given.accept is None:
                raise InvalidArgumentError("accept names the packet that the result is for")
            packet = delegating.result_draft(limits, given.accept, given.result)
            evidence = [str(item) for item in given.result.get("evidence") or ()]
            return await self._write(
                who, lambda tx: delegating.give_back(tx, who, packet, evidence)
            )
        if given.accept is not None:
            wanted = None if given.accept in {"", "next"} else given.accept
            return await self._write(
                who, lambda tx: delegating.accept(tx, who, limits, wanted, is_dead=is_dead)
            )
        if not given.objective:
            raise InvalidArgumentError("give an objective to delegate, or accept a packet")
        terms = delegating.Delegation(
            given.objective, given.to, tuple(given.inputs), given.contract
        )
        offer = delegating.draft(limits, terms)
        return await self._write(
            who, lambda tx: delegating.delegate(tx, who, limits, offer, terms.inputs)
        )

    async def _write(self, who: Author, operation: Operation[Reply]) -> Reply:
        return await self._app.write(lambda tx: handoff.with_waiting(tx, who, operation(tx)))

    async def _read(self, who: Author, operation: Operation[Reply]) -> Reply:
        return await self._app.read(lambda tx: handoff.with_waiting(tx, who, operation(tx)))

    # --- parts -----------------------------------------------------------------------------

    @property
    def _root(self) -> str:
        return str(self._app.settings.folder)

    def _moved(self, seen: Sequence[Mapping[str, Any]]) -> list[str]:
        """Of the files as they were seen, those that are not like that any more."""
        notes = []
        for file in seen:
            try:
                now = fileops.read_file(
                    file["path"], self._app.settings.roots, self._limits.payload_bytes
                )
            except MemoryFault as fault:
                notes.append(f"stale: {file['path']} cannot be read any more ({fault.code})")
            else:
                if now.sha256 != file["sha256"]:
                    notes.append(f"stale: {file['path']} has changed since; read it again")
        return notes

    async def _called(self, who: Author, governing: Governing, given: g.ObserveArguments) -> Reply:
        if not given.tool and not given.path:
            raise InvalidArgumentError("observe takes the tool that was called, or a path")
        file, data = None, None if given.result is None else _bytes(given.result)
        if given.path is not None:
            limit = self._limits.payload_bytes
            read = await asyncio.to_thread(
                fileops.read_file, given.path, self._app.settings.roots, limit
            )
            data = read.data
            file = {"path": read.path, "sha256": read.sha256, "mtime_ns": read.mtime_ns}
        seen = await asyncio.to_thread(
            observing.see,
            *(self._limits, given.tool or "read", given.args or {"path": given.path}),
            data=data,
            error=given.error,
            file=file,
            flags=given.flags,
            echoed=given.path is None and data is not None,
            root=self._root,
        )
        await self._keep_parts(seen.payload)
        return await self._write(
            who,
            lambda tx: observing.observe(
                tx, who, governing, seen, task_id=given.task, seal=given.seal
            ),
        )

    async def _keep_parts(self, payload: PayloadDraft | None) -> None:
        if payload is None or len(payload.parts) == 1:
            return
        for part in range(len(payload.parts)):
            await self._app.write(lambda tx, part=part: refs.keep_part(tx, payload, part))  # type: ignore[misc]

    async def _recorded(
        self, who: Author, governing: Governing, given: g.ObserveArguments
    ) -> Reply:
        declared = _declared(given.result) if given.kind == "contract" else []
        text = given.result if isinstance(given.result, str) else _bytes(given.result).decode()
        kind: Any = given.kind
        return await self._write(
            who,
            lambda tx: declaring.recorded(
                tx, who, governing, kind, text, declared, task_id=given.task
            ),
        )

    async def _reported(self, who: Author, governing: Governing, task_id: str | None) -> Reply:
        found = await self._app.write(
            lambda tx: checkpointing.report(tx, who, governing, task_id=task_id)
        )
        folder = self._app.settings.home / "reports"
        files = await asyncio.to_thread(reports.write, folder, found)
        kept = ("task", "calls", "edits")
        audit = found["audit"]
        return {
            **{name: found[name] for name in kept},
            "lossless": audit["lossless"],
            "externalized": audit["items_externalized"],
            "files": files,
        }


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidArgumentError("a text is needed here, such as r12")
    return value.strip()


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    return orjson.dumps(value)


def _numbers(given: Mapping[str, Any]) -> dict[str, int]:
    found = {}
    for name, value in given.items():
        if name not in _PRESSURE:
            raise InvalidArgumentError(f"pressure takes {', '.join(_PRESSURE)}; not {name!r}")
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InvalidArgumentError(f"pressure.{name} is a number from 0 on")
        found[name] = value
    if found.get("window") == 0:
        raise InvalidArgumentError("pressure.window is a number from 1 on")
    return found


def _declared(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        return []
    return [
        {
            "name": tool["name"],
            "description": str(tool.get("description", "")),
            "tokens": len(orjson.dumps(tool)) // 4,
        }
        for tool in value
        if isinstance(tool, dict) and isinstance(tool.get("name"), str)
    ]
