"""What the store costs, and whether it is as fast as promised: `make bench-store`.

Each arm runs beside what it is compared with, in alternating rounds of one run, because machines
drift; a figure is a ratio with both of its numbers. `--quick` takes about a minute. POSIX only.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from store.figures import Figure, conditions, table

import handoff_memory
from store import batches, growth, peers, plot, processes, soak, stdio, verifying

_ROOT = Path(__file__).resolve().parent.parent
Section = Callable[[Path], list[Figure]]


def sections(given: argparse.Namespace) -> dict[str, Section]:
    """What can be measured, at the size that was asked for."""
    quick = given.quick
    found: dict[str, Section] = {
        "stdio": lambda at: stdio.measure(at, calls=150 if quick else 300, rounds=5),
        "batches": lambda at: batches.measure(at, writes=400 if quick else 2000, rounds=5),
        "processes": lambda at: processes.measure(
            at, seconds=1.5 if quick else 5, rounds=2 if quick else 3
        ),
        "growth": lambda at: growth.measure(
            at,
            sizes=[5_000] if quick else [10_000, 100_000, given.largest],
            one_key=5_000 if quick else 100_000,
            rounds=5 if quick else 15,
        ),
        "verify": lambda at: verifying.measure(at, rows=20_000 if quick else 200_000, rounds=5),
    }
    if given.soak:
        found["soak"] = lambda at: soak.measure(at, calls=given.soak)
    if given.peers:
        found["peers"] = lambda at: peers.measure(at, given.peers, quick=quick)
    return found


def main() -> None:
    """Measure, print, and exit with 1 where a figure falls short."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, about a minute")
    parser.add_argument("--json", action="store_true", help="one document instead of a table")
    parser.add_argument("--write", action="store_true", help="keep the figures and their picture")
    parser.add_argument("--only", nargs="*", default=[], help="sections by name")
    parser.add_argument("--largest", type=int, default=1_000_000, help="versions in growth")
    parser.add_argument("--soak", type=int, default=0, metavar="CALLS", help="100000, say")
    parser.add_argument("--peers", type=Path, help="folder that peers are installed in, and kept")
    parser.add_argument("--folder", type=Path, help="where databases lie; kept, so growth is quick")
    given = parser.parse_args()
    compileall.compile_dir(Path(handoff_memory.__file__).parent, quiet=2)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, measure in sections(given).items():
            if not given.only or name in given.only:
                found = measure(folder)
                figures += found
                if not given.json:
                    print(table(found), flush=True)
    told = {"conditions": conditions(), "figures": [figure.plain() for figure in figures]}
    if given.json:
        print(json.dumps(told, indent=2))
    else:
        print(", ".join(f"{name} {value}" for name, value in told["conditions"].items()))
    if given.write:
        results = _ROOT / "bench" / "results"
        results.mkdir(exist_ok=True)
        (results / "store.json").write_text(json.dumps(told, indent=2) + "\n", "utf-8")
        if not plot.draw(figures, _ROOT / "docs/store.png"):
            print("the picture needs the extra: pip install -e '.[bench]'", file=sys.stderr)
    sys.exit(not all(figure.holds for figure in figures))


if __name__ == "__main__":
    main()
