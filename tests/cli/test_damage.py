"""A file that is damaged below the rows is a finding, not a failure to look."""

import subprocess
import sys
from pathlib import Path

from handoff_memory.app import Local
from handoff_memory.services import memory

_SPOIL = """
import sys
path = sys.argv[1]
with open(path, "r+b") as file:
    pages = file.read()
    for page in range(2, len(pages) // 4096, 3):
        file.seek(page * 4096)
        file.write(bytes([page % 251]) * 4096)
"""


def test_damaged_pages_are_a_finding_with_exit_status_1(local: Local) -> None:
    who = local.identity.author("scout")
    for number in range(200):
        draft = memory.draft_record(
            local.settings.limits, scope="a", key=f"k{number}", value="words " * 200
        )
        local.write(lambda tx, draft=draft: memory.write(tx, who, draft))
    local.close()
    database = local.settings.database
    assert database.stat().st_size > 50 * 4096

    subprocess.run([sys.executable, "-c", _SPOIL, str(database)], check=True)
    done = _stats(database)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "damaged" in done.stdout
    assert "Traceback" not in done.stderr


def _stats(database: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "handoff_memory", "stats", "--verify", "--db", str(database)],
        capture_output=True,
        text=True,
        check=False,
    )
