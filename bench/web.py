"""What the dashboard costs: server time of each page at 100,000 records, and what writers notice.

Run it with the project's own Python: `make bench-web`. A page is asked for as a server hands it
over, so the network is left out. Writers append to a copy of the same memory, in turn with nobody
looking and with ten pages open in a dashboard of its own process, each of which follows the stream
and is fetched anew as a browser would. Linux only: it reads a process's times in /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import scene
from actors import Agent
from asking import TOKEN, Browser, every_page
from handoff_memory.app import Local, open_local, open_view
from handoff_memory.core.author import Author
from handoff_memory.services import memory
from handoff_memory.settings import Settings
from handoff_memory.web import serving
from handoff_memory.web.site import Site

LIMIT_MS = 100.0
PAGES = 10
BATCH = 500
WORDS = (
    "parser",
    "retry",
    "invoice",
    "cart",
    "timeout",
    "schema",
    "cache",
    "login",
    "index",
    "queue",
)
LEAST_GAP_S, GAP_FOR_WORK = 2.0, 50  # as in static/live.js


class Times(NamedTuple):
    """Milliseconds of a page: as a reader waits, and of the processor alone."""

    wall: float
    cpu: float


def filled(local: Local, count: int) -> dict[str, str]:
    """A memory of so many records, and something of everything else."""
    limits, who = local.settings.limits, Author("filler", "s_filler")

    def some(start: int) -> Callable[[object], None]:
        def operation(tx: object) -> None:
            for n in range(start, min(count, start + BATCH)):
                words = " ".join(WORDS[(n * k + k) % len(WORDS)] for k in range(1, 12))
                draft = memory.draft_record(
                    limits, scope=f"service/{n % 977}", key=f"fact-{n}", value=f"{words} {n}"
                )
                memory.write(tx, who, draft)  # type: ignore[arg-type]

        return operation

    for start in range(0, count, BATCH):
        local.write(some(start))
    numbers = iter(range(1_000))
    agents: dict[str, Author] = {}

    def agent(name: str) -> Agent:
        who = agents.setdefault(name, Author(name, f"s_{next(numbers)}"))
        return Agent(local, who)

    return scene.play(local, agent)


async def timed(settings: Settings, paths: list[str], rounds: int) -> dict[str, Times]:
    """Milliseconds of server time of each page, at the median, and of the processor beside."""
    found: dict[str, list[Times]] = {path: [] for path in paths}
    async with open_view(settings) as view:
        site = Site(view)
        browser = Browser(serving.guarded(site.app, host="127.0.0.1", port=8770, token=TOKEN))
        for _ in range(rounds + 1):
            for path in paths:
                begun, worked = time.perf_counter(), time.process_time()
                answer = await browser(path)
                took, cpu = time.perf_counter() - begun, time.process_time() - worked
                found[path].append(Times(took * 1000, cpu * 1000))
                if answer.status != 200:
                    raise SystemExit(f"{path}: {answer.status}")
    return {
        path: Times(*(statistics.median(column) for column in zip(*times[1:], strict=True)))
        for path, times in found.items()
    }


class Tab(threading.Thread):
    """An open page: it follows the stream, and fetches itself anew when something was written."""

    def __init__(self, port: int, cookie: str, path: str) -> None:
        super().__init__(daemon=True)
        self._port, self._headers, self._path = port, {"cookie": cookie}, path
        self.fetched = 0
        self.closed = False

    def run(self) -> None:
        """Follow until closed."""
        stream = http.client.HTTPConnection("127.0.0.1", self._port)
        stream.request("GET", "/events", headers=self._headers)
        answer, not_before = stream.getresponse(), 0.0
        while not self.closed and (line := answer.readline()):
            if line.startswith(b"event: journal") and time.monotonic() >= not_before:
                begun = time.monotonic()
                self._fetch()
                took = time.monotonic() - begun
                not_before = time.monotonic() + max(LEAST_GAP_S, GAP_FOR_WORK * took)
        stream.close()

    def _fetch(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request("GET", self._path, headers=self._headers)
        connection.getresponse().read()
        connection.close()
        self.fetched += 1


@contextmanager
def watched(settings: Settings, paths: list[str]) -> Iterator[tuple[list[Tab], int]]:
    """A dashboard of its own process with those pages open."""
    env = {**os.environ, "MEMORY_DB": str(settings.database), "OSIRIS_HOME": str(settings.home)}
    command = [sys.executable, "-m", "handoff_memory", "dashboard", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None  # noqa: S101
        url = json.loads(process.stdout.readline())["url"]
        base, _, token = url.partition("/?token=")
        port = int(base.rpartition(":")[2])
        tabs = [Tab(port, f"handoff_memory_{port}={token}", path) for path in paths]
        for tab in tabs:
            tab.start()
        time.sleep(1)
        yield tabs, process.pid
        for tab in tabs:
            tab.closed = True
        process.terminate()


def written_per_s(settings: Settings, seconds: float) -> float:
    """The same, of a writer that is a process of its own."""
    command = [sys.executable, __file__, "--writer", str(settings.database), str(seconds)]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def write(database: Path, seconds: float) -> float:
    """How many records are appended in a second, each synced before it counts."""
    settings = Settings(home=database.parent, database=database, folder=database.parent)
    with open_local(settings) as local:
        agent = Agent(local, Author("writer", f"s_{time.monotonic_ns()}"))
        agent.write("bench/first")
        count, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            agent.write(f"bench/k{count % 100}", count)
            count += 1
        return count / (time.perf_counter() - begun)


def main() -> None:
    """Measure, print, and fail where a page takes longer than asked for."""
    if sys.argv[1:2] == ["--writer"]:
        print(write(Path(sys.argv[2]), float(sys.argv[3])))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--writes-s", type=float, default=6.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = Settings(home=folder / "home", database=folder / "m.db", folder=folder)
        with open_local(settings._replace(durable=False)) as local:
            ids = filled(local, given.records)
        paths = [path for path in every_page(ids) if not path.startswith("/static")]
        paths += ["/memory?q=parser+retry", "/memory?q=timeout&scope=service/3", "/log?agent=scout"]
        print(f"{platform.platform()}, Python {platform.python_version()}")
        print(f"{given.records:,} records, server time in ms (processor), median of {given.rounds}")
        pages = asyncio.run(timed(settings, paths, given.rounds))
        for path, ms in sorted(pages.items(), key=lambda pair: -pair[1].wall):
            print(f"{ms.wall:8.1f} ({ms.cpu:6.1f})  {path}")
        worst = max(ms.wall for ms in pages.values())
        print(f"worst {worst:.1f} ms; asked for: at most {LIMIT_MS:.0f} ms")
        _writers(settings, given.rounds, given.writes_s)
    sys.exit(worst > LIMIT_MS)


def _writers(settings: Settings, rounds: int, seconds: float) -> None:
    paths = ["/", "/handoffs", "/memory", "/tasks", "/log"] * (PAGES // 5)
    alone, seen, fetched, worked = [], [], 0, 0.0
    for turn in range(rounds):
        if turn % 2:
            alone.append(written_per_s(settings, seconds))
        with watched(settings, paths) as (tabs, pid):
            before = cpu_s(pid)
            seen.append(written_per_s(settings, seconds))
            worked += cpu_s(pid) - before
            fetched += sum(tab.fetched for tab in tabs)
        if not turn % 2:
            alone.append(written_per_s(settings, seconds))
    ratio = statistics.median(seen) / statistics.median(alone)
    pairs = sorted(after / before for before, after in zip(alone, seen, strict=True))
    print(f"writes a second, median of {rounds} interleaved runs of {seconds:g} s")
    print(f"{statistics.median(alone):8.1f}  nobody looks")
    print(f"{statistics.median(seen):8.1f}  {PAGES} pages open, {fetched:,} times fetched anew")
    print(f"ratio {ratio:.3f}; of each pair {pairs[0]:.2f} to {pairs[-1]:.2f}")
    print(f"the dashboard took {worked / (rounds * seconds):.1%} of a processor")


def cpu_s(pid: int) -> float:
    """Seconds of the processor that a process took so far. Source: proc_pid_stat(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
