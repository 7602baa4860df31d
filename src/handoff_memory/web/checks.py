"""Verifications and audits that a person asked for here: one at a time, each on its own reader."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from handoff_memory.app import View
from handoff_memory.core import times
from handoff_memory.core.author import Author
from handoff_memory.core.errors import MemoryFault
from handoff_memory.services import audit
from handoff_memory.services.faults import error_reply
from handoff_memory.services.writing import Reply

_KEPT: Final = 20
Progress = Callable[[int, int], None]


class _StoppedError(Exception):
    """The dashboard ends."""


@dataclass(slots=True)
class Check:
    """One run, as far as it has come.

    Attributes:
        task: The task that is audited; None where the whole memory is verified.
        started_at: ISO time.
        done: How many journal lines or payloads are checked.
        total: Of how many.
        report: What was found, once it is over.
        fault: Why it could not run.
        ended_at: ISO time.
    """

    task: str | None
    started_at: str
    done: int = 0
    total: int = 0
    report: Reply | None = None
    fault: Reply | None = None
    ended_at: str | None = None

    @property
    def is_running(self) -> bool:
        """Whether it is not over."""
        return self.ended_at is None


class Checks:
    """What was checked since the dashboard began.

    Attributes:
        revision: Grows whenever a run has come further.
    """

    def __init__(self, view: View, who: Author) -> None:
        self.revision = 0
        self._view = view
        self._who = who
        self._latest: dict[str | None, Check] = {}
        self._running: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def verification(self) -> Check | None:
        """The latest verification."""
        return self._latest.get(None)

    def audit(self, task: str) -> Check | None:
        """The latest audit of a task."""
        return self._latest.get(task)

    @property
    def audits(self) -> list[Check]:
        """The latest audits, newest first."""
        return [check for task, check in reversed(self._latest.items()) if task is not None]

    def start(self, task: str | None) -> None:
        """Begin a verification, or the audit of a task, unless one is running."""
        if self._running is not None and not self._running.done():
            return
        check = Check(task, times.iso(self._view.now()))
        self._latest.pop(task, None)
        self._latest[task] = check
        if len(self._latest) > _KEPT:
            del self._latest[next(key for key in self._latest if key is not None)]
        self._running = asyncio.create_task(self._run(check), name="check")

    async def finish(self) -> None:
        """Wait for what runs."""
        if self._running is not None:
            await self._running

    async def stop(self) -> None:
        """End what runs."""
        self._stopping = True
        await self.finish()

    async def _run(self, check: Check) -> None:
        def progress(done: int, total: int) -> None:
            if self._stopping:
                raise _StoppedError
            check.done, check.total = done, total
            self.revision += 1

        try:
            check.report = await self._reported(check, progress)
        except MemoryFault as fault:
            check.fault = error_reply(fault)
        except _StoppedError:
            return
        finally:
            check.ended_at = times.iso(self._view.now())
            self.revision += 1

    def _reported(self, check: Check, progress: Progress) -> Awaitable[Reply]:
        task = check.task
        if task is None:
            return self._view.verify(progress)
        return self._view.read_apart(lambda tx: audit.audit(tx, self._who, task, progress=progress))
