"""Four processes with eight writes in flight each on one file, ours beside plain SQLite."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from handoff_memory.store import driver
from store.figures import Figure

_PROCESSES = 4


def measure(folder: Path, *, seconds: float, rounds: int) -> list[Figure]:
    """Throughput, worst wait and share of both, in alternating rounds."""
    found: dict[str, list[dict[str, float]]] = {"plain": [], "ours": []}
    for number in range(rounds):
        for arm, rows in found.items():
            rows.append(_window(arm, folder / f"{arm}-{number}.db", seconds))

    def median(arm: str, what: str) -> float:
        return statistics.median(row[what] for row in found[arm])

    lost = sum(row["lost"] for row in found["ours"])
    failed = sum(row["failed"] for row in found["plain"])
    told = (
        f"ours lost {lost:.0f} of what it acknowledged; plain had {failed:.0f} errors; "
        f"a sync takes {_sync_ms(folder):.2f} ms here"
    )
    return [
        Figure(
            "4 processes x 8 in flight, durable: writes",
            *(median("ours", "rate"), median("plain", "rate")),
            *("/s", 3.0),
            note=told,
        ),
        Figure(
            "… worst wait",
            *(max(row["worst_s"] for row in found[arm]) * 1000 for arm in ("ours", "plain")),
            *("ms", 0.1),
            at_most=True,
        ),
        Figure("… share of the busiest by that of the least busy", median("ours", "share"), 1.0,
               "x", 1.3, at_most=True, note=f"plain {median('plain', 'share'):.1f}"),
    ]  # fmt: skip


def _sync_ms(folder: Path) -> float:
    """Median of what a file of some pages takes to reach the disk: what a group of writes saves."""
    times = []
    with (folder / "sync").open("wb") as file:
        for _ in range(100):
            file.write(bytes(64 << 10))
            file.flush()
            began = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def _window(arm: str, path: Path, seconds: float) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).with_name("contender.py")), arm, str(path)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    processes = [
        subprocess.Popen(
            [*command, str(number), str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        for number in range(_PROCESSES)
    ]
    for one in processes:
        assert one.stdout is not None  # noqa: S101
        if one.stdout.readline() != "ready\n":
            raise RuntimeError("a contender did not start")
    told: list[dict[str, Any]] = []
    for one in processes:
        assert one.stdin is not None  # noqa: S101
        one.stdin.write("go\n")
        one.stdin.flush()
    for one in processes:
        out, _ = one.communicate(timeout=seconds + 120)
        told.append(json.loads(out))
    counts = [one["acknowledged"] for one in told]
    return {
        "rate": sum(counts) / seconds,
        "worst_s": max(one["worst_s"] for one in told),
        "share": max(counts) / max(1, min(counts)),
        "lost": sum(counts) - _kept(path),
        "failed": sum(len(one["failed"]) for one in told),
    }


def _kept(path: Path) -> int:
    conn = driver.connect(str(path), isolation_level=None)
    try:
        return int(conn.execute("SELECT count(*) FROM records").fetchone()[0])
    finally:
        conn.close()
