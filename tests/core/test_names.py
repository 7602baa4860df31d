from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core import names
from handoff_memory.core.errors import InvalidNameError, ReservedScopeError
from handoff_memory.core.names import Name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("listing/553/assessment", Name("listing/553", "assessment")),
        ("listing/553/assessment@2", Name("listing/553", "assessment", 2)),
        ("a@b/c", Name("a@b", "c")),
        ("a@b/c@7", Name("a@b", "c", 7)),
        ("a b/c d", Name("a b", "c d")),
        ("語/鍵", Name("語", "鍵")),
    ],
)
def test_a_name_is_scope_key_and_version(text: str, name: Name) -> None:
    assert names.parse_name(text) == name
    assert str(name) == text


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("plain", "no record name"),
        ("/a", "scope has 1 to 256"),
        ("a/", "key has 1 to 128"),
        ("a//b/c", "segment ''"),
        ("a/./b/c", "segment '.'"),
        ("a/../b/c", "segment '..'"),
        ("../c", "segment '..'"),
        ("a/b@", "version number"),
        ("a/b@0", "version number"),
        ("a/b@x", "version number"),
        ("a/b@-1", "version number"),
        ("a/b@\N{ARABIC-INDIC DIGIT ONE}", "version number"),
        ("a/b@9223372036854775808", "version number"),
        ("a/b@" + "9" * 5000, "version number"),
        ("a/b@1@2", "version number"),
        (" a/b", "begins or ends with a blank"),
        ("a/b ", "begins or ends with a blank"),
        ("a\tb/c", "control character"),
        ("a/b\x00", "control character"),
        ("a/\ud800", "half a character"),
        ("s" * 257 + "/b", "this has 257"),
        ("a/" + "k" * 129, "this has 129"),
    ],
)
def test_a_broken_rule_is_named(text: str, rule: str) -> None:
    with pytest.raises(InvalidNameError, match=rule):
        names.parse_name(text)


@pytest.mark.parametrize("key", ["a/b", "a@1"])
def test_a_key_holds_neither_slash_nor_at(key: str) -> None:
    with pytest.raises(InvalidNameError, match="holds '/' or '@'"):
        names.name("a", key)


def test_the_longest_names_are_taken() -> None:
    assert names.name("s" * 256, "k" * 128) == Name("s" * 256, "k" * 128)


@given(st.text(), st.text())
def test_a_name_that_is_taken_is_normal_and_survives_its_own_text(scope: str, key: str) -> None:
    try:
        found = names.name(scope, key)
    except InvalidNameError:
        return

    assert names.parse_name(str(found)) == found
    assert unicodedata.is_normalized("NFC", str(found))


def test_case_matters() -> None:
    assert names.name("A", "b") != names.name("a", "b")


@pytest.mark.parametrize("scope", ["osiris", "osiris/x"])
def test_the_governors_scope_is_not_writable(scope: str) -> None:
    with pytest.raises(ReservedScopeError):
        names.writable(Name(scope, "k"))


@pytest.mark.parametrize("scope", ["osirisx", "a/osiris", "Osiris"])
def test_what_only_resembles_the_governors_scope_is_writable(scope: str) -> None:
    assert names.writable(Name(scope, "k")).scope == scope


@pytest.mark.parametrize(
    ("scope", "home"),
    [
        ("global/style", ""),
        ("agent/scout/notes", ""),
        ("global", "/here"),
        ("globals/x", "/here"),
        ("plan", "/here"),
    ],
)
def test_where_a_scope_lives(scope: str, home: str) -> None:
    assert names.home(scope, "/here") == home


@pytest.mark.parametrize("spelling", ["Executor", " executor ", "EXECUTOR", "\uff25xecutor"])
def test_spellings_of_one_agent_are_one_agent(spelling: str) -> None:
    assert names.agent_id(spelling) == "executor"


@given(st.text())
def test_an_agent_id_is_canonical_once_and_for_all(text: str) -> None:
    try:
        found = names.agent_id(text)
    except InvalidNameError:
        return

    assert names.agent_id(found) == found
    assert names.agent_id(text.upper().lower()) == names.agent_id(found.upper().lower())


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "x" * 129])
def test_what_is_no_agent_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidNameError, match="agent id"):
        names.agent_id(text)


@pytest.mark.parametrize("text", ["", " x", "a\x07", "t" * 65])
def test_what_is_no_tag_is_refused(text: str) -> None:
    with pytest.raises(InvalidNameError, match="tag"):
        names.tag(text)


def test_a_prefix_forgives_one_trailing_slash() -> None:
    assert names.scope_prefix("a/b/") == names.scope_prefix("a/b") == "a/b"
    with pytest.raises(InvalidNameError):
        names.scope_prefix("a/b//")
