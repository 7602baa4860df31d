"""A model endpoint on 127.0.0.1 that plays a script, and keeps what it was sent.

The step is chosen from the request alone (how many turns have called tools), so a client may
retry. Tools are found by a pattern, since each client gives them names of its own.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

from agents.wires import Anthropic, Called, Chat, Gemini, Responses, Sent, Turn, Wire

WIRES: Mapping[str, Wire] = {
    "/messages": Anthropic(),
    "/chat/completions": Chat(),
    "/responses": Responses(),
    ":generateContent": Gemini(),
    ":streamGenerateContent": Gemini(),
}
LISTED = {"object": "list", "data": [{"id": "scripted", "object": "model", "created": 1}]}


@dataclass(frozen=True)
class Copied:
    """An argument that the model copies from a tool's result.

    Attributes:
        pattern: Its first group is the value, in the newest result where it is found; digits
            become a number.
    """

    pattern: str


@dataclass(frozen=True)
class Use:
    """A tool that the script calls.

    Attributes:
        tool: Pattern for the name that the client gave the tool.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


Script = Sequence[Use]


class OffScriptError(Exception):
    """The script asks for what this client does not offer."""


class Model:
    """The scripted model behind an address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._script: Script = ()
        self._sent: list[Sent] = []
        self._faults: list[str] = []
        self._lock = threading.Lock()

    def play(self, script: Script) -> None:
        """Take up a script, and forget what was sent before."""
        with self._lock:
            self._script, self._sent, self._faults = script, [], []

    @property
    def sent(self) -> list[Sent]:
        """What the model was sent, oldest first, where it had tools to call.

        Raises:
            OffScriptError: A step could not be played.
        """
        with self._lock:
            if self._faults:
                raise OffScriptError("; ".join(self._faults))
            return [sent for sent in self._sent if sent.tools]

    def answer(self, sent: Sent) -> Turn:
        """The turn that the script has for a request."""
        with self._lock:
            self._sent.append(sent)
            if not sent.tools or sent.rounds >= len(self._script):
                return Turn(sent.rounds, text="DONE")
            try:
                call = _resolved(self._script[sent.rounds], sent)
            except OffScriptError as fault:
                self._faults.append(f"step {sent.rounds}: {fault}")
                return Turn(sent.rounds, text="DONE")
            return Turn(sent.rounds, calls=(call,))


@contextmanager
def scripted_model() -> Iterator[Model]:
    """A model that listens until the block ends."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint) as server:
        model = Model(f"http://127.0.0.1:{server.server_port}")
        server.model = model  # type: ignore[attr-defined] - how http.server hands things on
        listening = threading.Thread(target=server.serve_forever, daemon=True)
        listening.start()
        try:
            yield model
        finally:
            server.shutdown()
            listening.join()


def _resolved(step: Use, sent: Sent) -> Called:
    names = [name for name in sent.tools if re.search(step.tool, name)]
    if not names:
        raise OffScriptError(f"no tool {step.tool!r} among {sorted(sent.tools)}")
    return Called(names[0], _filled(step.arguments, sent))


def _filled(value: Any, sent: Sent) -> Any:
    match value:
        case Copied():
            return _copied(value.pattern, sent)
        case Mapping():
            return {key: _filled(item, sent) for key, item in value.items()}
        case list():
            return [_filled(item, sent) for item in value]
        case _:
            return value


def _copied(pattern: str, sent: Sent) -> str | int:
    for result in reversed(sent.results):
        if found := re.findall(pattern, result.text):
            text: str = found[-1]
            return int(text) if text.isdigit() else text
    raise OffScriptError(f"nothing like {pattern!r} in the results so far")


class _Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Stay silent: a test's output is its own."""

    def do_HEAD(self) -> None:
        self._reply(b"")

    def do_GET(self) -> None:
        self._reply(orjson.dumps(LISTED))

    def do_POST(self) -> None:
        body = orjson.loads(self.rfile.read(int(self.headers["content-length"])))
        path = self.path.partition("?")[0]
        if path.endswith("count_tokens"):
            self._reply(b'{"input_tokens":100}')
        elif path.endswith(":countTokens"):
            self._reply(b'{"totalTokens":100}')
        elif wire := next((wire for end, wire in WIRES.items() if path.endswith(end)), None):
            self._answer(wire, body, streams=body.get("stream") or "stream" in path)
        else:
            self._reply(b'{"error":{"message":"not found"}}', status=404)

    def _answer(self, wire: Wire, body: dict[str, Any], *, streams: bool) -> None:
        sent = wire.read(body)
        turn = self.server.model.answer(sent)  # type: ignore[attr-defined]
        if not streams:
            self._reply(orjson.dumps(wire.whole(turn, sent)))
            return
        lines = []
        for name, event in wire.stream(turn, sent):
            lines.append(f"event: {name}\n" if name else "")
            lines.append(f"data: {orjson.dumps(event).decode()}\n\n")
        if isinstance(wire, Chat):
            lines.append("data: [DONE]\n\n")
        self._reply("".join(lines).encode(), kind="text/event-stream")

    def _reply(self, body: bytes, *, kind: str = "application/json", status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
