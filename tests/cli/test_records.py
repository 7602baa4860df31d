from __future__ import annotations

import json
from pathlib import Path

import pytest

from shell import Shell

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


def test_what_was_written_is_read_back_equal(shell: Shell) -> None:
    value = {"verdict": "maybe", "emoji": "🦉", "price": 1.0, "n": 1}

    written = shell.json("write", "listing/553/assessment", json.dumps(value))
    read = shell.json("read", "listing/553/assessment")

    assert (written["version"], written["superseded"]) == (1, None)
    assert read["value"] == value
    assert read["hash"] == written["hash"]


def test_every_option_of_a_write_reaches_the_record(shell: Shell) -> None:
    options = ("--confidence", "0.6", "--tag", "a", "--tag", "b", "--source", "the board")

    shell.json("write", "s/k", "1", *options, "--expires-in", "3600", "--expected-version", "0")

    read = shell.json("read", "s/k")
    assert (read["confidence"], read["tags"], read["source"]) == (0.6, ["a", "b"], "the board")
    assert "expires_at" in read


def test_a_value_comes_from_stdin_or_a_file(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "value.json"
    file.write_bytes(b'\xef\xbb\xbf{"from": "file"}')

    from_stdin = shell("write", "s/stdin", "-", given='{"from": "stdin"}')
    from_file = shell("write", "s/file", "--file", str(file))

    assert (from_stdin.exit_code, from_file.exit_code) == (0, 0)
    assert shell.json("read", "s/stdin")["value"] == {"from": "stdin"}
    assert shell.json("read", "s/file")["value"] == {"from": "file"}


@pytest.mark.parametrize("text", ["null", '{"a":1}', "  two\n lines\n", "", "nul \0 in it"])
def test_text_is_taken_as_it_is(shell: Shell, text: str) -> None:
    shell("write", "s/k", "-", "--text", given=text)

    assert shell.json("read", "s/k")["value"] == text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("NaN", "NaN is no JSON number"),
        ("[1e999]", "NaN and Infinity"),
        ('{"a": 1, "a": 2}', "stands twice"),
        ("{", "no JSON"),
        ("9" * 5000, "no JSON"),
        ("[" * 200_000, "deeper than 100"),
        ('"\\ud800"', "surrogate"),
    ],
)
def test_what_is_no_json_is_refused_and_nothing_is_stored(
    shell: Shell, value: str, said: str
) -> None:
    result = shell("write", "s/k", "-", given=value)

    assert result.exit_code == 2
    assert said in result.stderr
    assert shell("read", "s/k").exit_code == 2


def test_a_value_that_is_not_utf8_is_refused(shell: Shell) -> None:
    result = shell("write", "s/k", "-", "--text", given=b"caf\xe9")

    assert result.exit_code == 2
    assert "not UTF-8" in result.stderr


@pytest.mark.parametrize("args", [(), ("1", "--file", "x"), ("--file", "/no/such/file")])
def test_a_value_comes_from_exactly_one_place_that_exists(
    shell: Shell, args: tuple[str, ...]
) -> None:
    assert shell("write", "s/k", *args).exit_code == 2


def test_a_stale_write_is_refused_and_says_what_is_current(shell: Shell) -> None:
    shell.json("write", "s/k", "1")

    result = shell("write", "s/k", "2", "--expected-version", "0", "--json")

    error = json.loads(result.stdout)
    assert result.exit_code == 2
    assert (error["code"], error["current_version"], error["agent"]) == (
        "version_conflict",
        1,
        "ada",
    )
    assert shell.json("read", "s/k")["value"] == 1


def test_writing_the_current_value_again_writes_nothing(shell: Shell) -> None:
    shell.json("write", "s/k", '{"a": 1}')

    result = shell("write", "s/k", '{"a": 1}', "--if-changed")

    assert result.stdout == "s/k@1 is unchanged\n"


def test_a_write_names_no_version(shell: Shell) -> None:
    assert shell("write", "s/k@1", "1").exit_code == 2


def test_a_secret_is_not_stored_and_its_kind_is_told(shell: Shell) -> None:
    written = shell("write", "s/k", f'{{"token": "{SECRET}"}}')
    outcome = shell("outcome", "s/k", "failure", "--note", f"refused {SECRET}")

    assert "redacted before it was stored: github-token" in written.stdout
    assert "redacted before it was stored: github-token" in outcome.stdout
    assert SECRET not in shell("history", "s/k").stdout
    assert shell.json("write", "s/k", f'"{SECRET}"')["redacted"] == ["github-token"]


def test_a_missing_name_is_an_error_that_lists_the_nearest(shell: Shell) -> None:
    shell.json("write", "listing/553/assessment", "1")

    result = shell("read", "listing/553/assesment")

    assert result.exit_code == 2
    assert "error: no record listing/553/assesment" in result.stderr
    assert "listing/553/assessment" in result.stderr
    assert "next: " in result.stderr


def test_several_names_are_read_at_once_and_missing_ones_are_told(shell: Shell) -> None:
    shell.json("write", "s/a", '"first"')
    shell.json("write", "s/b", '"second"')

    found = shell("read", "s/a", "s/b@1")
    partly = shell("read", "s/a", "s/nowhere")

    assert found.exit_code == 0
    assert [word in found.stdout for word in ("first", "second")] == [True, True]
    assert partly.exit_code == 2
    assert "first" in partly.stdout
    assert "error: no record s/nowhere" in partly.stderr


def test_a_version_is_named_in_the_name_or_by_the_flag(shell: Shell) -> None:
    shell.json("write", "s/k", '"old"')
    shell.json("write", "s/k", '"new"')

    assert shell.json("read", "s/k@1")["value"] == "old"
    assert shell.json("read", "s/k", "--version", "1")["value"] == "old"
    assert "superseded: version 2 is current" in shell("read", "s/k@1").stdout
    assert shell("read", "s/k@1", "--version", "2").exit_code == 2


def test_a_value_larger_than_a_tools_reply_is_read_whole(shell: Shell) -> None:
    text = "words and 字 " * 20_000

    shell("write", "s/k", "-", "--text", given=text)

    assert shell.json("read", "s/k")["value"] == text


def test_the_history_tells_what_was_believed_and_what_happened(shell: Shell) -> None:
    shell.json("write", "s/k", '"v1"', "--confidence", "0.8")
    shell.json("outcome", "s/k", "success", "--note", "it held")
    shell.json("write", "s/k", '"v2"')

    by_verb, by_flag = shell.json("history", "s/k"), shell.json("read", "s/k", "--history")
    text = shell("history", "s/k").stdout

    assert by_verb == by_flag
    assert [item["version"] for item in by_verb["history"]] == [2, 1]
    assert "80% -> 84%" in text
    assert "it held" in text


def test_an_outcome_moves_confidence_as_the_table_says(shell: Shell) -> None:
    shell.json("write", "s/good", "1", "--confidence", "0.8")
    shell.json("write", "s/bad", "1", "--confidence", "0.6")

    good, bad = shell("outcome", "s/good", "success"), shell("outcome", "s/bad@1", "failure")

    assert good.stdout == "success on s/good@1: confidence 80% -> 84%\n"
    assert bad.stdout == "failure on s/bad@1: confidence 60% -> 39%\n"


def test_an_outcome_of_an_old_version_says_that_another_is_current(shell: Shell) -> None:
    shell.json("write", "s/k", "1")
    shell.json("write", "s/k", "2")

    assert "version 2 is current" in shell("outcome", "s/k@1", "failure").stdout


def test_search_takes_words_filters_and_pages(shell: Shell) -> None:
    shell.json("write", "listing/1/note", '"the rate limit is odd"', "--tag", "limits")
    shell.json("write", "listing/2/note", '"a rate limit of sixty"', AGENT_ID="scout")

    assert len(shell.json("search", "rate", "limit")["results"]) == 2
    assert [hit["scope"] for hit in shell.json("search", "--by", "SCOUT")["results"]] == [
        "listing/2"
    ]
    assert len(shell.json("search", "--tag", "limits", "--since", "1h")["results"]) == 1
    first = shell.json("search", "rate", "--limit", "1")
    second = shell.json("search", "rate", "--limit", "1", "--cursor", first["next_cursor"])
    assert {first["results"][0]["scope"], second["results"][0]["scope"]} == {
        "listing/1",
        "listing/2",
    }
    assert "more: --cursor" in shell("search", "rate", "--limit", "1").stdout


def test_a_search_without_hits_is_no_error(shell: Shell) -> None:
    shell.json("write", "s/k", "1")

    result = shell("search", "nothing", "like", "this")

    assert (result.exit_code, result.stdout) == (0, "nothing found\n")


def test_a_search_that_had_to_relax_says_so(shell: Shell) -> None:
    shell.json("write", "s/k", '"a red house"')

    assert "no record has every word" in shell("search", "red", "zeppelin").stdout


@pytest.mark.parametrize("query", ["don't", "C++", '"', "multi-agent", "20.04", "--", "*"])
def test_any_query_is_answered(shell: Shell, query: str) -> None:
    shell.json("write", "s/k", "1")

    assert shell("search", "--", query).exit_code == 0
