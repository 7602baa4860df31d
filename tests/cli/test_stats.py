from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from shell import Shell


@pytest.fixture
def filled(shell: Shell) -> Shell:
    for number in range(3):
        shell.json("write", f"s/k{number}", f'"value {number}"')
    return shell


def test_counts_agents_and_durability_are_told(filled: Shell) -> None:
    reply, text = filled.json("stats"), filled("stats").stdout

    assert reply["counts"] == {"records": 3, "versions": 3, "outcomes": 0, "packets": 0}
    assert [agent["agent"] for agent in reply["agents"]] == ["ada"]
    assert (reply["durability"], reply["failed_writes"]) == ("relaxed", 0)
    assert "verify" not in reply
    assert "3 in 3 versions" in text
    assert "written s/k2@1" in text


def test_the_columns_of_a_table_begin_at_the_same_place(
    filled: Shell, hand_over: Callable[..., str]
) -> None:
    filled.json("write", "s/k", "1", AGENT_ID="探索者")
    hand_over()

    lines = filled("stats").stdout.splitlines()

    facts = [line for line in lines if line.startswith(("database", "records", "packets"))]
    assert [line[10:12].strip() for line in facts] == ["", "", ""]
    assert " " not in {line[12] for line in facts}


def test_an_intact_file_is_ok(filled: Shell) -> None:
    result = filled("stats", "--verify")

    assert result.exit_code == 0
    assert "ok  3 journal lines checked: 3 records" in result.stdout
    assert result.stderr == ""
    assert filled.json("stats", "--verify")["verify"]["ok"] is True


def test_memory_stats_names_an_altered_value_and_exits_1(filled: Shell) -> None:
    filled.tamper(
        "DROP TRIGGER records_only_erase",
        "UPDATE records SET body = CAST('forged' AS BLOB) WHERE seq = 2",
    )

    text = filled.script("memory_stats", "--verify")
    document = filled.script("memory_stats", "--verify", "--json")

    assert text.returncode == 1, text.stderr
    assert "record" in text.stdout
    assert "s/k1@1" in text.stdout
    assert "the value was altered" in text.stdout
    assert document.returncode == 1
    problems = json.loads(document.stdout)["verify"]["problems"]
    assert ("record", "s/k1", 1) in [
        (item["kind"], item["name"], item.get("version")) for item in problems
    ]


def test_every_problem_is_listed_however_many(shell: Shell) -> None:
    for number in range(60):
        shell.json("write", f"s/k{number}", "1")
    shell.tamper("DROP TRIGGER records_keep_values", "UPDATE records SET source = 'forged'")

    result = shell("stats", "--verify")

    assert result.exit_code == 1
    assert all(f"s/k{number}@1" in result.stdout for number in range(60))


def test_a_database_that_is_not_there_is_an_error_and_is_not_made(shell: Shell) -> None:
    result = shell.script("memory_stats")

    assert result.returncode == 2
    assert result.stderr.startswith("error: there is no database at ")
    assert not shell.database.exists()
