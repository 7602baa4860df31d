"""`memory_write` over stdio beside a tool that does nothing on the SDK's own stdio server."""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

from store.figures import Figure
from store.wire import Wire
from store.work import Facts

_NOOP = [sys.executable, str(Path(__file__).with_name("noop_server.py"))]
_OURS = [sys.executable, "-m", "handoff_memory"]
_WARM_UP = 60


def measure(folder: Path, *, calls: int, rounds: int) -> list[Figure]:
    """Calls a second of both, in alternating rounds."""
    rates: dict[str, list[float]] = {}
    syncs: list[float] = []
    facts = Facts()
    number = 0

    def given(count: int) -> list[dict[str, object]]:
        nonlocal number
        number += count
        return [facts.arguments(n) for n in range(number - count, number)]

    def plain(count: int) -> list[dict[str, object]]:
        return [{name: one[name] for name in ("scope", "key", "value")} for one in given(count)]

    with (
        Wire(_NOOP, {}) as noop,
        Wire(_OURS, _environment(folder, "relaxed")) as relaxed,
        Wire(_OURS, _environment(folder, "full")) as durable,
    ):
        noop.call("noop", plain(_WARM_UP))
        for ours in (relaxed, durable):
            ours.call("memory_write", given(_WARM_UP))
        for _ in range(rounds):
            for width in (1, 16):
                arms = (("noop", noop), ("relaxed", relaxed), ("durable", durable))
                for name, wire in arms:
                    tool, work = ("noop", plain) if wire is noop else ("memory_write", given)
                    lines, before = work(calls), wire.cpu_s()
                    rate = wire.call(tool, lines, in_flight=width)
                    used = (wire.cpu_s() - before) / calls * 1000
                    rates.setdefault(f"cpu {name} {width}", []).append(used)
                    rates.setdefault(f"{name} {width}", []).append(rate)
            syncs.append(sync_s(folder, calls))
    return _figures({name: statistics.median(each) for name, each in rates.items()}, syncs)


def _figures(rate: dict[str, float], syncs: list[float]) -> list[Figure]:
    allowed = 1 / (1 / rate["noop 1"] + statistics.median(syncs))
    unit = "calls/s"
    return [
        Figure("stdio relaxed, one at a time", rate["relaxed 1"], rate["noop 1"], unit, 1.0),
        Figure("stdio relaxed, 16 in flight", rate["relaxed 16"], rate["noop 16"], unit, 1.5),
        Figure("stdio durable, beside no-op + fdatasync", rate["durable 1"], allowed, unit, 0.8),
        Figure("stdio durable, 16 in flight, beside no-op", rate["durable 16"], rate["noop 16"]),
        *(
            Figure(
                f"stdio relaxed, CPU of a call with {width} in flight",
                *(rate[f"cpu relaxed {width}"], rate[f"cpu noop {width}"]),
                "ms",
                note="which other work on the machine stretches less",
            )
            for width in (1, 16)
        ),
    ]


def sync_s(folder: Path, count: int) -> float:
    """Median seconds of appending 4 KiB to a file and syncing it."""
    times = []
    fd = os.open(folder / "sync", os.O_CREAT | os.O_WRONLY)
    try:
        for _ in range(count):
            began = time.perf_counter()
            os.write(fd, bytes(4096))
            getattr(os, "fdatasync", os.fsync)(fd)
            times.append(time.perf_counter() - began)
    finally:
        os.close(fd)
        (folder / "sync").unlink()
    return statistics.median(times)


def _environment(folder: Path, durability: str) -> dict[str, str]:
    return {
        "MEMORY_DB": str(folder / f"stdio-{durability}.db"),
        "OSIRIS_HOME": str(folder / "home"),
        "MEMORY_DURABILITY": durability,
        "AGENT_ID": "bench",
    }
