"""What it costs to start: CPU until the first `tools/list` answer, beside `import mcp` alone.

Run it with the project's own Python: `make bench-startup`. The runs alternate, so that a machine
whose speed drifts drifts for both. POSIX only: it reads the CPU time of finished children.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

RUNS = 9
LIMIT = 1.25
LEGACY = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
]
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}
MODERN = [
    {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": _META}},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": _META}},
]


def cpu_of(run: Callable[[], None]) -> float:
    """CPU seconds of the children that a call starts and waits for."""
    before = os.times()
    run()
    after = os.times()
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )


def import_mcp() -> None:
    """Import the SDK and nothing else."""
    subprocess.run([sys.executable, "-c", "import mcp"], check=True)


def first_list(messages: list[dict[str, object]], folder: Path) -> None:
    """Start a server on a database that is there, and end it once it has listed its tools."""
    env = {**os.environ, "MEMORY_DB": str(folder / "bench.db"), "AGENT_ID": "bench"}
    server = subprocess.Popen(
        [sys.executable, "-m", "handoff_memory"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
    )
    assert server.stdin is not None and server.stdout is not None  # noqa: S101, PT018
    for message in messages:
        server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()
    while b'"id":2' not in server.stdout.readline():
        pass
    server.kill()  # what leaving costs is another question
    server.wait()


def main() -> None:
    """Measure, print ratios with their absolute numbers, and fail where the limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    runs = parser.parse_args().runs
    found: dict[str, list[float]] = {"import mcp": [], "legacy": [], "modern": []}
    with tempfile.TemporaryDirectory() as folder:
        first_list(LEGACY, Path(folder))  # makes the database and the .pyc files
        for _ in range(runs):
            found["import mcp"].append(cpu_of(import_mcp))
            found["legacy"].append(cpu_of(lambda: first_list(LEGACY, Path(folder))))
            found["modern"].append(cpu_of(lambda: first_list(MODERN, Path(folder))))
    print(f"{platform.platform()}, Python {platform.python_version()}, mcp {version('mcp')}")
    print(f"CPU seconds, median of {runs} alternating runs (minimum); ratio of medians")
    base = statistics.median(found["import mcp"])
    worst = 0.0
    for name, seconds in found.items():
        ratio = statistics.median(seconds) / base
        worst = max(worst, ratio)
        print(f"{name:12} {statistics.median(seconds):6.3f} ({min(seconds):.3f})  {ratio:5.2f} x")
    print(f"asked for: at most {LIMIT} x")
    sys.exit(worst > LIMIT)


if __name__ == "__main__":
    main()
