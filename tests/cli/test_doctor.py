from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from shell import Shell

pytestmark = pytest.mark.processes

posix = pytest.mark.skipif(sys.platform == "win32", reason="no modes, no symlinks")


def status(reply: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["status"] for check in reply["checks"]}


def test_a_sound_installation_has_no_problem(shell: Shell) -> None:
    shell.json("write", "s/k", "1")

    result, reply = shell("doctor"), shell.json("doctor")

    assert (result.exit_code, reply["ok"]) == (0, True)
    assert "problem" not in result.stdout
    assert set(status(reply)) >= {
        "sqlite",
        "full text",
        "file system",
        "mode",
        "chain head",
        "alive",
    }
    assert str(shell.database) in result.stdout


def test_a_database_that_is_not_there_yet_is_a_note(shell: Shell) -> None:
    reply = shell.json("doctor")

    assert reply["ok"] is True
    assert status(reply)["file"] == "note"
    assert not shell.database.exists()


@posix
def test_a_file_that_others_may_read_is_a_problem_with_a_way_out(shell: Shell) -> None:
    shell.json("write", "s/k", "1")
    shell.database.chmod(0o644)

    result = shell("doctor")

    assert result.exit_code == 1
    assert f"0644: others may read or write the file. Run: chmod 600 {shell.database}" in (
        result.stdout
    )


@posix
def test_a_symlink_is_a_problem(shell: Shell, tmp_path: Path) -> None:
    shell.json("write", "s/k", "1")
    link = tmp_path / "link.db"
    link.symlink_to(shell.database)

    result = shell("doctor", "--db", str(link))

    assert result.exit_code == 1
    assert "no regular file" in result.stdout


def test_another_programs_file_is_a_problem_and_no_advice_changes_it(
    shell: Shell, tmp_path: Path
) -> None:
    foreign = tmp_path / "notes.txt"
    foreign.write_text("not a database, and long enough to be read as a header of one" * 20)

    result = shell("doctor", "--db", str(foreign))

    assert result.exit_code == 1
    assert "no SQLite database" in result.stdout
    assert "chmod" not in result.stdout


def test_a_missing_trigger_is_a_problem(shell: Shell) -> None:
    shell.json("write", "s/k", "1")
    shell.tamper("DROP TRIGGER records_keep_values")

    result = shell("doctor")

    assert result.exit_code == 1
    assert "trigger records_keep_values is missing" in result.stdout


def test_what_is_not_the_default_is_noted(shell: Shell) -> None:
    reply = shell.json("doctor")

    assert status(reply)["durability"] == "note"
    assert status(shell.json("doctor", "--durability", "full"))["durability"] == "ok"
