"""How a hook ends in time, whatever it waits for."""

from __future__ import annotations

import os
from _thread import allocate_lock, start_new_thread  # `threading` and its timers cost 2 ms
from collections.abc import Callable
from time import monotonic
from typing import Final

# Of the deadline: the part after which the answer for a failure is given. The rest is for that.
_SHARE: Final = 0.75


class Deadline:
    """Ends the process with status 0 when its time is up.

    Args:
        seconds: From now.
        late: Called shortly before, to answer for the work that is not done; it may hang.
        silent: Called at the end, to answer that there is no answer.
    """

    def __init__(
        self, seconds: float, *, late: Callable[[], object], silent: Callable[[], object]
    ) -> None:
        self._late, self._silent = late, silent
        self._moved = allocate_lock()  # free once the watching thread is to look anew
        self._late_at = self._end_at = 0.0
        self.move(seconds)
        start_new_thread(self._watch, ())

    def move(self, seconds: float) -> None:
        """Count anew, from now."""
        now = monotonic()
        self._late_at, self._end_at = now + seconds * _SHARE, now + seconds
        if self._moved.locked():
            self._moved.release()

    def _watch(self) -> None:
        while (left := self._late_at - monotonic()) > 0:
            self._moved.acquire(timeout=left)
        start_new_thread(self._late, ())
        while (left := self._end_at - monotonic()) > 0:
            self._moved.acquire(timeout=left)
        try:
            self._silent()
        finally:
            os._exit(0)
