"""The same work by peers, each installed by this script when it is asked for, in the same run.

A peer is told by what it lost, too: what it acknowledged and did not keep.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from store.figures import Figure
from store.wire import Wire
from store.work import Facts

_SERVER = "@modelcontextprotocol/server-memory"
_LIBRARIES = ("langgraph-checkpoint-sqlite", "amfs", "amfs-core", "amfs-adapter-filesystem")
_AT_ONCE = 64
_BATCH = 400
_ROUNDS = 7


def measure(folder: Path, home: Path, *, quick: bool) -> list[Figure]:
    """Every peer beside us."""
    python, server = _installed(home)
    size = 1000 if quick else 10_000
    figures = _server_memory(folder, server, size)
    for count in (1000,) if quick else (1000, 10_000):
        figures += _libraries(folder, python, count)
    return figures


def _installed(home: Path) -> tuple[Path, Path]:
    python, npm = home / "venv/bin/python", home / "npm"
    if not python.exists():
        venv.create(home / "venv", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *_LIBRARIES], check=True)
    server = npm / "node_modules" / _SERVER / "dist/index.js"
    if not server.exists():
        npm.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--prefix", str(npm), "--no-package-lock", "--no-audit"]
        subprocess.run([*command, "--no-fund", "--loglevel=error", _SERVER], check=True)
    return python, server


# --- server-memory: a knowledge graph in one JSON file, over stdio --------------------------------


def _server_memory(folder: Path, server: Path, size: int) -> list[Figure]:
    theirs, ours = ["node", str(server)], [sys.executable, "-m", "handoff_memory"]
    file = folder / "graph.jsonl"
    settings = {"MEMORY_DB": str(folder / "peer.db"), "OSIRIS_HOME": str(folder / "home")}
    arms = {
        "theirs": (theirs, {"MEMORY_FILE_PATH": str(file)}, "create_entities", _entity),
        "ours": (ours, {**settings, "AGENT_ID": "bench"}, "memory_write", Facts.arguments),
    }
    rate, kept = {}, {}
    for name, (command, env, tool, shape) in arms.items():
        facts = Facts()
        with Wire(command, env) as wire:
            wire.call(tool, [shape(facts, n) for n in range(200)])
            _grow(name, wire, facts, file, size)
            given = [shape(facts, n) for n in range(size, size + 60)]
            rate[name] = wire.call(tool, given)
            given = [shape(facts, n) for n in range(2 * size, 2 * size + _AT_ONCE)]
            wire.call(tool, given, in_flight=_AT_ONCE)
        if name == "ours":  # as server-memory does it: acknowledged, not synced
            given = [shape(facts, n) for n in range(4 * size, 4 * size + 60)]
            with Wire(command, {**env, "MEMORY_DURABILITY": "relaxed"}) as wire:
                wire.call(tool, [shape(facts, 4 * size - 1)])
                rate["relaxed"] = wire.call(tool, given)
        kept[name] = _kept(name, folder, file, 2 * size, _AT_ONCE)
        kept[f"{name} 4"] = _by_four(command, env, tool, shape, 3 * size)
        kept[f"{name} 4"] = _kept(name, folder, file, 3 * size, 200)
    return [
        Figure(f"server-memory at {size:,}: writes, ours durable", rate["ours"], rate["theirs"],
               "/s", 15.0),
        Figure("… ours relaxed: neither syncs", rate["relaxed"], rate["theirs"], "/s", 15.0),
        Figure("… of 64 acknowledged at once, kept", kept["ours"], _AT_ONCE, "", 1.0,
               note=f"server-memory kept {kept['theirs']}"),
        Figure("… of 200 acknowledged by 4 processes, kept", kept["ours 4"], 200, "", 1.0,
               note=f"server-memory kept {kept['theirs 4']}"),
    ]  # fmt: skip


def _entity(facts: Facts, number: int) -> dict[str, Any]:
    given = facts.arguments(number)
    name = f"{given['scope']}/{given['key']}"
    told = json.dumps(given["value"])
    return {"entities": [{"name": name, "entityType": "fact", "observations": [told]}]}


def _grow(name: str, wire: Wire, facts: Facts, file: Path, size: int) -> None:
    """Up to that many records: by its own format where one at a time would take an hour."""
    if name == "ours":
        wire.call("memory_write", [facts.arguments(n) for n in range(200, size)], in_flight=16)
        return
    with file.open("a") as graph:
        for number in range(200, size):
            (one,) = _entity(facts, number)["entities"]
            graph.write("\n" + json.dumps({"type": "entity", **one}))


def _kept(name: str, folder: Path, file: Path, first: int, count: int) -> int:
    if name == "theirs":
        names = {json.loads(line)["name"] for line in file.read_text().splitlines() if line}
    else:
        code = (
            "import sqlite3, sys; print(*(f'{s}/{k}' for s, k in "
            "sqlite3.connect(sys.argv[1]).execute('SELECT scope, key FROM records')), sep='\\n')"
        )
        command = [sys.executable, "-c", code, str(folder / "peer.db")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        names = set(done.stdout.split("\n"))
    wanted = (Facts().arguments(n) for n in range(first, first + count))
    return sum(f"{one['scope']}/{one['key']}" in names for one in wanted)


def _by_four(
    command: list[str],
    env: dict[str, str],
    tool: str,
    shape: Callable[[Facts, int], dict[str, Any]],
    first: int,
) -> None:
    """50 writes by each of four servers at once, eight in flight each."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - for this arm alone

    def one(number: int) -> None:
        facts = Facts()
        given = [shape(facts, first + number * 50 + n) for n in range(50)]
        with Wire(command, env) as wire:
            wire.call(tool, given, in_flight=8)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(4)))


# --- libraries: langgraph's SQLite store, AMFS with its filesystem adapter, ours in process -------


class _Store:
    """A store in a process of its own, which works when it is told to."""

    def __init__(self, name: str, program: str, folder: Path, count: int) -> None:
        place = folder / f"{name}-{count}"
        place.mkdir(exist_ok=True)
        script = str(Path(__file__).with_name("library.py"))
        self._process = subprocess.Popen(
            [program, script, name, str(place), str(count), str(_BATCH)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
            text=True,
        )
        self.found: dict[str, list[float]] = {}

    def wait(self) -> None:
        """Until it is filled."""
        assert self._process.stdout is not None  # noqa: S101
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError("a peer did not start")

    def work(self, what: str) -> None:
        """One round, kept."""
        assert self._process.stdin is not None  # noqa: S101
        assert self._process.stdout is not None  # noqa: S101
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        for name, value in json.loads(self._process.stdout.readline()).items():
            self.found.setdefault(name, []).append(value)

    def median(self, what: str) -> float:
        """Over the rounds."""
        return statistics.median(self.found[what])

    def close(self) -> None:
        """Let it end."""
        self._process.communicate(timeout=60)


def _libraries(folder: Path, python: Path, count: int) -> list[Figure]:
    programs = {
        "ours": sys.executable,
        "langgraph": str(python),
        "ours-async": sys.executable,
        "langgraph-async": str(python),
    }
    if count <= 1000:
        programs["amfs"] = str(python)  # filling it takes too long at 10,000
    stores = {name: _Store(name, program, folder, count) for name, program in programs.items()}
    _take_turns(stores)
    figures = []
    for name, ours in (("langgraph", "ours"), ("langgraph-async", "ours-async"), ("amfs", "ours")):
        if name in stores:
            figures += _beside(stores[ours], stores[name], f"{name} at {count:,}")
    ours, theirs = (stores[name].median("batch") for name in ("ours-async", "langgraph-async"))
    at_once = f"langgraph-async at {count:,}: {_BATCH} at once"
    return [*figures, Figure(at_once, ours, theirs, "/s", 0.25)]


def _take_turns(stores: dict[str, _Store]) -> None:
    for one in stores.values():
        one.wait()
    for _ in range(_ROUNDS):
        for one in stores.values():
            one.work("round")
        for name in ("ours-async", "langgraph-async"):
            stores[name].work("batch")
    for one in stores.values():
        one.work("lost")
        one.close()


def _beside(ours: _Store, theirs: _Store, name: str) -> list[Figure]:
    asked = 1.0 if name.startswith("langgraph") else None
    told = f"lost {theirs.median('lost'):.0f}, ours {ours.median('lost'):.0f}"
    return [
        Figure(f"{name}: {what}", ours.median(what), theirs.median(what), "us", asked,
               at_most=True, note=told)
        for what in ("write", "read")
    ]  # fmt: skip
