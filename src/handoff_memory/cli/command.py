"""How every verb begins and ends: shared flags, an open memory, errors, exit status.

Exit status 0: done. 1: a finding, such as a broken chain. 2: could not run.
"""

from __future__ import annotations

import functools
import getpass
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click

from handoff_memory.app import Local, open_local
from handoff_memory.cli import output
from handoff_memory.cli.rendering import clean
from handoff_memory.core.author import Author
from handoff_memory.core.errors import InvalidArgumentError, MemoryFault
from handoff_memory.services import handoff, presence
from handoff_memory.services.faults import error_reply
from handoff_memory.services.limits import Limits
from handoff_memory.services.writing import Reply
from handoff_memory.settings import read_settings

C = TypeVar("C", bound=click.Command)
Operation = Callable[[Any], Reply]

_FLAGS: Final = "handoff_memory.flags"
_WHOLE: Final = 1 << 40  # bytes: a person's terminal holds more than an agent's context
_INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True)
class Call:
    """One run of a verb.

    Attributes:
        memory: The memory, not opened before it is needed.
        who: Whose name the verb acts in.
        as_json: Whether to print the reply instead of text.
    """

    memory: Local
    who: Author
    as_json: bool

    @property
    def limits(self) -> Limits:
        """The limits in force, but for the ceiling of a reply."""
        return self.memory.settings.limits._replace(reply_bytes=_WHOLE)

    def read(self, operation: Operation) -> Reply:
        """What the tool of the same operation replies."""
        return self.memory.read(lambda tx: handoff.with_waiting(tx, self.who, operation(tx)))

    def write(self, operation: Operation) -> Reply:
        """What the tool of the same operation replies; the command's session is over with it."""

        def whole(tx: Any) -> Reply:
            reply = handoff.with_waiting(tx, self.who, operation(tx))
            presence.leave(tx, self.who)
            return reply

        return self.memory.write(whole)

    def show(self, reply: Reply, text: Callable[[Reply], Iterable[str]]) -> None:
        """Print a reply."""
        if self.as_json:
            output.print_json(reply)
            return
        output.print_lines(text(reply))
        if kinds := reply.get("redacted"):
            output.print_lines([f"redacted before it was stored: {', '.join(kinds)}"])


class Edge(click.Command):
    """A command whose errors are told in one way, and never as a traceback."""

    def main(  # type: ignore[explicit-override, override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run, and end the process."""
        given = list(sys.argv[1:] if args is None else args)
        output.make_streams_whole()
        try:
            status = super().main(given, prog_name, **{**extra, "standalone_mode": False})
        except click.Abort:
            status = _INTERRUPTED
        except Exception as error:  # noqa: BLE001 - the process's outermost edge
            status = _told(error, as_json="--json" in given)
        sys.exit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:  # type: ignore[explicit-override]
        """Run; a reader that has gone away, such as `head`, is no error."""
        try:
            status = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            output.give_up_stdout()
            return 0
        return status


class Number(click.ParamType[int]):
    """A whole number from a lower bound to what the database can hold."""

    name = "number"

    def __init__(self, low: int, high: int = 2**62) -> None:
        self._low, self._high = low, high

    def convert(  # type: ignore[explicit-override]
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """The number."""
        text = str(value)
        is_number = text.isascii() and text.isdigit() and len(text) < 20
        if not is_number or not self._low <= int(text) <= self._high:
            self.fail(f"{text!r} is no whole number from {self._low} to {self._high}", param, ctx)
        return int(text)


def verb(name: str, *, examples: Sequence[str]) -> Callable[[Callable[..., int | None]], Edge]:
    """Make a function of a `Call` and its options a command; it returns the exit status."""

    def decorate(function: Callable[..., int | None]) -> Edge:
        @functools.wraps(function)
        def run(*, as_json: bool = False, **given: Any) -> int | None:
            settings = read_settings(flags={**flags(), "CLAUDE_CODE_SESSION_ID": ""})
            if not settings.colors:
                click.get_current_context().color = False
            with open_local(settings) as memory:
                # A session of its own: under the host's id it would overwrite a live server's.
                who = memory.identity.author(default_agent())
                return function(Call(memory, who, as_json), **given)

        epilog = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in examples)
        command = click.command(name, cls=Edge, epilog=epilog)(run)
        command.params.append(
            click.Option(
                ["--json", "as_json"], is_flag=True, help="Print the tool's reply as JSON."
            )
        )
        return shared(command)

    return decorate


def shared(command: C) -> C:
    """Add the flags that say which memory, and as whom; they win over the environment."""
    command.params += [
        _flag("--db", "MEMORY_DB", "Database file.", metavar="PATH"),
        _flag(
            "--agent",
            "AGENT_ID",
            "Act as this agent; else AGENT_ID, else cli-<login>.",
            "--agent-id",
        ),
        _flag("--project", "MEMORY_PROJECT", "Project within the home database."),
        _flag(
            "--durability",
            "MEMORY_DURABILITY",
            "full: synced before it counts; relaxed: faster.",
            metavar="[full|relaxed]",
        ),
        _flag("--no-color", "NO_COLOR", "No colours on a terminal.", is_flag=True),
    ]
    return command


def flags() -> dict[str, str]:
    """What the flags of the running command say, under the names of the environment."""
    return _kept(click.get_current_context())


def default_agent() -> str:
    """Whose name a person acts in where no AGENT_ID says it."""
    try:
        return f"cli-{getpass.getuser()}"
    except (OSError, KeyError, ImportError):  # no such user in this container
        return "cli"


def _flag(
    name: str,
    variable: str,
    text: str,
    *others: str,
    metavar: str = "NAME",
    is_flag: bool = False,
) -> click.Option:
    def keep(ctx: click.Context, _param: click.Parameter, given: str | None) -> None:
        if given is not None:
            _kept(ctx)[variable] = given

    kind: dict[str, Any] = {"flag_value": "yes"} if is_flag else {"metavar": metavar}
    return click.Option(
        [name, *others],
        type=str,
        help=text,
        expose_value=False,
        callback=keep,
        default=None,
        **kind,
    )


def _kept(ctx: click.Context) -> dict[str, str]:
    # A context shares its meta with those above it: flags before and behind the verb meet here.
    found: dict[str, str] = ctx.meta.setdefault(_FLAGS, {})
    return found


def _told(error: Exception, *, as_json: bool) -> int:
    fault = _fault_of(error)
    if as_json:
        output.print_json(error_reply(fault))
    else:
        output.print_error(clean(fault.message), clean(fault.next_step))
    return 2


def _fault_of(error: Exception) -> MemoryFault:
    if isinstance(error, MemoryFault):
        return error
    if isinstance(error, click.ClickException):
        ctx = getattr(error, "ctx", None)
        command = ctx.command_path if ctx else "handoff-memory"
        return InvalidArgumentError(
            error.format_message(), way_out=f"{command} --help shows what it takes."
        )
    if isinstance(error, UnicodeEncodeError):
        return InvalidArgumentError("an argument holds bytes that are no UTF-8")
    if isinstance(error, OSError):  # a full disk below the output, say
        return MemoryFault(f"{error}", way_out="Correct that and run it again.")
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    where = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "?"
    return MemoryFault(
        f"unexpected {type(error).__name__} at {where}",
        way_out="This is a fault of the program: report it with this line.",
    )
