"""How a hook ends in time, whatever it waits for."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Timer
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
        self._timers: tuple[Timer, ...] = ()
        self.move(seconds)

    def move(self, seconds: float) -> None:
        """Count anew, from now."""
        for timer in self._timers:
            timer.cancel()
        self._timers = (Timer(seconds * _SHARE, self._late), Timer(seconds, self._end))
        for timer in self._timers:
            timer.daemon = True
            timer.start()

    def _end(self) -> None:
        try:
            self._silent()
        finally:
            os._exit(0)
