"""What waits to be journaled: taken by one, a few at a time, the rest left."""

from __future__ import annotations

from pathlib import Path

from handoff_memory.hooks import gaps


def settled(home: Path, database: Path) -> list[str]:
    journaled: list[str] = []
    gaps.settle(home, database, "ada", journaled.append)
    return journaled


def test_a_hook_journals_a_few_gaps_and_leaves_the_rest_to_the_next(tmp_path: Path) -> None:
    database = tmp_path / "m.db"
    for _ in range(20):
        gaps.note(tmp_path, database, "bob", "another's")
    for number in range(20):
        gaps.note(tmp_path, database, "ada", f"gap {number}")

    rounds = [settled(tmp_path, database) for _ in range(4)]

    assert [len(found) for found in rounds] == [0, 12, 8, 0]
    assert [*rounds[1], *rounds[2]] == [f"gap {number}" for number in range(20)]
    assert (tmp_path / gaps.NAME).read_text().count("another's") == 20
    assert [path.name for path in tmp_path.iterdir()] == [gaps.NAME]
