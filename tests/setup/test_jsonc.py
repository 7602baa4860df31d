from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handoff_memory.setup import jsonc

KEYS = st.text('abκ"\\/* ,{}', max_size=4)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text('a"\\/*,}{é\n', max_size=5), st.just(1.5)
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)
TRIVIA = (" ", "\n", "\t", "\r\n", "/* , } */", '// ] "\n', "/**/")
OURS = "handoff-memory"


def written(value: Any, chance: Random) -> str:
    """A text of that value, with whatever JSON with comments allows in between."""

    def gap() -> str:
        return "".join(chance.choices(TRIVIA, k=chance.randrange(3)))

    def spaced(inner: Any) -> str:
        return f"{gap()}{written(inner, chance)}{gap()}"

    if isinstance(value, dict):
        members = [
            f"{gap()}{json.dumps(key)}{gap()}:{spaced(inner)}" for key, inner in value.items()
        ]
    elif isinstance(value, list):
        members = [spaced(inner) for inner in value]
    else:
        return json.dumps(value, ensure_ascii=chance.random() < 0.5)
    trailing = f",{gap()}" if members and chance.random() < 0.3 else ""
    inside = ",".join(members) + trailing or gap()
    return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"


CHANCES = st.integers(0, 2**32).map(Random)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
DOCUMENTS = st.tuples(OBJECTS, CHANCES).map(lambda drawn: (drawn[0], written(*drawn)))


@given(DOCUMENTS)
def test_a_text_is_read_as_what_it_means(document: tuple[Any, str]) -> None:
    value, text = document

    assert jsonc.parse("\ufeff// [\n" + text + " /* } */\n") == value


@given(DOCUMENTS, VALUES)
def test_a_member_is_put_and_nothing_else_is_touched(document: tuple[Any, str], new: Any) -> None:
    value, text = document

    edited = jsonc.put(text, (OURS,), new)

    assert jsonc.parse(edited) == {**value, OURS: new}
    assert is_subsequence(tidy(text, value), edited)
    assert jsonc.put(edited, (OURS,), new) == edited


@given(DOCUMENTS, VALUES)
@example(({}, "{ // note\n}"), 1)
@example(({}, "{ /* a */ }"), {"b": 1})
@example(({"a": 1}, '{"a": 1 // note\n}'), 1)
@example(({"a": 1}, '{"a": 1,}'), 1)
def test_what_was_put_can_be_taken_out_again(document: tuple[Any, str], new: Any) -> None:
    value, text = document

    restored = jsonc.drop(jsonc.put(text, (OURS,), new), (OURS,))

    assert restored == tidy(text, value)


@given(DOCUMENTS, VALUES, st.data())
def test_taking_a_member_out_leaves_the_others(
    document: tuple[Any, str], new: Any, data: st.DataObject
) -> None:
    value, text = document
    if not value:
        return
    key = data.draw(st.sampled_from(sorted(value)))

    edited = jsonc.drop(text, (key,))

    assert jsonc.parse(edited) == {name: old for name, old in value.items() if name != key}
    assert is_subsequence(edited, text)


@given(DOCUMENTS, VALUES, VALUES)
def test_a_value_is_replaced_in_its_place(document: tuple[Any, str], old: Any, new: Any) -> None:
    value, text = document
    standing = jsonc.put(text, (OURS,), old)

    edited = jsonc.put(standing, (OURS,), new)

    assert jsonc.parse(edited) == {**value, OURS: new}
    assert jsonc.drop(edited, (OURS,)) == jsonc.drop(standing, (OURS,))


@given(st.lists(VALUES, max_size=4), VALUES, CHANCES)
def test_an_element_is_appended_and_taken_out(values: list[Any], new: Any, chance: Random) -> None:
    text = '{"a": ' + written(values, chance) + "}"

    edited = jsonc.put(text, ("a", len(values)), new)

    assert jsonc.parse(edited) == {"a": [*values, new]}
    assert jsonc.parse(jsonc.drop(edited, ("a", len(values)))) == {"a": values}


def test_a_file_keeps_its_own_hand() -> None:
    text = '{\r\n\t// mine\r\n\t"a": {\r\n\t\t"b": [1, 2], // two\r\n\t},\r\n}\r\n'

    edited = jsonc.put(text, ("a", "c", "d"), {"e": "é"})

    assert edited == (
        '{\r\n\t// mine\r\n\t"a": {\r\n\t\t"b": [1, 2], // two'
        '\r\n\t\t"c": {\r\n\t\t\t"d": {\r\n\t\t\t\t"e": "é"\r\n\t\t\t}\r\n\t\t},'
        "\r\n\t},\r\n}\r\n"
    )
    assert jsonc.drop(edited, ("a", "c")) == text


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("{}\n", '{\n  "k": {\n    "x": 1\n  }\n}\n'),
        ('{"a":1}', '{"a":1, "k": {"x": 1}}'),
        ('{\n    "a": 1\n}', '{\n    "a": 1,\n    "k": {\n        "x": 1\n    }\n}'),
        ('\ufeff{\n "a": 1\n}', '\ufeff{\n "a": 1,\n "k": {\n  "x": 1\n }\n}'),
    ],
)
def test_an_inserted_member_looks_like_the_others(text: str, edited: str) -> None:
    assert jsonc.put(text, ("k",), {"x": 1}) == edited


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("{\n", 2),
        ('{"a": 1\n"b": 2}', 2),
        ("{'a': 1}", 1),
        ("{\n\n  a: 1}", 3),
        ('{"a": tru}', 1),
        ('{"a": truer}', 1),
        ('{"a": }', 1),
        ('{"a" 1}', 1),
        ('{"a": "\\x"}', 1),
        ("{} {}", 1),
        ("/* {}", 1),
        ("[" * 300, 1),
        ('{"a": [,]}', 1),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(jsonc.JsoncError) as caught:
        jsonc.parse(text)

    assert caught.value.line == line


@pytest.mark.parametrize("text", ["[]", "1", '{"a": null}', '{"a": 1}', '{"a": []}'])
def test_a_member_goes_into_objects_only(text: str) -> None:
    with pytest.raises(jsonc.JsoncError, match="is no object"):
        jsonc.put(text, ("a", "b"), 1)


def test_of_two_members_of_one_name_the_last_counts() -> None:
    text = '{"a": 1, "a": 2}'

    assert jsonc.find(text, ("a",)) == 2
    assert jsonc.put(text, ("a",), 3) == '{"a": 1, "a": 3}'


@pytest.mark.parametrize("path", [("b",), ("b", "c"), ("a", "b", "c"), ("l", 3)])
def test_where_nothing_is_nothing_is_found_or_taken_out(path: tuple[str | int, ...]) -> None:
    text = '{"a": {}, "l": [1]}'

    assert jsonc.find(text, path) is None
    assert jsonc.drop(text, path) == text


def tidy(text: str, value: Any) -> str:
    """The text; blanks that are all that an object holds are not worth keeping."""
    return text if value else re.sub(r"{\s+}", "{}", text)


def is_subsequence(small: str, large: str) -> bool:
    rest = iter(large)
    return all(char in rest for char in small)
