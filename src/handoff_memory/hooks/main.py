"""`handoff-memory hook`: one event of a client in, one answer out, always with exit status 0.

Whatever fails here, the client goes on as if there were no hook, and a gap is journaled; only what
a rule with `fail_closed` may be about is refused.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

import orjson

from handoff_memory.hooks.deadline import Deadline
from handoff_memory.hooks.event import NOTHING, Answer, Event, Kind
from handoff_memory.hooks.options import Options, parse

if TYPE_CHECKING:
    from handoff_memory.settings import Settings

_MAX_BYTES: Final = 64 << 20
_MAX_SESSION: Final = 128
_SECONDS: Final = 1.5
# What nobody waits for may take twice as long.
_PATIENT: Final[tuple[Kind, ...]] = ("session-start", "after-tool", "before-compact", "turn-end")
# Of the deadline: how long the database may be waited for.
_DATABASE_SHARE: Final = 0.5


class Adapter(Protocol):
    """A client's module: how its events are read, and answers written."""

    SILENCE: dict[str, Any] | None

    def read(self, kind: Kind, payload: Mapping[str, Any]) -> Event | None: ...  # noqa: D102
    def write(self, event: Event, answer: Answer) -> dict[str, Any] | None: ...  # noqa: D102


def main(argv: Sequence[str]) -> NoReturn:
    """Answer the event on stdin; never returns, and never with a status other than 0."""
    try:
        options = parse(argv)
        if isinstance(options, str):
            (sys.stderr if options.startswith("error") else sys.stdout).write(options)
        else:
            Hook(options).run()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except BaseException as error:  # noqa: BLE001 - the outermost edge
        _complain(f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)  # nothing is left to be torn down: 5 ms


class Hook:
    """One run of a hook."""

    def __init__(self, options: Options) -> None:
        self._options = options
        name = options.client.replace("-", "_")
        self._adapter: Adapter = import_module(f"handoff_memory.hooks.{name}")
        self._event: Event | None = None
        self._once = allocate_lock()
        self._scale = 2 if options.kind in _PATIENT else 1
        self._deadline = Deadline(
            _SECONDS * self._scale, late=self._too_late, silent=lambda: self._give(NOTHING)
        )

    def run(self) -> None:
        """Read the event, tell the governor, answer."""
        try:
            self._run()
        except Exception as error:  # noqa: BLE001 - the outermost edge
            self._failed(getattr(error, "message", None) or f"{type(error).__name__}: {error}")

    def _run(self) -> None:
        self._event = event = self._adapter.read(self._options.kind, _payload())
        if event is None:
            self._give(NOTHING)
            return
        from handoff_memory.hooks import acting  # noqa: PLC0415 - of no use to another's event

        if (known := acting.answered_at_once(event)) is not None:
            self._give(known)
            return
        self._governed(event)

    def _governed(self, event: Event) -> None:
        from handoff_memory.app import open_local  # noqa: PLC0415
        from handoff_memory.guard import Guard  # noqa: PLC0415
        from handoff_memory.hooks import acting, gaps, persisted, rollout  # noqa: PLC0415

        settings = self._settings(event)
        with open_local(settings) as local:
            # This process ends at once; the session goes on.
            who = local.identity.author(self._options.client)._replace(pid=None)
            guard = Guard(local, who)
            self._give(acting.act(guard, rollout.completed(persisted.completed(event))))
            gaps.settle(settings.home, settings.database, who.agent, guard.gap)

    def _settings(self, event: Event) -> Settings:
        """The settings of this hook; the deadline counts by them from now on."""
        from handoff_memory.settings import read_settings  # noqa: PLC0415

        given = read_settings(flags=self._options.flags())
        seconds = given.hook_deadline_ms / 1000 * self._scale
        self._deadline.move(seconds)
        return given._replace(
            folder=self._options.folder(event) or given.folder,
            session=event.session[:_MAX_SESSION] if event.session else given.session,
            deadline_s=seconds * _DATABASE_SHARE,
        )

    def _give(self, answer: Answer) -> bool:
        """Print the answer, unless there is one already."""
        event = self._event
        told = self._adapter.SILENCE if event is None else self._adapter.write(event, answer)
        line = b"" if told is None else orjson.dumps(told)
        if not self._once.acquire(blocking=False):
            return False
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        return True

    def _failed(self, why: str) -> bool:
        """Answer for what is not done; False where an answer was given before."""
        from handoff_memory.hooks import failing  # noqa: PLC0415 - rarely needed

        refused = None
        with suppress(Exception):
            refused = failing.refusal(self._options, self._event, why)
        if not self._give(Answer(deny=refused)):
            return False
        with suppress(Exception):
            failing.note(self._options, self._event, why)
        _complain(why)
        return True

    def _too_late(self) -> None:
        with suppress(BaseException):
            if not self._failed("it took too long"):
                return  # it may still be on its way: the end of the deadline is its own
        os._exit(0)


def _payload() -> dict[str, Any]:
    """The client's JSON object.

    Raises:
        ValueError: There is something else on stdin.
    """
    data = sys.stdin.buffer.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"the event is larger than {_MAX_BYTES} bytes")
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        from handoff_memory.hooks import lenient  # noqa: PLC0415 - rarely needed

        found = lenient.loads(data)
    if not isinstance(found, dict):
        raise ValueError("the event is no JSON object")  # noqa: TRY004 - it is a value of the client's
    return found


def _complain(why: str) -> None:
    with suppress(BaseException):
        sys.stderr.write(f"handoff-memory hook: {why}\n")
        sys.stderr.flush()
