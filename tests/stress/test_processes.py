"""Many processes on one file: nothing lost, nobody refused, everybody gets a turn."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from handoff_memory.app import open_app
from stress import worker
from stress.harness import (
    Child,
    Server,
    assert_sound,
    history,
    in_parallel,
    kept,
    measured,
    told,
    versions,
)

pytestmark = pytest.mark.stress


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "shared.db"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def servers(stack: ExitStack, database: Path, count: int, **environ: str) -> list[Server]:
    started = [
        stack.enter_context(Server(database, f"agent-{number}", **environ))
        for number in range(count)
    ]
    in_parallel(*(server.hello for server in started))
    return started


def workers(stack: ExitStack, mode: str, database: Path, count: int, **given: Any) -> list[Child]:
    started = [
        stack.enter_context(Child.worker(mode, database, name=f"w{number}", **given))
        for number in range(count)
    ]
    for child in started:
        child.until("ready")
    return started


def test_eight_servers_append_a_hundred_versions_each_to_one_key(
    stack: ExitStack, database: Path
) -> None:
    started = servers(stack, database, 8)
    barrier = threading.Barrier(8)
    acknowledged: list[int] = []
    refused: list[dict[str, Any]] = []

    def write(server: Server) -> None:
        server.longest_s = 0.0
        barrier.wait(60)
        for number in range(100):
            reply = server.call("memory_write", scope="stress", key="one", value={"number": number})
            if "code" in reply:
                refused.append(reply)
            else:
                acknowledged.append(reply["version"])

    began = time.monotonic()
    in_parallel(*(lambda server=server: write(server) for server in started))  # type: ignore[misc]
    longest_s = max(server.longest_s for server in started)
    measured(f"8 x 100 in {time.monotonic() - began:.1f} s, longest call {longest_s:.3f} s")

    assert refused == []
    assert sorted(acknowledged) == list(range(1, 801))
    assert history(database, "one") == list(range(1, 801))
    assert longest_s < 15
    assert_sound(database)


async def test_two_sdk_clients_with_twenty_writes_in_flight_each_keep_forty(database: Path) -> None:
    async def twenty(agent: str) -> None:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "handoff_memory"],
            env={"MEMORY_DB": str(database), "AGENT_ID": agent},
        )
        async with Client(server) as client, asyncio.TaskGroup() as group:
            for number in range(20):
                arguments = {"scope": "stress", "key": f"{agent}-{number}", "value": number}
                group.create_task(client.call_tool("memory_write", arguments))

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(twenty("a"))
        group.create_task(twenty("b"))

    assert versions(database) == {f"{agent}-{number}": 1 for agent in "ab" for number in range(20)}


def test_of_eight_racers_exactly_one_gets_the_packet_fifty_times(
    stack: ExitStack, database: Path
) -> None:
    author, *racers = servers(stack, database, 9)
    barrier = threading.Barrier(8)
    replies: dict[str, dict[str, Any]] = {}

    def race(name: str, racer: Server, arguments: dict[str, Any]) -> None:
        barrier.wait(60)
        replies[name] = racer.call("handoff_pickup", **arguments)

    for number in range(50):
        replies.clear()
        created = author.call("handoff_create", summary=f"round {number}", next=["go"])
        # Whoever asks for anything gets nothing; whoever asks for this one is told who has it.
        asked = {"packet_id": created["packet_id"]} if number % 2 else {}
        in_parallel(
            *(
                lambda name=name, racer=racer, asked=asked: race(name, racer, asked)  # type: ignore[misc]
                for name, racer in enumerate(racers)
            )
        )

        winners = [name for name, reply in replies.items() if reply.get("packet")]
        assert len(winners) == 1, f"round {number}: {replies}"
        won = replies.pop(winners[0])
        for reply in replies.values():
            if asked:
                holder = f"agent-{int(winners[0]) + 1}"
                assert (reply["code"], reply["holder"]) == ("already_claimed", holder)
                assert reply["lease_until"] == won["lease_until"]
            else:
                assert reply["packet"] is None
        closed = racers[int(winners[0])].call(
            "handoff_create",
            summary="done",
            done=["gone"],
            in_reply_to=created["packet_id"],
            status="done",
            token=won["token"],
        )
        assert closed["closed"]["status"] == "done"
    assert_sound(database)


@pytest.mark.parametrize("attempt", range(5))
def test_nine_servers_started_at_once_on_a_missing_file_all_work(
    stack: ExitStack, database: Path, attempt: int
) -> None:
    def work(number: int) -> None:
        with Server(database, f"agent-{number}") as server:
            server.hello()
            written = server.call("memory_write", scope="stress", key=f"k{number}", value=number)
            read = server.call("memory_read", scope="stress", key=f"k{number}")
            assert (written["version"], read["value"]) == (1, number)
            server.leave()
            assert server.ends() == 0
            assert server.rest(server.log) == []

    in_parallel(*(lambda number=number: work(number) for number in range(9)))  # type: ignore[misc]

    assert versions(database) == {f"k{number}": 1 for number in range(9)}
    assert_sound(database)  # compares the schema with a fresh one, too


def test_reads_and_searches_never_fail_while_two_processes_write(
    stack: ExitStack, database: Path
) -> None:
    writers = workers(stack, "write", database, 2, in_flight=16, shared=5)
    readers = [
        stack.enter_context(Child.worker("read", database, name=f"r{number}", seconds=5))
        for number in range(2)
    ]

    for reader in readers:
        assert reader.ends() == 0, b"".join(reader.rest(reader.log)).decode()
    reads = [int(word[1]) for reader in readers for word in told(reader.rest(), "read")]
    for writer in writers:
        writer.leave()
        assert writer.ends() == 0
    lines = [line for writer in writers for line in writer.rest()]
    measured(f"{sum(reads)} reads beside {len(kept(lines))} writes")

    assert len(reads) == 2
    assert told(lines, "failed") == []
    assert_sound(database)


def test_four_saturated_processes_share_the_database_fairly(
    stack: ExitStack, database: Path
) -> None:
    writers = workers(stack, "write", database, 4, in_flight=4, barrier=True)
    for writer in writers:
        writer.send(b"")
    with pytest.raises(subprocess.TimeoutExpired):
        writers[0].ends(5)  # the window
    for writer in writers:
        writer.leave()
    for writer in writers:
        assert writer.ends() == 0
    lines = [writer.rest() for writer in writers]
    shares = [len(kept(mine)) for mine in lines]
    longest_s = max(float(word[2]) for mine in lines for word in told(mine, "kept"))
    measured(f"shares {shares}, {max(shares) / min(shares):.2f}:1, longest {longest_s:.3f} s")

    assert [told(mine, "failed") for mine in lines] == [[], [], [], []]
    assert max(shares) < 20 * min(shares)
    assert longest_s < 10
    assert_sound(database)


async def test_foreground_writes_stay_quick_while_five_thousand_records_are_imported(
    stack: ExitStack, database: Path
) -> None:
    importer = stack.enter_context(
        Child.worker("bulk", database, name="importer", count=5000, barrier=True)
    )
    importer.until("ready")
    waits: list[float] = []

    async with open_app(worker.settings(database, "foreground")) as app:
        await worker.put(app, "first")
        importer.send(b"")
        while importer.process.poll() is None:
            began = time.monotonic()
            await worker.put(app, f"mine-{len(waits)}")
            waits.append(time.monotonic() - began)

    lines = importer.rest()
    p95_s = statistics.quantiles(waits, n=20)[-1]
    measured(f"{len(waits)} foreground writes: p95 {p95_s:.3f} s, longest {max(waits):.3f} s")
    assert importer.ends() == 0
    assert len(kept(lines)) == 5000
    assert p95_s < 1
    assert len(versions(database)) == 5001 + len(waits)
    assert_sound(database)
