"""Times: integer microseconds since 1970 UTC inside, ISO 8601 UTC in replies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from handoff_memory.core import lazy
from handoff_memory.core.errors import InvalidArgumentError

SECOND = 1_000_000
_MINUTE = 60 * SECOND
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AGE = lazy.pattern(r"(\d{1,6})\s*([smhdw])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def iso(at_us: int) -> str:
    """ISO 8601 UTC with milliseconds, such as `2026-11-30T16:03:11.042Z`."""
    minutes, us = divmod(at_us, _MINUTE)
    second, us = divmod(us, SECOND)
    return f"{_minute(minutes)}:{second:02}.{us // 1000:03}Z"


@lru_cache(256)
def _minute(minutes: int) -> str:
    return (_EPOCH + timedelta(minutes=minutes)).isoformat("T", "minutes").removesuffix("+00:00")


def parse(text: str, now_us: int) -> int:
    """Microseconds of an ISO 8601 time (UTC where no zone is named) or of an age such as `2h`.

    Raises:
        InvalidArgumentError: The text is neither.
    """
    if age := _AGE.fullmatch(text.strip()):
        return now_us - int(age[1]) * _UNIT_S[age[2]] * SECOND
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InvalidArgumentError(
            f"{text!r} is no time: use ISO 8601 such as 2026-11-30T16:00:00Z, or an age such as 2h"
        ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)
