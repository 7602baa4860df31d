from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core import cursor
from handoff_memory.core.errors import InvalidCursorError

CALL = cursor.fingerprint("search", "", "needle")


@given(st.lists(st.integers(0, 2**62 - 1), min_size=1, max_size=4))
def test_a_cursor_gives_its_position_back(position: list[int]) -> None:
    sealed = cursor.seal(CALL, *position)

    assert cursor.unseal(sealed, CALL, len(position)) == tuple(position)
    assert sealed.replace("-", "").replace("_", "").isalnum()


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursorError):
        cursor.unseal(text, CALL, 1)


@given(st.binary())
def test_any_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidCursorError):
        cursor.unseal(base64.urlsafe_b64encode(data).decode(), CALL, 1)


@pytest.mark.parametrize(
    "content",
    [
        *("5", "[]", "{}", '"ab"', "null", f'["{CALL}"]', f'["{CALL}",1,2]', f'["{CALL}",-1]'),
        *(f'["{CALL}",1.5]', f'["{CALL}",true]', f'["{CALL}","1"]', f'["{CALL}",{2**62}]'),
    ],
)
def test_a_forged_position_is_refused(content: str) -> None:
    with pytest.raises(InvalidCursorError):
        cursor.unseal(base64.urlsafe_b64encode(content.encode()).decode(), CALL, 1)


def test_a_cursor_of_another_call_is_refused() -> None:
    sealed = cursor.seal(cursor.fingerprint("search", "", "thread"), 1)

    with pytest.raises(InvalidCursorError, match="other arguments"):
        cursor.unseal(sealed, CALL, 1)


@given(st.lists(st.text() | st.none() | st.integers() | st.booleans(), max_size=3))
def test_a_fingerprint_is_the_same_for_the_same_parts(parts: list[object]) -> None:
    assert cursor.fingerprint(*parts) == cursor.fingerprint(*parts)
    assert cursor.fingerprint(*parts) != cursor.fingerprint(*parts, "more")


def test_parts_do_not_run_into_each_other() -> None:
    assert cursor.fingerprint("ab", "c") != cursor.fingerprint("a", "bc")


def test_half_a_character_has_a_fingerprint_too() -> None:
    assert cursor.fingerprint("\ud800") != cursor.fingerprint("\ud801")
