"""A process that uses the memory as a server does, and says on stdout what was acknowledged.

`worker.py MODE DATABASE [JSON]`. Each line is one write to the pipe, made only after the
acknowledgement, so that whoever kills this process knows exactly what it was promised.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from handoff_memory.app import App, open_app, open_local
from handoff_memory.core.errors import MemoryFault
from handoff_memory.services import memory, search, verify
from handoff_memory.services.limits import Limits
from handoff_memory.settings import Settings
from handoff_memory.store import driver

SCOPE = "stress"


def settings(database: Path, agent: str = "tester", **more: Any) -> Settings:
    return Settings(
        home=database.parent / "home",
        database=database,
        folder=database.parent,
        agent=agent,
        **more,
    )


async def put(app: App, key: str, value: Any = None, **more: Any) -> int:
    """The version that a write was acknowledged with."""
    draft = memory.draft_record(Limits(), scope=SCOPE, key=key, value=value)
    who = app.identity.author()
    reply = await app.write(lambda tx: memory.write(tx, who, draft, **more))
    return int(reply["version"])


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def attempt(app: App, key: str, value: Any) -> str | None:
    """Write and say so; the code of the error otherwise."""
    began = time.monotonic()
    try:
        version = await put(app, key, value)
    except MemoryFault as fault:
        say("failed", key, fault.code, fault.retryable, bool(fault.next_step))
        return fault.code
    say("kept", key, version, f"{time.monotonic() - began:.4f}")
    return None


async def write_on(
    app: App, name: str, in_flight: int = 8, size: int = 40, shared: int = 0
) -> None:
    """Keep writing until the input ends; every `shared`th write goes to a key that all share."""
    value = "x" * size
    waiting = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))

    async def lane(number: int) -> None:
        count = 0
        while not waiting.done():
            count += 1
            key = "shared" if shared and count % shared == 0 else f"{name}-{number}-{count}"
            await attempt(app, key, value)

    async with asyncio.TaskGroup() as group:
        for number in range(in_flight):
            group.create_task(lane(number))


async def bulk(app: App, name: str, count: int, in_flight: int = 64) -> None:
    """Write that many records, as an import would."""
    numbers = iter(range(count))

    async def lane() -> None:
        for number in numbers:
            await attempt(app, f"{name}-{number}", {"text": f"imported record number {number}"})

    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(lane())


async def fill(app: App, name: str, size: int, batch: int = 32, refusals: int = 5) -> None:
    """Write in batches until nothing fits; once told that there is room, write one batch more."""

    async def one(number: int) -> str | None:
        word = f"{number} "
        return await attempt(app, f"{name}-{number}", word * (size // len(word)))

    refused = written = 0
    while refused < refusals and written < 20_000:
        codes = await asyncio.gather(*(one(written + number) for number in range(batch)))
        written += batch
        refused = refused + 1 if all(codes) else 0
    say("full")
    await asyncio.to_thread(sys.stdin.readline)
    await asyncio.gather(*(one(written + number) for number in range(batch)))


async def read_on(app: App, name: str, seconds: float) -> None:
    """Read and search, 50 at once, again and again."""
    who = app.identity.author()
    until = time.monotonic() + seconds
    asked = search.Search(query="imported record")

    async def one(number: int) -> None:
        if number % 2:
            await app.read(lambda tx: search.search(tx, who, Limits(), asked, limit=10))
        else:
            await app.read(lambda tx: search.search(tx, who, Limits(), search.Search(), limit=10))

    rounds = 0
    while time.monotonic() < until:
        await asyncio.gather(*(one(number) for number in range(50)))
        rounds += 1
    say("read", name, rounds * 50)


MODES: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {
    "write": write_on,
    "bulk": bulk,
    "fill": fill,
    "read": read_on,
}


async def run(mode: str, chosen: Settings, given: dict[str, Any]) -> None:
    async with open_app(chosen) as app:
        await app.open()
        say("ready")
        if given.pop("barrier", False):
            sys.stdin.readline()
        await MODES[mode](app, **given)
    say("closed")


def hold(database: Path, begin: str = "BEGIN IMMEDIATE") -> None:
    """Keep the database's own write lock until a line or the end of the input."""
    conn = driver.connect(str(database), isolation_level=None, timeout=10)
    for statement in begin.split(";"):
        conn.execute(statement).fetchall()
    say("held")
    sys.stdin.readline()
    if conn.in_transaction:
        conn.execute("ROLLBACK")
    conn.close()
    say("released")


def checked(chosen: Settings) -> dict[str, Any]:
    """What a verification says."""
    with open_local(chosen) as local:
        return local.read(verify.verify)


def main() -> None:
    mode, database, *rest = sys.argv[1:]
    given = json.loads(rest[0]) if rest else {}
    if mode == "hold":
        hold(Path(database), **given)
        return
    more = {name: given.pop(name) for name in ("durable", "deadline_s") if name in given}
    chosen = settings(Path(database), given.setdefault("name", "worker"), **more)
    asyncio.run(run(mode, chosen, given))


if __name__ == "__main__":
    main()
