"""Whether work grows in step with its input: a pattern that backtracks takes the square of it."""

import time
from collections.abc import Callable

_UNNOTICED_S = 0.03


def is_in_step(work: Callable[[str], object], text: Callable[[int], str], size: int) -> bool:
    """Whether four times the text takes far less than sixteen times as long."""
    large = _least_s(work, text(size))
    return large < _UNNOTICED_S or large < 9 * _least_s(work, text(size // 4))


def _least_s(work: Callable[[str], object], text: str) -> float:
    taken = []
    for _ in range(3):
        began = time.thread_time()
        work(text)
        taken.append(time.thread_time() - began)
        if taken[-1] > 1:
            break
    return min(taken)
