"""How well the search finds: hit rates, stale hits and latency, beside simpler ways to search.

A seeded half year of notes about a few hundred services is written through the memory, with facts
that are updated, contradicted and expire, and is then asked questions whose answers are known. The
same records stand in an FTS5 table that asks for all words, in one that asks for any, and in a
plain scan; AMFS where it is installed and asked for (`--amfs`), on a smaller world of its own, as
its search reads every file. The ranking was tuned on seeds 1 to 4; the seeds measured by default
served for nothing but measuring. Even ones ask in other words. Run it with the project's own
Python: `make bench-search`.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

from searching.arms import Amfs, Arm, Ours, PlainText, Scan
from searching.questions import Question, questions
from searching.scoring import Answer, Score, answer, scored
from searching.world import World

from handoff_memory.store import driver

RECORDS: Final = 100_000
AMFS_RECORDS: Final = 1000
AMFS_SERVICES: Final = 40
AMFS_EACH: Final = 20
SERVICES: Final = 300
EACH: Final = 200
SEEDS: Final = (11, 12)
WARM_UP: Final = 5
MOST_ZERO, MOST_STALE, LEAST_HIT_5, MOST_P95_MS = 0.01, 0.0, 0.95, 50.0


class Run(NamedTuple):
    """One world and what each arm reached on it."""

    seed: int
    records: int
    services: int
    scores: dict[str, dict[str, Score]]


def measured(seed: int, records: int, services: int, each: int, *, amfs: bool) -> Run:
    """Write a world, and ask all arms its questions in turn."""
    world = World(seed, records, services)
    asked = questions(world, seed, held_out=_other_words(seed), each=each)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        arms = list(_arms(world, Path(folder), amfs=amfs))
        for arm in arms:
            stack.callback(arm.close)
        given = _answers(arms, world, asked)
    found = {name: scored(answers) for name, answers in given.items()}
    return Run(seed, len(world.events), services, found)


def _other_words(seed: int) -> bool:
    """Whether the questions to a world are asked in the second wording."""
    return seed % 2 == 0


def _arms(world: World, folder: Path, *, amfs: bool) -> Iterator[Arm]:
    yield Ours(world, folder)
    yield PlainText(world, "AND")
    yield PlainText(world, "OR")
    yield Scan(world)
    if amfs:
        yield Amfs(world, folder / "amfs")


def _answers(arms: list[Arm], world: World, asked: list[Question]) -> dict[str, list[Answer]]:
    given: dict[str, list[Answer]] = {arm.name: [] for arm in arms}
    for question in asked[:WARM_UP]:
        for arm in arms:
            arm.find(question.text)
    for question in asked:
        for arm in arms:
            given[arm.name].append(answer(arm, world, question))
    return given


def missed(run: Run, *, latency: bool) -> list[str]:
    """The targets that our arm falls short of, each as a line."""
    sorts = run.scores["ours"]
    whole, current = sorts["all"], sorts["current value"]
    zero, hit_5 = whole.zero or 0.0, whole.hit_5 or 0.0
    checks = [
        (zero <= MOST_ZERO, f"zero-hit rate {zero:.2%} > {MOST_ZERO:.0%}"),
        (current.stale <= MOST_STALE, f"stale-hit rate {current.stale:.2%} > 0"),
        (hit_5 >= LEAST_HIT_5, f"hit@5 {hit_5:.2%} < {LEAST_HIT_5:.0%}"),
        (
            not latency or whole.p95_ms <= MOST_P95_MS,
            f"p95 {whole.p95_ms:.1f} ms > {MOST_P95_MS:.0f} ms",
        ),
    ]
    return [f"seed {run.seed}, {run.records} records: {line}" for met, line in checks if not met]


def show(run: Run) -> None:
    """The table of one world."""
    words = ", in other words" if _other_words(run.seed) else ""
    print(f"\nseed {run.seed}{words}: {run.records} records, {run.services} services")
    print(
        "| arm | questions | hit@1 | hit@5 | hit@10 | nothing | stale | claimed | p50 ms | p95 ms |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for arm, sorts in run.scores.items():
        for sort, found in sorts.items():
            shares = [_percent(share) for share in found[1:7]]
            times = [f"{took:.2f}" for took in found[-3:]]
            print("| " + " | ".join([arm, sort, *shares, *times]) + " |")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def _as_json(runs: list[Run], lines: list[str]) -> dict[str, Any]:
    rows = [
        {
            "seed": run.seed,
            "other_words": _other_words(run.seed),
            "records": run.records,
            "arm": arm,
            "sort": sort,
            **found._asdict(),
        }
        for run in runs
        for arm, sorts in run.scores.items()
        for sort, found in sorts.items()
    ]
    versions = {"python": platform.python_version(), "sqlite": driver.VERSION}
    return {**versions, "machine": platform.platform(), "rows": rows, "missed": lines}


def main() -> int:
    """Measure, print, and with `--check` fail where a target is missed."""
    options = _options()
    sizes = [(options.records, options.services, options.questions, False)]
    if options.amfs:
        sizes.append((AMFS_RECORDS, AMFS_SERVICES, AMFS_EACH, True))
    runs = [
        measured(seed, records, services, each, amfs=amfs)
        for records, services, each, amfs in sizes
        for seed in options.seeds
    ]
    lines = [line for run in runs for line in missed(run, latency=options.latency)]
    if options.json:
        print(json.dumps(_as_json(runs, lines), indent=1))
    else:
        print(f"Python {platform.python_version()}, SQLite {driver.VERSION}, {platform.platform()}")
        for run in runs:
            show(run)
        print("\n" + "\n".join(lines or ["every target is met"]))
    return 1 if options.check and lines else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS, help="versions in all")
    parser.add_argument("--services", type=int, default=SERVICES)
    parser.add_argument("--questions", type=int, default=EACH, help="of each sort")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--amfs", action="store_true", help=f"AMFS on {AMFS_RECORDS} records")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit 1 where a target is missed")
    parser.add_argument(
        "--no-latency", dest="latency", action="store_false", help="leave latency out of --check"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
