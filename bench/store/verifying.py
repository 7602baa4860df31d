"""Verification beside a bare scan of the same rows, in one process and in two, and since a head."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from handoff_memory import verification
from handoff_memory.core import entry
from handoff_memory.services import verify_rows, verify_since
from handoff_memory.store import journal, sealed
from handoff_memory.store.engine import Tx
from handoff_memory.store.sqlite import Reader
from store.figures import Figure
from store.work import fill, source

_NEW = 1000
_LIMIT_MS = 50.0


def measure(folder: Path, *, rows: int, rounds: int) -> list[Figure]:
    """Rows a second of each, in alternating rounds."""
    path = folder / "verify.db"
    fill(path, rows * 4 // 5)
    fill(path, rows // 5)  # later versions of the first of them
    given = source(path, durable=True)
    reader = Reader(given)
    good = reader.read(journal.head)
    arms: dict[str, Callable[[], object]] = {
        "scan": lambda: reader.read(scan),
        "walk": lambda: reader.read(
            lambda tx: verify_rows.walk(tx, sealed.Span(), chain=entry.GENESIS)
        ),
        "one": lambda: verification.in_one(given, reader.read),
        "two": lambda: verification.in_two(given, reader.read, rows),
    }
    found: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(rounds):
        for name, run in arms.items():
            found[name].append(_seconds(run))
    busy = _cores(arms["one"])
    fill(path, _NEW, first=rows)
    since = [
        _seconds(lambda: reader.read(lambda tx: verify_since.verify(tx, good)))
        for _ in range(rounds + 2)
    ]
    reader.close()
    rate = {name: rows / statistics.median(each) for name, each in found.items()}
    return [
        Figure("verify, one process, beside a bare scan", rate["one"], rate["scan"], "rows/s", 0.25,
               note="with SQLite's own check of the file and every cache"),
        Figure("hashes and chain alone beside a bare scan", rate["walk"], rate["scan"], "rows/s"),
        Figure("verify, two processes beside one", rate["two"], rate["one"], "rows/s", 1.6,
               note=f"one keeps {busy:.2f} cores busy, and two busy processes do "
                    f"{_two_beside_one():.2f} x the work of one here"),
        Figure(f"verify of 1,000 new rows behind {rows:,}", statistics.median(since) * 1000,
               _LIMIT_MS, "ms", 1.0, at_most=True),
    ]  # fmt: skip


def scan(tx: Tx) -> int:
    """Read every column of every line and record."""
    count = 0
    for query in ("SELECT * FROM journal ORDER BY seq", "SELECT * FROM records ORDER BY seq"):
        for _ in tx.tuples(query):
            count += 1
    return count


def _two_beside_one() -> float:
    """How much more two processes that only compute get done than one: what the cores allow."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(_busy, [0.1, 0.1]))  # both have started
        gains = []
        for _ in range(5):
            alone = pool.submit(_busy, 0.3).result()
            gains.append(sum(pool.map(_busy, [0.3, 0.3])) / alone)
    return statistics.median(gains)


def _busy(seconds: float) -> int:
    until, steps = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        steps += 1
    return steps


def _cores(run: Callable[[], object]) -> float:
    """How many cores this process uses meanwhile: of what is left another can make use."""
    began, used = time.perf_counter(), time.process_time()
    run()
    return (time.process_time() - used) / (time.perf_counter() - began)


def _seconds(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began
