"""The search benchmark at a small size: what is found, not how fast."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

BENCH = Path(__file__).parents[2] / "bench" / "search.py"


def test_the_search_meets_its_targets_of_quality_and_simpler_ones_do_not() -> None:
    size = ["--records", "2000", "--services", "80", "--questions", "20"]
    done = subprocess.run(
        [sys.executable, str(BENCH), *size, "--check", "--no-latency", "--json"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    rows = {(row["seed"], row["arm"], row["sort"]): row for row in json.loads(done.stdout)["rows"]}
    for seed in (11, 12):
        assert rows[seed, "AND-only", "question"]["zero"] > 0.5
        assert rows[seed, "OR-only", "CJK pair"]["zero"] > 0.5
        assert rows[seed, "OR-only", "current value"]["stale"] > 0
        assert rows[seed, "grep", "absent word"]["zero"] > 0.5
