"""The context benchmark: how many tokens enter a model's context, with the governor and without.

`make bench` runs all of it and writes docs/benchmark.md, its picture, and bench/results.
`--quick` leaves out all but what `--check` looks at; `--json` prints the rows.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import starmap
from pathlib import Path

from context.arms import ARMS, SIZES, Arm, Run, arms_named, session
from context.ours import SURFACES
from context.payloads import kinds
from context.plot import draw
from context.report import machine, markdown, side_by_side
from context.rows import PRODUCT, Row, rows_of, session_row, shortfalls

SEED = 47
TASKS = (1, 10)
GATE_SIZE = 800
ROOT = Path(__file__).resolve().parents[1]
Job = tuple[Arm, str, str, int, int, int]


def jobs_of(sizes: Sequence[int], *, quick: bool, seed: int) -> list[Job]:
    """All sessions of one task; the large payloads, which take longest, come first."""
    names = ("raw", "native", *PRODUCT) if quick else [arm.name for arm in ARMS]
    surfaces = ("dispatch",) if quick else ("none", *SURFACES)
    return [
        (arm, surface, kind, size, seed, 1)
        for size in sorted(sizes, reverse=True)
        for arm, surface in arms_named(names, surfaces)
        for kind in kinds()
    ]


def session_jobs(*, quick: bool, seed: int) -> list[Job]:
    """Sessions of several tasks by hooks, each behind the same one without a governor."""
    sizes = (GATE_SIZE,) if quick else SIZES[:3]
    surfaces = ("dispatch",) if quick else SURFACES
    chosen = arms_named(["raw", "hooks"], surfaces)
    return [
        (arm, surface, kinds()[0], size, seed, tasks)
        for size in sizes
        for tasks in TASKS
        for arm, surface in chosen
    ]


def worked(jobs: Sequence[Job], processes: int) -> list[Run]:
    """The runs of those jobs, in their order."""
    if processes <= 1:
        return list(starmap(session, jobs))
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(session, *zip(*jobs, strict=True), chunksize=4))


def sessions_of(jobs: Sequence[Job], runs: Sequence[Run]) -> list[Row]:
    """The rows of sessions, each against the raw one before it."""
    rows, raw = [], runs[0]
    for job, run in zip(jobs, runs, strict=True):
        if run.arm == "raw":
            raw = run
        else:
            rows.append(session_row(run, raw, job[-1]))
    return rows


def ordered(rows: Sequence[Row]) -> list[Row]:
    """Small payloads first, the arms as they are defined."""
    names = [arm.name for arm in ARMS]
    return sorted(rows, key=lambda row: (row["payload"], names.index(row["arm"])))


def written(rows: Sequence[Row], sessions: Sequence[Row], seed: int) -> None:
    """Write the report, its picture and the rows."""
    about = machine(seed)
    results = ROOT / "bench" / "results"
    results.mkdir(exist_ok=True)
    kept = {"about": about, "rows": rows, "sessions": sessions}
    (results / "context.json").write_text(json.dumps(kept, indent=1) + "\n")
    picture = ROOT / "docs" / "benchmark.png"
    if not draw(rows, picture):
        print("no picture: it needs pip install -e '.[bench]'", file=sys.stderr)
    plot = picture.name if picture.exists() else None
    (ROOT / "docs" / "benchmark.md").write_text(markdown(rows, sessions, about, plot))


def main() -> None:
    """Run it, print it, and say what falls short."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--check", action="store_true", help="exit 1 where a row falls short")
    parser.add_argument("--quick", action="store_true", help="only what --check looks at")
    parser.add_argument("--sizes", type=int, nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--write", action="store_true", help="write docs/benchmark.md and results")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    if given.write and (given.quick or set(given.sizes) != set(SIZES)):
        parser.error("--write takes the whole table")
    jobs = jobs_of(given.sizes, quick=given.quick, seed=given.seed)
    more = session_jobs(quick=given.quick, seed=given.seed)
    runs = worked([*jobs, *more], given.processes)
    rows = ordered(rows_of(runs[: len(jobs)]))
    sessions = sessions_of(more, runs[len(jobs) :])
    if given.write:
        written(rows, sessions, given.seed)
    if given.json:
        print(json.dumps({"about": machine(given.seed), "rows": rows, "sessions": sessions}))
    else:
        print("\n".join(side_by_side(rows)))
        spread = max(abs(row["net_percent"] - row["net_percent_cl100k"]) for row in rows)
        print(f"\nspread between the two vocabularies: at most {spread:.1f} points of net")
    missed = list(shortfalls(rows, sessions))
    print(*(missed or ["nothing falls short"]), sep="\n", file=sys.stderr)
    sys.exit(given.check and bool(missed))


if __name__ == "__main__":
    main()
