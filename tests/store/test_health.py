"""What SQLite says of the file is about the file as it is now."""

from collections.abc import Callable
from typing import Any

from actors import Agent


def test_a_merge_by_another_connection_after_a_search_is_no_damage(
    scout: Agent, verified: Callable[[], Any]
) -> None:
    # The reader keeps what it knows of the full-text segments; the writer merges them away.
    scout.write("plan/route", "first")
    for version in range(40):
        scout.search("first")
        for rewrite in range(1 + version % 5):
            scout.write("plan/route", f"version {version} {rewrite}")

        assert verified()["problems"] == []
