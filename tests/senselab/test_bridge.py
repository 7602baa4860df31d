"""The demo of the bridge runs, in processes of its own, and says what it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

pytest.importorskip("amfs")

DEMO = Path(__file__).parents[2] / "demo" / "amfs_bridge.py"
PROMISED = """\
  . commit 'handoff': 2 entries, all or none
  . listing/553/assessment is at v2 now; the packet pinned v1
=== executor-agent, in a process of its own ===========================
  . listing/553/assessment: stale: pinned v1, now v2
  . success on listing/482/assessment: confidence 70% -> 82%
  . failure on source/boards-example/rate-limit: confidence 60% -> 23%
  . verify(): 8 versions, clean
  . 2 outcomes and 1 commit are kept
  . memory_stats --verify: 23 journal lines, 0 problems
"""


def test_the_handoff_is_told_through_the_sdk(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(DEMO), "--db", str(tmp_path / "memory.db")],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in PROMISED.splitlines() if line not in done.stdout.splitlines()] == []
