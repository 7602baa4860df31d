"""What a call names, and whether it is known to change nothing."""

import pytest

from handoff_memory.core import calls


def test_paths_are_found_however_deep_and_in_the_heads_of_a_patch() -> None:
    args = {
        "edits": [{"file_path": "tests/a.py"}],
        "patch": "--- a/x.py\n+++ b/tests/y.py\n*** Update File: tests/z.py",
        "text": "no/path",
    }

    assert calls.paths_of(args) == ["tests/a.py", "x.py", "tests/y.py", "tests/z.py"]


@pytest.mark.parametrize("tool", ["Read", "mcp__fs__read_file", "view", "list_dir", "Grep"])
def test_a_tool_that_is_known_to_read_changes_nothing(tool: str) -> None:
    assert calls.only_reads(tool)


@pytest.mark.parametrize("tool", ["Edit", "apply_patch", "write_file", "thread", "read_and_run"])
def test_of_any_other_tool_the_worse_is_taken(tool: str) -> None:
    assert not calls.only_reads(tool)


def test_a_command_may_come_as_a_list_of_words() -> None:
    command = calls.command_of({"cmd": ["git", "commit", "-m", "a b"]})

    assert command is not None
    assert command.commands[0].argv == ("git", "commit", "-m", "a b")
    assert calls.command_of({"command": 7}) is None


def test_a_call_edits_by_its_command_else_by_its_name_and_a_path() -> None:
    assert calls.edits("Bash", {}, calls.command_of({"command": "echo a > b"}))
    assert not calls.edits("Bash", {}, calls.command_of({"command": "cat b"}))
    assert calls.edits("Write", {"path": "a"}, None)
    assert not calls.edits("Write", {}, None)
