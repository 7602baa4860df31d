"""What a hook costs: wall time of each as a process, beside `python -c "import sqlite3, orjson"`.

Run it with the project's own Python: `make bench-hooks`. The runs alternate, so that a machine
whose speed drifts drifts for all. Each hook works on a database that holds a task with some
history. Beside the wall time stands the CPU time, which other work on the machine stretches less.
POSIX only: it reads the CPU time of finished children.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import handoff_memory
from handoff_memory.rules import tokens
from handoff_memory.store import driver

ROUNDS = 15
HISTORY = 40
LIMIT = 2.0
BASE = "import sqlite3, orjson"


class Client:
    """Claude Code with one session in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls = 0
        dropped = ("AGENT_ID", "MEMORY_", "OSIRIS_", "CLAUDE_", "PYTHONDONTWRITEBYTECODE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        self.env = {
            **kept,
            "MEMORY_DB": str(folder / "bench.db"),
            "OSIRIS_HOME": str(folder / "home"),
            "CLAUDE_PROJECT_DIR": str(folder),
            "OSIRIS_HOOK_DEADLINE_MS": "20000",
        }

    def fire(self, event: str, name: str, **fields: Any) -> bytes:
        """Run a hook; its answer."""
        told = {"session_id": "bench", "cwd": str(self._folder), "hook_event_name": name, **fields}
        done = subprocess.run(
            [sys.executable, "-m", "handoff_memory", "hook", event, "--client", "claude-code"],
            input=json.dumps(told).encode(),
            stdout=subprocess.PIPE,
            env=self.env,
            check=True,
        )
        return done.stdout

    def before(self) -> bytes:
        """Before a shell command that no earlier one resembles."""
        return self.fire("before-tool", "PreToolUse", **self._call())

    def after(self, out: str) -> bytes:
        """After one."""
        told = {"stdout": out, "stderr": "", "interrupted": False, "isImage": False}
        return self.fire("after-tool", "PostToolUse", **self._call(), tool_response=told)

    def opening(self) -> bytes:
        """At the start of a session."""
        return self.fire("session-start", "SessionStart", source="startup")

    def prompted(self) -> bytes:
        """At a prompt."""
        return self.fire("prompt", "UserPromptSubmit", prompt="Mend the test in src/shop.py")

    def _call(self) -> dict[str, Any]:
        self._calls += 1
        command = f"python -m build --step {self._calls} --target part{self._calls}"
        call = {"tool_name": "Bash", "tool_input": {"command": command}}
        return {**call, "tool_use_id": f"t{self._calls}"}


def output(of_tokens: int) -> str:
    """An output of about so many tokens, no two alike."""
    seed = time.perf_counter_ns()
    lines = [f"{seed + n}: module_{n % 97}.py compiled in {n % 13} ms" for n in range(of_tokens)]
    size, text = tokens.estimate("\n".join(lines[:200])) / 200, "\n".join(lines)
    return "\n".join(lines[: int(of_tokens / size)]) if size else text


class Cost(NamedTuple):
    """Seconds of one run: on the wall, and of CPU in the processes it started."""

    wall: float
    cpu: float


def cost_of(run: Callable[[], object]) -> Cost:
    """What a call costs."""
    before, began = os.times(), time.perf_counter()
    run()
    wall, after = time.perf_counter() - began, os.times()
    user = after.children_user - before.children_user
    return Cost(wall, user + after.children_system - before.children_system)


def main() -> None:
    """Measure, print ratios with their absolute numbers, and fail where the limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    compileall.compile_dir(Path(handoff_memory.__file__).parent, quiet=2)
    found: dict[str, list[Cost]] = {}
    with tempfile.TemporaryDirectory() as folder:
        client = Client(Path(folder))
        for _ in range(HISTORY):
            client.after(output(50))
        assert b"updatedToolOutput" in client.after(output(20_000))  # noqa: S101
        for _ in range(rounds):
            for name, run in runs(client).items():
                found.setdefault(name, []).append(cost_of(run))
    show(found, rounds)


def runs(client: Client) -> dict[str, Callable[[], object]]:
    """The runs of one round; what they are given is made before any clock runs."""
    small, big = output(50), output(20_000)
    command = [sys.executable, "-c", BASE]
    return {
        "base": lambda: subprocess.run(command, env=client.env, check=True),
        "before-tool": client.before,
        "after-tool, 50 tokens": lambda: client.after(small),
        "after-tool, 20,000 tokens": lambda: client.after(big),
        "session-start": client.opening,
        "prompt": client.prompted,
    }


def show(found: dict[str, list[Cost]], rounds: int) -> None:
    """Print what was found; exit 1 where a median passes the limit."""
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()},")
    print(f"SQLite {driver.VERSION} in the hook, {sqlite3.sqlite_version} at the base,", end=" ")
    print(f"orjson {version('orjson')}; load {os.getloadavg()[0]:.1f}")
    print(f"base: python -c '{BASE}'; medians of {rounds} alternating rounds")
    print(f"{'':26} {'wall ms':>8} {'(least)':>8} {'ratio':>7}   {'CPU ms':>7} {'ratio':>7}")
    base = _median(found["base"])
    worst = 0.0
    for name, costs in found.items():
        mid, least = _median(costs), min(cost.wall for cost in costs)
        wall, cpu = mid.wall / base.wall, mid.cpu / base.cpu
        worst = max(worst, wall)
        print(
            f"{name:26} {mid.wall * 1e3:8.1f} {f'({least * 1e3:.1f})':>8} {wall:5.2f} x   "
            f"{mid.cpu * 1e3:7.1f} {cpu:5.2f} x"
        )
    print(f"asked for: at most {LIMIT} x of the wall time")
    sys.exit(worst > LIMIT)


def _median(costs: list[Cost]) -> Cost:
    return Cost(*(statistics.median(values) for values in zip(*costs, strict=True)))


if __name__ == "__main__":
    main()
