"""Our side of a tool's result, with everything real: guard, gateway, server, schemas, replies.

Each session has a fresh database; the server stands behind an in-process client.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson
from mcp import Client
from typing_extensions import override

from context.payloads import Payload, Question
from context.sides import Shown, Side, call_text, read_stub
from context.transcript import Transcript
from handoff_memory.app import Makers, open_app, open_local
from handoff_memory.gateway.watch import RECALL, Watch
from handoff_memory.guard import Call, Guard, Kept, Outcome, Verdict
from handoff_memory.server.build import build_server
from handoff_memory.settings import Settings

T = TypeVar("T")

SURFACES: Final = ("all", "governor", "dispatch")
NEVER: Final = 10_000_000  # tokens: no first read is shortened
_START_US: Final = 1_796_000_000_000_000


class Served(Side):
    """Our server listed in the client; how results come is for those that stand on this."""

    def __init__(self, client: Client, surface: str, schema: str) -> None:
        self._client, self._surface, self._schema = client, surface, schema
        self._kept: dict[str, str] = {}

    @override
    def begin(self, transcript: Transcript) -> None:
        transcript.read("schema", self._schema)

    @override
    async def ask(self, transcript: Transcript, ref: str, payload: Payload, q: Question) -> str:
        given: dict[str, Any] = {"ref": ref, "op": q.op, "args": q.args}
        reply = await self.call(transcript, RECALL, given)
        transcript.read("recalls", reply)
        found = orjson.loads(reply)
        return "\n".join(str(found[name]) for name in ("text", "left") if found.get(name))

    @override
    async def is_lossless(self) -> bool:
        for ref, digest in self._kept.items():
            found = await self._client.read_resource(f"osiris://ref/{ref}")
            text = found.contents[0].text  # type: ignore[union-attr]
            if hashlib.sha256(text.encode()).hexdigest() != digest:
                return False
        return True

    async def call(self, transcript: Transcript, tool: str, given: dict[str, Any]) -> str:
        """Call one of our tools as the surface offers it; the reply is not put in yet."""
        if self._surface == "dispatch":
            tool, given = "osiris_call", {"op": tool, "args": given}
        transcript.write("arguments", call_text(tool, given))
        result = await self._client.call_tool(tool, given)
        return str(result.content[0].text)  # type: ignore[union-attr]

    def _note(self, ref: str | None, payload: Payload) -> None:
        if ref:
            self._kept[ref] = hashlib.sha256(payload.text.encode()).hexdigest()

    def _put(self, transcript: Transcript, payload: Payload, kept: Kept, warning: str) -> Shown:
        self._note(kept.ref, payload)
        transcript.read("payload" if kept.stub is None else "stubs", kept.stub or payload.text)
        transcript.read("hook_text", "\n".join(note for note in (warning, kept.note) if note))
        return Shown(payload.text) if kept.stub is None else read_stub(kept.stub)


class Hooks(Served):
    """Hooks of a client that lets results be replaced."""

    def __init__(self, client: Client, surface: str, schema: str, guard: Guard) -> None:
        super().__init__(client, surface, schema)
        self._guard = guard

    @override
    def begin(self, transcript: Transcript) -> None:
        super().begin(transcript)
        transcript.read("hook_text", self._guard.opening("startup") or "")

    @override
    async def deliver(self, transcript: Transcript, payload: Payload) -> Shown:
        call = Call(payload.tool, payload.args)
        verdict = _allowed(self._guard.before(call))
        return self._put(
            transcript, payload, self._guard.after(call, _outcome(payload)), verdict.reason
        )

    def tell_of_edit(self, path: str) -> None:
        """The agent itself edits a file."""
        self._guard.after(Call("Edit", {"file_path": path}), Outcome(b"edited"))


class Gateway(Served):
    """The gateway in front of an MCP server, on its own thread, with its recall tool."""

    def __init__(self, client: Client, surface: str, schema: str, watch: Watch) -> None:
        self._watch, self._thread = watch, ThreadPoolExecutor(1)
        recall = self._on_thread(lambda: watch.recall_tool(RECALL))
        super().__init__(client, surface, schema + _schema_text(recall))

    @override
    async def deliver(self, transcript: Transcript, payload: Payload) -> Shown:
        call = Call(payload.tool, payload.args)
        verdict = _allowed(self._on_thread(lambda: self._watch.before(call)))
        kept = self._on_thread(lambda: self._watch.after(call, _outcome(payload)))
        return self._put(transcript, payload, kept, verdict.reason)

    @override
    async def call(self, transcript: Transcript, tool: str, given: dict[str, Any]) -> str:
        transcript.write("arguments", call_text(tool, given))
        result = self._on_thread(lambda: self._watch.recall(given))
        return str(result["content"][0]["text"])

    def close(self) -> None:
        """Close the memory on the thread that opened it."""
        self._on_thread(self._watch.close)
        self._thread.shutdown()

    def _on_thread(self, work: Callable[[], T]) -> T:
        return self._thread.submit(work).result()


class Echo(Served):
    """The server alone: the agent writes every result out as an argument of `osiris_observe`."""

    @override
    async def deliver(self, transcript: Transcript, payload: Payload) -> Shown:
        if not self._kept:
            objective = "answer questions about the import"
            reply = await self.call(transcript, "osiris_plan", {"objective": objective})
            transcript.read("manifest", reply)
        transcript.read("payload", payload.text)
        given = {"tool": payload.tool, "args": payload.args, "result": payload.text}
        apart = Transcript()
        reply = await self.call(apart, "osiris_observe", given)
        echoed = orjson.dumps(payload.text).decode()
        head, _, tail = apart.entries[0].text.partition(echoed)
        transcript.write("arguments", head)
        transcript.write("echoed", echoed)
        transcript.write("arguments", tail)
        transcript.read("replies", reply)
        ref = orjson.loads(reply).get("ref")
        self._note(ref, payload)
        return Shown(payload.text, ref=ref)


@asynccontextmanager
async def served(
    kind: type[Served], folder: Path, surface: str, stub_tokens: int
) -> AsyncIterator[Served]:
    """A side of ours on a fresh database, in a session of its own.

    Args:
        kind: Which one.
        folder: Where the database is made.
        surface: What our server lists; `none` where it is not in the client.
        stub_tokens: From how many tokens on a first read is shortened.
    """
    ticks = itertools.count(_START_US, 1_000)
    makers = Makers(lambda: next(ticks), random.Random(2).randbytes)
    settings = Settings(
        home=folder / "home",
        database=folder / "memory.db",
        folder=folder,
        agent="builder",
        session="session-1",
        durable=False,
        tools="governor" if surface == "governor" else "all",
        dispatch_only=surface == "dispatch",
        stub_tokens=stub_tokens,
    )
    async with open_app(settings, makers) as app, Client(build_server(app)) as client:
        schema = "" if surface == "none" else await _schema(client)
        if kind is Gateway:
            gateway = Gateway(client, surface, schema, Watch(settings))
            try:
                yield gateway
            finally:
                gateway.close()
        elif kind is Hooks:
            with open_local(settings, makers) as local:
                guard = Guard(local, local.identity.author()._replace(pid=None))
                yield Hooks(client, surface, schema, guard)
        else:
            yield kind(client, surface, schema)


async def _schema(client: Client) -> str:
    """What a client puts into a prompt for our server: its instructions and its tools."""
    tools = (await client.list_tools()).tools
    shown = [_schema_text(tool.model_dump(by_alias=True)) for tool in tools]
    return (client.instructions or "") + "".join(shown)


def _schema_text(tool: dict[str, Any]) -> str:
    shown = {"name": tool["name"], "description": tool["description"]}
    return orjson.dumps({**shown, "input_schema": tool["inputSchema"]}).decode()


def _outcome(payload: Payload) -> Outcome:
    return Outcome(payload.text.encode(), exit_status=0 if payload.tool == "Bash" else None)


def _allowed(verdict: Verdict) -> Verdict:
    if verdict.decision in {"block", "ask"}:
        raise ValueError(f"a harmless call was refused: {verdict.reason}")
    return verdict
