"""Killed processes, full disks and clients that leave: what was acknowledged stays."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from handoff_memory.core.errors import DatabaseFullError
from stress.harness import (
    MOUNTS,
    POSIX,
    WAIT_S,
    Child,
    Server,
    assert_sound,
    history,
    kept,
    measured,
    small_disk,
    told,
    versions,
)

pytestmark = pytest.mark.stress

LAUNCHER = """
import subprocess, sys
server = subprocess.Popen(sys.argv[1:])
print(server.pid, file=sys.stderr, flush=True)
server.wait()
"""


@POSIX
@pytest.mark.parametrize("durable", [True, False], ids=["full", "relaxed"])
def test_no_acknowledged_write_is_lost_when_writers_are_killed_thirty_times(
    tmp_path: Path, durable: bool
) -> None:
    database = tmp_path / "killed.db"
    chance = random.Random(30)
    promised: dict[str, int] = {}
    shared: list[int] = []
    for number in range(30):
        with ExitStack() as stack:
            writers = [
                stack.enter_context(
                    Child.worker(
                        "write", database, name=f"r{number}w{place}", shared=4, durable=durable
                    )
                )
                for place in range(2)
            ]
            for writer in writers:
                writer.until("ready")
            # Both are killed after a random number of acknowledgements of the first, mid-batch.
            seen = [writers[0].line() for _ in range(chance.randint(1, 120))]
            for writer in writers:
                writer.process.kill()
            lines = [*seen, *writers[0].rest(), *writers[1].rest()]
        acknowledged = kept(lines)
        promised |= {key: version for key, version in acknowledged if key != "shared"}
        shared += [version for key, version in acknowledged if key == "shared"]

        assert told(lines, "failed") == []
        assert told(lines, "closed") == []
        found = versions(database)
        assert promised.items() <= found.items(), f"lost in round {number}"
        assert_sound(database)
    measured(f"{len(promised) + len(shared)} acknowledged in 30 rounds, {len(found)} keys found")

    assert len(promised) + len(shared) >= 1000
    assert len(set(shared)) == len(shared)  # no version was promised twice
    versions_of_shared = history(database, "shared")
    assert versions_of_shared == list(range(1, len(versions_of_shared) + 1))
    assert set(shared) <= set(versions_of_shared)


@MOUNTS
@pytest.mark.parametrize("durable", [True, False], ids=["full", "relaxed"])
@pytest.mark.parametrize("size", [400, 6000])
def test_a_full_disk_loses_nothing_acknowledged_and_keeps_nothing_refused(
    tmp_path: Path, size: int, durable: bool
) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk:
        database = disk / "full.db"
        with ExitStack() as stack:
            writers = [
                stack.enter_context(
                    Child.worker("fill", database, name=f"w{place}", size=size, durable=durable)
                )
                for place in range(2)
            ]
            lines = [line for writer in writers for line in writer.until("full")]
            acknowledged, refused = kept(lines), told(lines, "failed")
            measured(f"{len(acknowledged)} kept, {len(refused)} refused")

            assert acknowledged
            assert {code for _, code, *_ in refused} == {DatabaseFullError.code}
            assert {tuple(rest) for _, _, *rest in refused} == {("True", "True")}
            found = versions(database)
            assert dict(acknowledged).items() <= found.items()
            assert not {key for key, *_ in refused} & found.keys()

            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
            for writer in writers:
                writer.send(b"there is room")
            for writer in writers:
                writer.until("closed")
        assert_sound(database)

        assert len(versions(database)) == len(found) + 64


@MOUNTS
def test_a_server_on_a_full_disk_says_so_and_serves_again_once_a_file_is_deleted(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "disk", "4m") as disk:
        database, ballast = disk / "full.db", disk / "ballast"
        with Server(database, "writer") as server:
            server.hello()
            first = server.call("memory_write", scope="stress", key="first", value="kept")
            subprocess.run(
                ["dd", "if=/dev/zero", f"of={ballast}", "bs=4k"], capture_output=True, check=False
            )

            refused = [
                server.call("memory_write", scope="stress", key=f"k{number}", value="word " * 9000)
                for number in range(5)
            ]
            read = server.call("memory_read", scope="stress", key="first")
            ballast.unlink()
            again = server.call("memory_write", scope="stress", key="k0", value="word " * 9000)
            stats = server.call("memory_stats")

        assert first["version"] == again["version"] == 1
        assert {reply["code"] for reply in refused} == {"database_full"}
        assert all(reply["retryable"] and reply["next"] for reply in refused)
        assert read["value"] == "kept"
        assert stats["failed_writes"] >= 5
        assert versions(database) == {"first": 1, "k0": 1}
        assert_sound(database)


@MOUNTS
def test_a_disk_that_is_full_from_the_start_is_named_and_used_once_there_is_room(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        ballast = disk / "ballast"
        subprocess.run(
            ["dd", "if=/dev/zero", f"of={ballast}", "bs=4k"], capture_output=True, check=False
        )
        with Server(disk / "new.db", "writer") as server:
            server.hello()
            refused = server.call("memory_write", scope="stress", key="k", value=1)
            subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
            written = server.call("memory_write", scope="stress", key="k", value=1)

        assert refused["code"] == "database_full"
        assert written["version"] == 1


@POSIX
def test_a_server_whose_parent_was_killed_is_gone_within_ten_seconds(tmp_path: Path) -> None:
    database = tmp_path / "orphan.db"
    server = Server(database, "orphan")
    server.leave()
    server.ends()
    command = [sys.executable, "-c", LAUNCHER, sys.executable, "-m", "handoff_memory"]
    with Child(command, MEMORY_DB=str(database), AGENT_ID="orphan") as launcher:
        pid = int(launcher.log.get(timeout=WAIT_S))
        launcher.send(
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
            b'"capabilities":{},"clientInfo":{"name":"x","version":"0"}}}'
        )
        assert launcher.line()
        launcher.process.kill()
        began = time.monotonic()

        # Our ends of its pipes stay open; its own end of stdout closes when it is gone.
        assert launcher.rest() == []
        took_s = time.monotonic() - began
    measured(f"gone after {took_s:.2f} s")
    assert took_s < 10
    assert (
        not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes()
    )


@POSIX
@pytest.mark.parametrize("way", ["SIGTERM", "SIGINT", "end of input"])
def test_a_server_that_is_told_to_leave_amid_writes_keeps_what_it_acknowledged(
    tmp_path: Path, way: str
) -> None:
    database = tmp_path / "leaving.db"
    with Server(database, "leaving") as server:
        server.hello()
        for number in range(400):
            arguments = {"scope": "stress", "key": f"k{number}", "value": number}
            server.post("tools/call", {"name": "memory_write", "arguments": arguments})
        lines = [server.line() for _ in range(20)]
        began = time.monotonic()
        if way == "end of input":
            server.leave()
        else:
            server.process.send_signal(getattr(signal, way))

        assert server.ends(10) == 0
        took_s = time.monotonic() - began
        lines += [line.decode() for line in server.rest()]
        assert server.rest(server.log) == []
    # A signal cancels what runs: those callers get a JSON-RPC error, which promises nothing.
    replies = [json.loads(line) for line in lines]
    results = [reply["result"]["structuredContent"] for reply in replies if "error" not in reply]
    acknowledged = {reply["key"]: reply["version"] for reply in results if "version" in reply}
    measured(f"{way}: left after {took_s:.2f} s, {len(acknowledged)} of 400 acknowledged")

    assert took_s < 3
    assert acknowledged.items() <= versions(database).items()
    if way == "end of input":  # who closes its end still gets every answer
        assert len(acknowledged) == 400
    assert_sound(database)
