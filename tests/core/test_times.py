from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core import times
from handoff_memory.core.errors import InvalidArgumentError

NOW = 1_796_054_591_042_999


def test_a_time_is_shown_in_iso_8601_utc_with_milliseconds() -> None:
    assert times.iso(NOW) == "2026-11-30T16:03:11.042Z"
    assert times.iso(0) == "1970-01-01T00:00:00.000Z"


@given(st.integers(0, 250 * 365 * 86_400 * 10**6))
def test_a_shown_time_is_read_back_to_the_millisecond(at: int) -> None:
    assert times.parse(times.iso(at), NOW) == at // 1000 * 1000


@pytest.mark.parametrize(
    ("age", "seconds"),
    [("1s", 1), ("90m", 5400), (" 2h ", 7200), ("3 d", 259_200), ("2w", 1_209_600)],
)
def test_an_age_is_counted_back_from_now(age: str, seconds: int) -> None:
    assert times.parse(age, NOW) == NOW - seconds * times.SECOND


@pytest.mark.parametrize(
    "text",
    ["2026-11-30T16:00:00Z", "2026-11-30T16:00", "2026-11-30T17:00:00+01:00", "2026-11-30 16:00"],
)
def test_a_time_without_a_zone_is_utc(text: str) -> None:
    at = datetime(2026, 11, 30, 16, tzinfo=UTC)

    assert times.parse(text, NOW) == int(at.timestamp()) * times.SECOND


@pytest.mark.parametrize("text", ["", "yesterday", "2h ago", "-2h", "2026-13-01", "12345678h"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="2026-11-30T16:00:00Z"):
        times.parse(text, NOW)


@given(st.text())
def test_any_text_is_a_time_or_refused(text: str) -> None:
    try:
        found = times.parse(text, NOW)
    except InvalidArgumentError:
        return

    assert isinstance(found, int)
