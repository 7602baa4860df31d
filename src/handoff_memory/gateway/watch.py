"""A guard in front of a program: opened late, and its own failure stops nobody's work.

One thread at a time may use it, the same one always: the database stays on that thread.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from handoff_memory.app import Local, open_local
from handoff_memory.core import calls
from handoff_memory.core.author import Author
from handoff_memory.core.errors import (
    DatabaseMissingError,
    InvalidNameError,
    NotFoundError,
    StorageError,
)
from handoff_memory.guard import Call, Guard, Kept, Outcome, Verdict
from handoff_memory.hooks import failing, gaps
from handoff_memory.hooks.event import CANARY, CANARY_DENIED
from handoff_memory.services import presence, tasks
from handoff_memory.settings import Settings
from handoff_memory.store.engine import Operation

if TYPE_CHECKING:
    from handoff_memory.server.tool import Tool

T = TypeVar("T")

RECALL: Final = "osiris_recall"
PATIENCE_S: Final = 2.0  # a locked database must not hold a call up for longer


class Watch:
    """What the governor says of calls, and `allow` where it cannot say anything.

    Args:
        settings: Which memory, and as whom.
        task_id: A task by name, else the one that the agent works at.
        announced: The agent where no setting names it.
        recall: What brings a ref back: a tool's name or a command.
        steps_back: The session is this process's own: it is no second mind of its agent.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        task_id: str | None = None,
        announced: str | None = None,
        recall: str = RECALL,
        steps_back: bool = False,
    ) -> None:
        self._settings = settings._replace(deadline_s=min(settings.deadline_s, PATIENCE_S))
        self._task_id, self._announced, self._recall_by = task_id, announced, recall
        self._steps_back = steps_back
        self._opened = ExitStack()

    def prepare(self) -> None:
        """Import ahead what the first list of tools waits for: 0.3 s."""
        with suppress(Exception):  # who asks for it will see
            _ = self._recall

    def check_task(self) -> None:
        """Refuse a task's name that means none; where that cannot be told, calls will say so.

        Raises:
            NotFoundError: There is no such task.
        """
        if self._task_id is None:
            return
        try:
            self._local.read(lambda tx: tasks.get(tx, self._who, self._task_id))
        except DatabaseMissingError as error:
            raise NotFoundError(f"no task {self._task_id}: {error.message}") from error
        except StorageError:
            return

    def meet(self, announced: str | None) -> None:
        """Learn the name by which the client introduces itself; the first one counts."""
        self._announced = self._announced or announced

    def before(self, call: Call) -> Verdict:
        """Whether a call may be made; one that cannot be judged may, unless a rule fails closed."""
        if CANARY in {call.tool, calls.command_text(call.args)}:
            return Verdict("block", CANARY_DENIED)
        try:
            return self._guard.before(call)
        except Exception as error:  # noqa: BLE001 - whatever it is, the call goes on
            why = self._failed(f"{call.tool} was not judged", error)
            refused = None
            with suppress(Exception):
                refused = failing.unjudged(
                    self._settings.folder, self._who, call.tool, call.args, why
                )
            return Verdict("allow") if refused is None else Verdict("block", refused)

    def after(self, call: Call, outcome: Outcome) -> Kept:
        """What takes the place of a call's output, and what is to be said beside it."""
        kept = Kept()
        try:
            kept = self._guard.after(call, outcome)
            if self._steps_back:
                self._local.write(lambda tx: presence.leave(tx, self._who))
            gaps.settle(
                self._settings.home, self._settings.database, self._who.agent, self._guard.gap
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, the output passes
            self._failed(f"{call.tool} was not observed", error)
        return kept

    def recall_tool(self, name: str) -> dict[str, Any]:
        """The recall tool as it is listed."""
        return self._recall.described(name=name)

    def recall(self, given: dict[str, Any]) -> dict[str, Any]:
        """The result of a call of the recall tool, as the server gives it."""
        from handoff_memory.server import replies  # noqa: PLC0415 - 0.3 s, for who recalls
        from handoff_memory.server.arguments import parsed  # noqa: PLC0415 - likewise

        tool = self._recall
        try:
            arguments = parsed(tool.arguments, given)
            return replies.result(asyncio.run(_called(tool, self._who, arguments)))
        except Exception as error:  # noqa: BLE001 - nothing may escape a tool
            return replies.failure(error)

    def close(self) -> None:
        """Close the memory."""
        self._opened.close()

    def _failed(self, what: str, error: Exception) -> str:
        """Say on stderr what went wrong, and keep it until it can be journaled."""
        why = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
        sys.stderr.write(f"handoff-memory: {what}: {why}\n")
        with suppress(Exception):
            agent = self._who.agent
            gaps.note(self._settings.home, self._settings.database, agent, f"{what}: {why}")
        return why

    @cached_property
    def _local(self) -> Local:
        return self._opened.enter_context(open_local(self._settings))

    @cached_property
    def _who(self) -> Author:
        try:
            return self._local.identity.author(self._announced)
        except InvalidNameError:  # a name that no author can have
            return self._local.identity.author()

    @cached_property
    def _guard(self) -> Guard:
        return Guard(self._local, self._who, task_id=self._task_id, recall=self._recall_by)

    @cached_property
    def _recall(self) -> Tool:
        # The models of arguments cost a fifth of a second.
        from handoff_memory.server.governor_tools import GovernorTools  # noqa: PLC0415

        return GovernorTools(_Here(self._local)).table[RECALL]


class _Here:
    """The memory as the server's tools ask for it, without leaving this thread."""

    def __init__(self, local: Local) -> None:
        self.settings = local.settings
        self._local = local

    async def read(self, operation: Operation[T]) -> T:
        return self._local.read(operation)

    async def write(self, operation: Operation[T]) -> T:
        return self._local.write(operation)


async def _called(tool: Tool, who: Author, arguments: Any) -> dict[str, Any]:
    return await tool.call(who, arguments)
