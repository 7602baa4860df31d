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
    """

    def __init__(self, seconds: float, late: Callable[[], None]) -> None:
        self._late = late
        self._timers: tuple[Timer, ...] = ()
        self.move(seconds)

    def move(self, seconds: float) -> None:
        """Count anew, from now."""
        for timer in self._timers:
            timer.cancel()
        self._timers = (Timer(seconds * _SHARE, self._late), Timer(seconds, os._exit, (0,)))
        for timer in self._timers:
            timer.daemon = True
            timer.start()
