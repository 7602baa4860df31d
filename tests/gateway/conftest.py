"""A gateway without processes: the lines of one client and one server, on a real memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from handoff_memory.gateway.traffic import Lane, Traffic
from handoff_memory.gateway.watch import Watch
from handoff_memory.settings import Settings

Message = dict[str, Any]


@dataclass
class Line:
    """What went over the gateway, each way; its governor works at once."""

    watch: Watch
    name: str | None = None
    to_client: list[bytes] = field(default_factory=list)
    to_server: list[bytes] = field(default_factory=list)
    held: list[Callable[[], object]] | None = None

    def __post_init__(self) -> None:
        lane = Lane(self.watch, self._later)
        sent = (self.to_client.append, self.to_server.append)
        self.traffic = Traffic(lane, lane, *sent, self.name)
        self._last = 0

    def request(self, method: str, **params: Any) -> int:
        """Send a request as the client; its id."""
        self._last += 1
        asked = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        self.traffic.from_client(orjson.dumps(asked) + b"\n")
        return self._last

    def call(self, tool: str, arguments: Message, result: Message, **meta: Any) -> Message:
        """What the client gets for a call that the server, if asked, answers with that result."""
        asked = len(self.to_server)
        more = {"_meta": meta} if meta else {}
        request_id = self.request("tools/call", name=tool, arguments=arguments, **more)
        if len(self.to_server) > asked:
            self.answer(request_id, result=result)
        return self.received()

    def answer(self, request_id: int, **content: Any) -> bytes:
        """Answer a request as the server; the line that it wrote."""
        line = orjson.dumps({"jsonrpc": "2.0", "id": request_id, **content}) + b"\n"
        self.traffic.from_server(line)
        return line

    def received(self) -> Message:
        """What the client was sent last."""
        found: Message = orjson.loads(self.to_client[-1])
        return found

    def _later(self, work: Callable[[], object]) -> None:
        if self.held is None:
            work()
        else:
            self.held.append(work)


@pytest.fixture
def watch(settings: Settings) -> Iterator[Watch]:
    opened = Watch(settings, announced="scout", steps_back=True)
    yield opened
    opened.close()


@pytest.fixture
def line(watch: Watch) -> Line:
    return Line(watch)
