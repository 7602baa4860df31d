"""Another program as a child: started, told the signals that come, ended, and its exit status.

It stays in the process group of its parent: whoever ends the whole group still reaches it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any, Final

REFUSED: Final = 125
NOT_STARTED: Final = 126
NOT_FOUND: Final = 127
_SIGNALED: Final = 128
_SIGNALS: Final = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGBREAK")
_GIVING_UP_S: Final = 1.0


class NotStartedError(Exception):
    """A program that cannot be run, and the exit status that shells have for it."""

    def __init__(self, why: str, status: int) -> None:
        super().__init__(why)
        self.status = status


def start(
    command: Sequence[str] | str,
    *,
    stdin: int | IO[bytes] | None = None,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program, or a text of the shell; a stream that is not given is this process's own.

    Raises:
        NotStartedError: There is no such program, or it is none.
    """
    is_text = isinstance(command, str)
    try:
        return subprocess.Popen(  # noqa: S603 - running what was asked for is the purpose
            command if is_text else [_found(command[0]), *command[1:]],
            shell=is_text,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
        )
    except FileNotFoundError as error:
        raise NotStartedError(f"there is no program {_name(command)!r}", NOT_FOUND) from error
    except (OSError, ValueError) as error:
        raise NotStartedError(f"{_name(command)!r}: {error}", NOT_STARTED) from error


def forward_signals(child: subprocess.Popen[bytes]) -> None:
    """Hand the signals that would end this process on to the child, whose end is waited for."""

    def forward(number: int, _frame: Any) -> None:
        if number in {signal.SIGINT, getattr(signal, "SIGQUIT", None)} and _typed():
            return
        with suppress(OSError, ValueError):  # gone, or a signal that Windows cannot send
            child.send_signal(number)

    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, forward)


def end(child: subprocess.Popen[bytes], patience_s: float) -> None:
    """Wait for the child that long, then ask it to end, then end it."""
    for ask in (child.terminate, lambda: _kill(child)):
        try:
            child.wait(patience_s)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                ask()
            patience_s = _GIVING_UP_S


def status_of(child: subprocess.Popen[bytes]) -> int:
    """Wait for the child; its exit status, 128 and the signal's number where one ended it."""
    status = child.wait()
    return status if status >= 0 else _SIGNALED - status


def _found(program: str) -> str:
    # Windows starts only .exe by a bare name; npx, say, is a .cmd.
    return shutil.which(program) or program


def _name(command: Sequence[str] | str) -> str:
    return command if isinstance(command, str) else command[0]


def _typed() -> bool:
    """Whether a terminal's key sent the signal, to the whole group and so to the child too."""
    if sys.platform == "win32":
        return True
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _kill(child: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":  # there a program such as npx.cmd does not take its own along
        subprocess.run(  # noqa: S603 - fixed program and arguments
            ["taskkill", "/T", "/F", "/PID", str(child.pid)],  # noqa: S607 - Windows' own
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    child.kill()
