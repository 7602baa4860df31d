from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core import canonical
from handoff_memory.core.errors import InvalidValueError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
        ({"é": 1, "z": 2, "🙂": 3, "\uffff": 4}, '{"z":2,"é":1,"\uffff":4,"🙂":3}'),
        ([1, 1.0, -0.0], "[1,1.0,-0.0]"),
        ('a"\\\b\n\x01\x7f/', '"a\\"\\\\\\b\\n\\u0001\x7f/"'),
        (2**64 - 1, "18446744073709551615"),
        (-(2**63), "-9223372036854775808"),
    ],
)
def test_a_value_has_one_text(value: Any, text: str) -> None:
    assert canonical.encode(value).decode() == text


@given(JSON)
def test_what_is_encoded_decodes_to_the_same_bytes_again(value: Any) -> None:
    data = canonical.encode(value)

    assert canonical.decode(data) == value
    assert canonical.encode(canonical.decode(data)) == data


@given(st.dictionaries(st.text(), st.integers(0, 9), min_size=2))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    turned = dict(reversed(value.items()))

    assert canonical.encode(turned) == canonical.encode(value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "NaN"),
        ([float("inf")], "Infinity"),
        ("\ud83d", "half of a surrogate pair"),
        ({"\ude42": 1}, "half of a surrogate pair"),
        (2**64, "64 bits"),
        (-(2**63) - 1, "64 bits"),
        ({1: 1}, "no JSON"),
        ({"a"}, "no JSON"),
        (b"bytes", "no JSON"),
    ],
)
def test_what_is_no_json_says_why(value: Any, said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        canonical.encode(value)


def test_nesting_ends_at_a_hundred_levels() -> None:
    value: Any = 0
    for _ in range(99):
        value = [value]
    assert canonical.encode(value) == b"[" * 99 + b"0" + b"]" * 99

    for deeper in ([value], {"a": value}, [[value]], [[], value]):
        with pytest.raises(InvalidValueError, match="deeper than 100"):
            canonical.encode(deeper)
    assert canonical.encode("[" * 200) == b'"' + b"[" * 200 + b'"'


@given(JSON)
def test_text_of_a_person_is_parsed_as_json(value: Any) -> None:
    assert canonical.parse(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "b": 2, "a": 3}', "'a' stands twice"),
        ('[{"x": {"a": 1, "a": 1}}]', "'a' stands twice"),
        ("NaN", "NaN"),
        ("[-Infinity]", "-Infinity"),
        ("{", "no JSON"),
        ("", "no JSON"),
        ("[" * 100_000, "deeper"),
        ("9" * 5000, "no JSON"),
    ],
)
def test_text_that_is_not_quite_json_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        canonical.parse(text)
