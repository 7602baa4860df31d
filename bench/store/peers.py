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
        kept[name] = _kept(name, folder, file, 2 * size, _AT_ONCE)
        kept[f"{name} 4"] = _by_four(command, env, tool, shape, 3 * size)
        kept[f"{name} 4"] = _kept(name, folder, file, 3 * size, 200)
    return [
        Figure(f"server-memory at {size:,}: writes, ours durable", rate["ours"], rate["theirs"],
               "/s", 15.0),
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


# --- libraries: langgraph's SQLite store, AMFS with its filesystem adapter, ours in process --------


def _libraries(folder: Path, python: Path, count: int) -> list[Figure]:
    arms = {"ours": sys.executable, "langgraph": str(python), "langgraph-async": str(python)}
    if count <= 1000:
        arms["amfs"] = str(python)  # its listing alone takes a second at 10,000
    found: dict[str, dict[str, float]] = {}
    script = str(Path(__file__).with_name("library.py"))
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    for name, program in arms.items():
        place = folder / f"{name}-{count}"
        place.mkdir(exist_ok=True)
        done = subprocess.run(
            [program, script, name, str(place), str(count), str(_BATCH)],
            stdout=subprocess.PIPE,
            env=env,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            found[name] = json.loads(done.stdout.splitlines()[-1])
    ours = found["ours"]
    figures = []
    for name, theirs in found.items():
        if name == "ours":
            continue
        told = f"{name} lost {theirs['lost']:.0f}, ours {ours['lost']:.0f}"
        is_bar = name.startswith("langgraph")
        for what in ("write", "read"):
            figures.append(
                Figure(
                    *(f"{name} at {count:,}: {what}", ours[what], theirs[what], "us"),
                    1.0 if is_bar else None,
                    at_most=True,
                    note=told,
                )
            )
        if "batch" in theirs:
            figures.append(
                Figure(f"{name} at {count:,}: {_BATCH} at once", ours["batch"], theirs["batch"],
                       "/s", 0.25)
            )  # fmt: skip
    return figures


def median_us(times: list[float]) -> float:
    """Microseconds."""
    return statistics.median(times) * 1e6
