"""A long session over stdio: memory, descriptors and the log must not grow with the calls."""

from __future__ import annotations

import sys
from pathlib import Path

from store.figures import Figure
from store.wire import Wire
from store.work import Facts

_STEP = 1000
_LOG_LIMIT_BYTES = 64 << 20


def measure(folder: Path, *, calls: int) -> list[Figure]:
    """A mix of writes, reads and searches; Linux only: it looks into /proc."""
    path = folder / "soak.db"
    env = {"MEMORY_DB": str(path), "OSIRIS_HOME": str(folder / "home"), "AGENT_ID": "bench"}
    facts = Facts()
    samples: list[tuple[int, int, int]] = []
    with Wire([sys.executable, "-m", "handoff_memory"], env) as wire:
        process = Path(f"/proc/{wire.server.pid}")
        for start in range(0, calls, _STEP):
            given = [facts.arguments(n % 20_000) for n in range(start, start + _STEP // 2)]
            wire.call("memory_write", given, in_flight=16)
            names = [{"scope": one["scope"], "key": one["key"]} for one in given]
            wire.call("memory_read", names[: _STEP * 4 // 10], in_flight=16)
            words = [{"query": one["value"]["state"][:12]} for one in given[: _STEP // 10]]
            wire.call("memory_search", words, in_flight=4)
            log = path.with_name(path.name + "-wal").stat().st_size
            samples.append((_resident(process), len(list((process / "fd").iterdir())), log))
    warm = samples[len(samples) // 4 :]
    memory, descriptors, logs = zip(*warm, strict=True)
    return [
        Figure(f"soak of {calls:,} calls: resident memory, last beside first",
               memory[-1] / 2**20, memory[0] / 2**20, "MiB", 1.1, at_most=True,
               note="after a quarter as warm-up"),
        Figure("… descriptors, most beside first", max(descriptors), descriptors[0], "", 1.0,
               at_most=True),
        Figure("… largest log beside its limit", max(logs) / 2**20, _LOG_LIMIT_BYTES / 2**20,
               "MiB", 1.0, at_most=True),
    ]  # fmt: skip


def _resident(process: Path) -> int:
    lines = (process / "status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))
