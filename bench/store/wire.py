"""A client of a stdio server that costs next to nothing itself: lines written, lines counted."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Wire:
    """One server process and the pipe to it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.server = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**_plain_environment(), **env},
            bufsize=0,
        )
        assert self.server.stdin is not None  # noqa: S101
        assert self.server.stdout is not None  # noqa: S101
        self._in, self._out = self.server.stdin.fileno(), self.server.stdout.fileno()
        self._rest = b""
        self._last_id = 0
        self._send({"method": "initialize", "params": _HELLO, "id": 0})
        while not self._received():
            pass
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, calls: Iterable[dict[str, Any]], *, in_flight: int = 1) -> float:
        """Calls a second: each argument set once, so many unanswered at a time."""
        lines = [self._request(tool, given) for given in calls]
        began = time.perf_counter()
        sent = answered = 0
        while answered < len(lines):
            upto = min(len(lines), answered + in_flight)
            if upto > sent:
                _write_all(self._in, b"".join(lines[sent:upto]))
                sent = upto
            for answer in self._received():
                if b'"isError":true' in answer or b'"error"' in answer[:60]:
                    raise RuntimeError(answer.decode())
                answered += b'"id":' in answer
        return len(lines) / (time.perf_counter() - began)

    def one(self, tool: str, given: dict[str, Any]) -> dict[str, Any]:
        """The result of one call."""
        _write_all(self._in, self._request(tool, given))
        while True:
            for answer in self._received():
                if b'"id":' in answer:
                    found: dict[str, Any] = json.loads(answer)
                    return found

    def cpu_s(self) -> float:
        """CPU seconds of the server so far; 0 where the system does not tell (no /proc)."""
        try:
            fields = Path(f"/proc/{self.server.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """Let the server leave."""
        os.close(self._in)
        self.server.stdin = None
        self.server.wait(20)
        os.close(self._out)
        self.server.stdout = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _request(self, tool: str, given: dict[str, Any]) -> bytes:
        self._last_id += 1
        params = {"name": tool, "arguments": given}
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": "tools/call", "params": params}
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"

    def _send(self, message: dict[str, Any]) -> None:
        _write_all(self._in, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _received(self) -> list[bytes]:
        chunk = os.read(self._out, 1 << 16)
        if not chunk:
            raise RuntimeError("the server left")
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return lines


def _write_all(fd: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _plain_environment() -> dict[str, str]:
    dropped = ("AGENT_ID", "MEMORY_", "OSIRIS_", "CLAUDE_", "PYTHONDONTWRITEBYTECODE")
    return {name: text for name, text in os.environ.items() if not name.startswith(dropped)}
