"""Processes with every wait bounded: workers, and real servers spoken to in lines of JSON-RPC."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

import pytest

from handoff_memory.app import open_local
from stress import worker

WAIT_S = 60.0
WORKER = str(Path(worker.__file__))
SERVER = [sys.executable, "-m", "handoff_memory"]
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
MOUNTS = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux can mount"
)

MEASURED: list[str] = []


def measured(figures: str) -> None:
    """Figures for the summary of the run."""
    MEASURED.append(figures)


class Child:
    """A process whose stdout is followed line by line."""

    def __init__(self, command: list[str], **environ: str) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(WORKER).parents[1]), **environ},
        )
        self.lines = self._follow(self.process.stdout)
        self.log = self._follow(self.process.stderr)

    @classmethod
    def worker(cls, mode: str, database: Path, **given: Any) -> Self:
        return cls([sys.executable, WORKER, mode, str(database), json.dumps(given)])

    def _follow(self, stream: IO[bytes] | None) -> queue.SimpleQueue[bytes]:
        assert stream is not None
        lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

        def follow() -> None:
            with stream:
                for line in stream:
                    lines.put(line)
            lines.put(b"")

        threading.Thread(target=follow, daemon=True).start()
        return lines

    def send(self, *lines: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def line(self, wait_s: float = WAIT_S) -> str:
        """The next line, empty at the end."""
        return self.lines.get(timeout=wait_s).decode().rstrip("\n")

    def until(self, expected: str) -> list[str]:
        """The lines before the expected one."""
        found = []
        while (line := self.line()) != expected:
            assert line, b"".join(self.rest(self.log)).decode()
            found.append(line)
        return found

    def rest(self, lines: queue.SimpleQueue[bytes] | None = None) -> list[bytes]:
        """Every whole line until the end."""
        return [
            line
            for line in iter(lambda: (lines or self.lines).get(timeout=WAIT_S), b"")
            if line.endswith(b"\n")
        ]

    def ends(self, wait_s: float = WAIT_S) -> int:
        return self.process.wait(wait_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(WAIT_S)
        if self.process.stdin is not None:
            with suppress(OSError):  # what it never read
                self.process.stdin.close()


class Server(Child):
    """A real server, its client already introduced unless told otherwise."""

    def __init__(self, database: Path, agent: str, **environ: str) -> None:
        home = str(database.parent / "home")
        super().__init__(
            SERVER, MEMORY_DB=str(database), AGENT_ID=agent, OSIRIS_HOME=home, **environ
        )
        self._asked = 0
        self.longest_s = 0.0

    def hello(self) -> Any:
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "stress", "version": "0"},
        }
        reply = self.ask("initialize", hello)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return reply

    def post(self, method: str, params: dict[str, Any]) -> int:
        self._asked += 1
        message = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params}
        self.send(json.dumps(message).encode())
        return self._asked

    def ask(self, method: str, params: dict[str, Any] | None = None, wait_s: float = WAIT_S) -> Any:
        began = time.monotonic()
        asked = self.post(method, params or {})
        line = self.line(wait_s)
        assert line, b"".join(self.rest(self.log)).decode()
        reply = json.loads(line)
        assert reply["id"] == asked, reply
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        return reply["result"]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured reply; a promised error has a `code` in it."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        reply: dict[str, Any] = result["structuredContent"]
        assert ("code" in reply) == bool(result.get("isError"))
        return reply


def in_parallel(*works: Callable[[], object]) -> None:
    """Run each in a thread of its own; the first error is raised here."""
    errors: list[BaseException] = []

    def guarded(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S * 3)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


def versions(database: Path) -> dict[str, int]:
    """Every key of the workers' scope and its current version."""
    with open_local(worker.settings(database)) as local:
        rows = local.read(lambda tx: tx.all("SELECT key, version FROM heads"))
    return {row["key"]: row["version"] for row in rows}


def history(database: Path, key: str) -> list[int]:
    """The versions of a key in order."""
    sql = "SELECT version FROM records WHERE key = :key ORDER BY seq"
    with open_local(worker.settings(database)) as local:
        return [row["version"] for row in local.read(lambda tx: tx.all(sql, key=key))]


def assert_sound(database: Path) -> None:
    """A verification finds nothing."""
    report = worker.checked(worker.settings(database))
    assert report["ok"], report["problems"][:5]


def told(lines: Iterable[str | bytes], word: str) -> list[list[str]]:
    """What stands behind that word in each line that begins with it."""
    texts = (line.decode() if isinstance(line, bytes) else line for line in lines)
    return [rest for first, *rest in (text.split() for text in texts) if first == word]


def kept(lines: Iterable[str | bytes]) -> list[tuple[str, int]]:
    """Key and version of each acknowledged write."""
    return [(key, int(version)) for key, version, _ in told(lines, "kept")]


@contextmanager
def small_disk(point: Path, size: str) -> Iterator[Path]:
    point.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(point)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"cannot mount here: {done.stderr.strip()}")
    try:
        yield point
    finally:
        subprocess.run(["umount", "-l", str(point)], check=True)
