"""What payloads cost the small rows that share a file with them.

Two questions, each answered in one interleaved run: how long a write of 200 bytes takes while
another process keeps 20 MB payloads without a pause, in parts or in one transaction; and how long a
read and a verification take with 0 and with 2,000 payloads of 100 KB in the file. Run it with the
project's own Python on a quiet machine; it writes a few GB below the temporary folder.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from handoff_memory.app import App, open_app, open_local
from handoff_memory.core.author import Author
from handoff_memory.core.names import Name
from handoff_memory.services import memory, reading, refs
from handoff_memory.services.refs import PayloadDraft
from handoff_memory.settings import Settings
from handoff_memory.store import driver

WHO = Author("bench", "s_bench")
LARGE = 20_000_000
SMALL = 100_000
WARM_UP_S = 0.3
CASES = ("alone", "noise in parts", "noise at once", "log in parts", "log at once")


def settings(database: Path, *, durable: bool = True) -> Settings:
    """Settings of a database of its own."""
    folder = database.parent
    return Settings(home=folder, database=database, folder=folder, durable=durable, deadline_s=60.0)


def payload(kind: str, size: int, chance: random.Random) -> PayloadDraft:
    """A payload that is ready to be kept: noise does not compress, a log does.

    It is redacted, hashed and compressed before the clock runs, as no transaction waits for that.
    """
    if kind == "noise":
        data = b"\0" + chance.randbytes(size - 1)
    else:
        lines = (
            f"2026-11-30T16:{chance.randrange(60):02}:{chance.randrange(60):02} "
            f"worker-{chance.randrange(16)} GET /item/{chance.randrange(10**6)} "
            f"200 {chance.random():.3f}\n"
            for _ in range(size // 55)
        )
        data = "".join(lines).encode()[:size]
    return refs.draft(settings(Path("x")).limits, data, "text/plain")


def named_anew(draft: PayloadDraft, chance: random.Random) -> PayloadDraft:
    """The same parts under another ref: all of it is written again."""
    return draft._replace(ref=chance.randbytes(32).hex())


def keep_without_a_pause(database: Path, kind: str, how: str) -> None:
    """Keep payloads until stdin is closed; then say how many, and in how long."""
    chance, stopped = random.Random(), threading.Event()
    draft = payload(kind, LARGE, chance)

    def wait() -> None:
        sys.stdin.read()
        stopped.set()

    with open_local(settings(database)) as local:
        print("ready", flush=True)
        sys.stdin.readline()
        threading.Thread(target=wait, daemon=True).start()
        began, kept = time.perf_counter(), 0
        while not stopped.is_set():
            new = named_anew(draft, chance)
            if how == "parts":
                for part in range(len(new.parts)):
                    local.write(lambda tx, new=new, part=part: refs.keep_part(tx, new, part))
            local.write(lambda tx, new=new: refs.keep(tx, WHO, new))
            kept += 1
        print(f"{kept} {time.perf_counter() - began:.3f}", flush=True)


async def write_for(app: App, seconds: float) -> list[float]:
    """Milliseconds of each of as many small writes, one after the other, as there is time for."""
    limits, found = app.settings.limits, []
    until = time.perf_counter() + seconds
    number = 0
    while (began := time.perf_counter()) < until:
        draft = memory.draft_record(
            limits, scope="bench", key=f"k{number % 50}", value={"n": number, "text": "x" * 180}
        )
        await app.write(lambda tx, draft=draft: memory.write(tx, WHO, draft))
        found.append((time.perf_counter() - began) * 1000)
        number += 1
    return found


def latency(case: str, folder: Path, seconds: float) -> tuple[list[float], float]:
    """Latencies of small writes in one case, and the MB/s that its company kept meanwhile."""
    database = folder / "bench.db"

    async def run(company: subprocess.Popen[str] | None) -> tuple[list[float], float]:
        async with open_app(settings(database)) as app:
            await write_for(app, WARM_UP_S)
            if company is None:
                return await write_for(app, seconds), 0.0
            assert company.stdin is not None and company.stdout is not None  # noqa: S101, PT018
            company.stdin.write("go\n")
            company.stdin.flush()
            found = await write_for(app, seconds)
            company.stdin.close()
            kept, took = (await asyncio.to_thread(company.stdout.readline)).split()
            return found, int(kept) * LARGE / 1e6 / float(took)

    if case == "alone":
        return asyncio.run(run(None))
    kind, how = case.split(maxsplit=1)[0], "parts" if case.endswith("parts") else "once"
    command = [sys.executable, __file__, "--company", str(database), kind, how]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as company:
        assert company.stdout is not None  # noqa: S101
        company.stdout.readline()
        return asyncio.run(run(company))


async def fill(app: App, count: int) -> None:
    """200 records of 5 versions, and that many payloads."""
    limits, chance = app.settings.limits, random.Random(1)
    for version in range(5):
        drafts = [
            memory.draft_record(limits, scope="bench", key=f"k{n}", value={"v": version, "n": n})
            for n in range(200)
        ]
        await asyncio.gather(
            *(app.write(lambda tx, draft=draft: memory.write(tx, WHO, draft)) for draft in drafts)
        )
    for _ in range(count // 50):
        some = [payload("noise", SMALL, chance) for _ in range(50)]
        await asyncio.gather(
            *(app.write(lambda tx, draft=draft: refs.keep(tx, WHO, draft)) for draft in some)
        )


async def timed(call: Callable[[], Awaitable[Any]]) -> float:
    """Milliseconds of a call."""
    began = time.perf_counter()
    await call()
    return (time.perf_counter() - began) * 1000


async def reads(folder: Path, count: int, rounds: int) -> dict[str, dict[int, list[float]]]:
    """Milliseconds of head reads and of verifications, without and with payloads in the file."""
    found: dict[str, dict[int, list[float]]] = {"head read": {}, "verify": {}}
    places = {number: folder / f"with-{number}.db" for number in (0, count)}
    for number, place in places.items():
        async with open_app(settings(place, durable=False)) as app:
            await fill(app, number)
    async with open_app(settings(places[0])) as without, open_app(settings(places[count])) as full:
        apps = {0: without, count: full}
        for _ in range(rounds):
            for number, app in apps.items():
                limits, chance = app.settings.limits, random.Random(3)
                for _ in range(300):
                    name = Name("bench", f"k{chance.randrange(200)}")
                    took = await timed(
                        lambda app=app, name=name, limits=limits: app.read(
                            lambda tx: reading.read(tx, WHO, limits, name)
                        )
                    )
                    found["head read"].setdefault(number, []).append(took)
                found["verify"].setdefault(number, []).append(await timed(app.verify))
    return found


def at(values: list[float], share: float) -> float:
    """The value below which that share lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def show_latencies(found: dict[str, list[float]], speeds: dict[str, list[float]]) -> None:
    """Print a row for each case; ratios are against being alone."""
    print(
        f"\nmemory.write of 200 bytes, one writer, durable; beside it {LARGE // 10**6} MB payloads"
    )
    print(
        f"{'':16} {'writes':>7} {'p50 ms':>9} {'p99 ms':>9} {'max ms':>9}"
        f" {'p50':>8} {'p99':>8} MB/s"
    )
    base = [at(found["alone"], share) for share in (0.5, 0.99)]
    for case, values in found.items():
        p50, p99 = at(values, 0.5), at(values, 0.99)
        ratios = f"{p50 / base[0]:6.1f} x {p99 / base[1]:6.1f} x"
        kept = f"{statistics.mean(speeds[case]):5.0f}" if case != "alone" else ""
        numbers = f"{len(values):7,} {p50:9.2f} {p99:9.2f} {max(values):9.1f}"
        print(f"{case:16} {numbers} {ratios} {kept}")


def show_reads(found: dict[str, dict[int, list[float]]]) -> None:
    """Print what payloads in the file change for reads."""
    print(f"\n200 records of 5 versions, and payloads of {SMALL // 1000} KB in the same file")
    for what, by_count in found.items():
        base = at(by_count[0], 0.5)
        for number, values in by_count.items():
            p50, p99 = at(values, 0.5), at(values, 0.99)
            print(
                f"{what:10} {number:5,} payloads  p50 {p50:9.2f} ms  p99 {p99:9.2f} ms"
                f"  {p50 / base:6.2f} x"
            )


def main() -> None:
    """Measure, and print ratios with their absolute numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--payloads", type=int, default=2000)
    parser.add_argument("--company", nargs=3, metavar=("DB", "KIND", "HOW"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.company:
        keep_without_a_pause(Path(given.company[0]), *given.company[1:])
        return
    print(f"{platform.platform()}, Python {platform.python_version()}, SQLite {driver.VERSION}")
    found: dict[str, list[float]] = {case: [] for case in CASES}
    speeds: dict[str, list[float]] = {case: [] for case in CASES}
    for _ in range(given.rounds):
        for case in CASES:
            with tempfile.TemporaryDirectory() as folder:
                values, speed = latency(case, Path(folder), given.seconds)
            found[case] += values
            speeds[case].append(speed)
    show_latencies(found, speeds)
    with tempfile.TemporaryDirectory() as folder:
        show_reads(asyncio.run(reads(Path(folder), given.payloads, given.rounds)))


if __name__ == "__main__":
    main()
