"""What comes in over a descriptor, a chunk for each that is asked for, given to the event loop.

A pipe or socket is watched by the loop itself: a thread between them costs a wake-up a message.
Anything else is read by a thread: a file cannot be watched, nor anything on Windows, and what
arrives at a terminal another process may take first, so that reading it would block.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

CHUNK_BYTES: Final = 64 << 10

Deliver = Callable[[bytes], None]


class Chunks(Protocol):
    """A descriptor that is read on the event loop's behalf."""

    def ask(self) -> None:
        """Have one more chunk delivered once there is one; an empty one is the end."""


def chunks(fd: int, deliver: Deliver) -> Chunks:
    """The chunks of a descriptor, to be called on the loop that `deliver` is called on."""
    mode = os.fstat(fd).st_mode
    if sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return _Watched(fd, deliver)
    return _Threaded(fd, deliver)


class _Watched:
    def __init__(self, fd: int, deliver: Deliver) -> None:
        self._fd, self._deliver, self._loop = fd, deliver, asyncio.get_running_loop()
        self._is_asked = self._is_watched = False

    def ask(self) -> None:
        self._is_asked = True
        if not self._is_watched:
            self._is_watched = True
            self._loop.add_reader(self._fd, self._arrived)

    def _arrived(self) -> None:
        self._is_asked = False
        self._deliver(_read(self._fd))
        if not self._is_asked:
            self._is_watched = False
            self._loop.remove_reader(self._fd)


class _Threaded:
    def __init__(self, fd: int, deliver: Deliver) -> None:
        self._fd, self._deliver, self._loop = fd, deliver, asyncio.get_running_loop()
        self._asked = threading.Event()
        threading.Thread(target=self._run, name="stdin", daemon=True).start()

    def ask(self) -> None:
        self._asked.set()

    def _run(self) -> None:
        chunk = b"none yet"
        with suppress(RuntimeError):  # the loop is closed: nobody waits for this thread
            while chunk:
                self._asked.wait()
                self._asked.clear()
                chunk = _read(self._fd)
                self._loop.call_soon_threadsafe(self._deliver, chunk)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, CHUNK_BYTES)
    except OSError:  # a terminal that hung up, a pipe Windows calls broken
        return b""
