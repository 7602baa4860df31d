"""`memory_stats --verify` names edits of AMFS's rows that the SDK's own check does not see."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("amfs")

from amfs import AgentMemory, OutcomeType

from handoff_memory.amfs import MemoryAdapter

# Another process, with the triggers that refuse out of the way and back.
EDITOR = """
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], isolation_level=None)
triggers = conn.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
for name, _ in triggers:
    conn.execute(f"DROP TRIGGER {name}")
changed = conn.execute(sys.argv[2]).rowcount
for _, sql in triggers:
    conn.execute(sql)
print(changed)
"""
BODY = "UPDATE amfs_entries SET body = CAST(replace(CAST(body AS TEXT), {}) AS BLOB) WHERE {}"
SHARED, PRIVATE = "key = 'route' AND version = 1", "key = 'private'"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "memory.db"
    with AgentMemory("scout", session_id="s", adapter=MemoryAdapter(path)) as memory:
        memory.write("plan", "route", {"via": "Paris"}, confidence=0.75)
        memory.write("plan", "private", {"pin": 1}, confidence=0.75, shared=False)
        memory.write("plan", "route", {"via": "Liège"}, confidence=0.5)
        memory.commit_outcome("run", OutcomeType.SUCCESS, causal_entry_keys=["plan/route"])
        with memory.transaction("handoff") as handoff:
            handoff.write("plan", "packet", "take over")
    return path


def edit(database: Path, statement: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EDITOR, str(database), statement],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "1"


def stats(database: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import handoff_memory.__main__ as m; m.memory_stats()", "--verify"],
        env={**os.environ, "MEMORY_DB": str(database), "OSIRIS_HOME": str(database.parent)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_a_file_that_nobody_edited_is_whole(database: Path) -> None:
    found = stats(database)

    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        (BODY.format("'\"confidence\":0.75', '\"confidence\":0.95'", SHARED), "plan/route@1"),
        (BODY.format("'\"confidence\":0.75', '\"confidence\":0.95'", PRIVATE), "plan/private@1"),
        (BODY.format('\'"session_id":"s"\', \'"session_id":"x"\'', SHARED), "plan/route@1"),
        (BODY.format('\'"content_hash":"\', \'"content_hash":"0\'', SHARED), "plan/route@1"),
        (f"UPDATE amfs_entries SET writer = 'mallory' WHERE {SHARED}", "plan/route@1"),
        (f"UPDATE amfs_entries SET agent = 'mallory' WHERE {PRIVATE}", "plan/private@1"),
        (f"UPDATE amfs_entries SET body_commit = zeroblob(32) WHERE {SHARED}", "plan/route@1"),
        (f"UPDATE amfs_entries SET record = 3 WHERE {SHARED}", "plan/route@1"),
        (f"UPDATE amfs_entries SET version = 9 WHERE {SHARED}", "plan/route@9"),
        ("DELETE FROM amfs_entries WHERE key = 'route' AND version = 3", "plan/route@3"),
        ("DELETE FROM amfs_versions WHERE key = 'route' AND version = 3", "plan/route@3"),
        ("UPDATE amfs_versions SET record = NULL WHERE key = 'packet'", "plan/packet@1"),
        (
            "INSERT INTO amfs_versions SELECT project, namespace, branch, path, key, 9, entry, "
            "record, 0 FROM amfs_versions WHERE key = 'packet'",
            "plan/packet@9",
        ),
        (
            "UPDATE amfs_documents SET body = CAST(replace(CAST(body AS TEXT), 'success', "
            "'failure') AS BLOB) WHERE type = 'outcome'",
            "outcome run",
        ),
        ("UPDATE amfs_documents SET stamp = stamp + 1 WHERE type = 'commit'", "commit "),
    ],
    ids=str,
)
def test_an_edit_is_named(database: Path, statement: str, named: str) -> None:
    edit(database, statement)

    found = stats(database)

    assert found.returncode == 1
    assert named in found.stdout


def test_the_sdk_does_not_see_them(database: Path) -> None:
    edit(database, BODY.format("'\"confidence\":0.75', '\"confidence\":0.95'", SHARED))
    edit(database, f"UPDATE amfs_entries SET writer = 'mallory' WHERE {PRIVATE}")

    with AgentMemory("scout", adapter=MemoryAdapter(database)) as memory:
        report = memory.verify()

    assert report["corrupted"] == report["chain_breaks"] == []
