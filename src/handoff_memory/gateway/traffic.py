"""What becomes of each message between one client and the server behind the gateway.

Messages pass as the lines they are. Read and judged are calls of tools; a list of tools loses its
output schemas and gains the recall tool; a greeting gains the capability to have tools. Nothing
else is looked at, so whatever either side adds to the protocol passes too, in both eras.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from handoff_memory.core import calls
from handoff_memory.gateway import messages, results
from handoff_memory.gateway.messages import Id, Message
from handoff_memory.gateway.watch import RECALL, Watch
from handoff_memory.guard import Call, Outcome, Verdict

HEAVY_BYTES: Final = 1 << 20
_GREETINGS: Final = frozenset({"initialize", "server/discover"})
_TOOL_USE: Final = "claudecode/toolUseId"
_PARTS: Final = ("offset", "head", "tail", "start_line", "end_line", "line_range", "view_range")
_NOT_CACHED: Final = {"ttlMs": 0, "cacheScope": "private"}

Send = Callable[[bytes], None]
Later = Callable[[Callable[[], None]], None]
Answered = Callable[[bytes, Message], None]


class Lane(NamedTuple):
    """A guard, and the thread that it lives on.

    Attributes:
        watch: Judges calls and keeps results.
        later: Runs work on its thread, in order.
    """

    watch: Watch
    later: Later


class Traffic:
    """The messages of one client and one server.

    Args:
        lane: Judges all calls, and keeps what is small.
        heavy: Keeps big results, which may take seconds.
        to_client: Sends a line to the client.
        to_server: Sends a line to the server.
        name: What clients call the server, if rules are to know its tools as `mcp__NAME__TOOL`.
    """

    def __init__(
        self, lane: Lane, heavy: Lane, to_client: Send, to_server: Send, name: str | None = None
    ) -> None:
        self._lane, self._heavy = lane, heavy
        self._watch, self._later = lane
        self._to_client, self._to_server = to_client, to_server
        self._prefix = f"mcp__{name}__" if name else ""
        self._announced: str | None = None
        self._lock = threading.Lock()
        self._awaited: dict[Id, Answered | None] = {}
        self._names: set[str] = set()

    def from_client(self, line: bytes) -> None:
        """Treat a line that the client wrote."""
        if not line.strip():
            return
        try:
            message = messages.read(line)
        except ValueError:
            why = "Parse error: send each message as one line of JSON"
            self._to_client(messages.refusal(None, messages.PARSE_ERROR, why))
            return
        if not isinstance(message, dict):  # what came as a batch would pass unjudged
            why = "Invalid request: send one object a line; batches are not taken"
            self._to_client(messages.refusal(None, messages.INVALID_REQUEST, why))
            return
        self._announced = self._announced or messages.announced(message)
        match message.get("method"):
            case "tools/call":
                self._call(line, message)
            case "tools/list":
                self._await(message, partial(self._listed, message))
                self._to_server(line)
            case str(method) if method in _GREETINGS:
                self._await(message, self._greeted)
                self._to_server(line)
            case "notifications/cancelled":
                self._cancel(messages.params_of(message).get("requestId"))
                self._to_server(line)
            case _:
                self._to_server(line)

    def from_server(self, line: bytes) -> None:
        """Treat a line that the server wrote."""
        if not self._awaited:
            self._to_client(line)
            return
        try:
            message = messages.read(line)
        except ValueError:
            message = None
        treat = self._awaiting(message) if isinstance(message, dict) else None
        (treat or self._passed)(line, message)

    # --- calls ---------------------------------------------------------------------------------

    def _call(self, line: bytes, request: Message) -> None:
        request_id = messages.id_of(request)
        tool = messages.params_of(request).get("name")
        if request_id is None or not isinstance(tool, str):
            why = "Invalid request: tools/call takes an id and the name of a tool"
            self._to_client(messages.refusal(request_id, messages.INVALID_REQUEST, why))
        elif tool == self._recall_name:
            self._later(partial(self._recall, request))
        else:
            with self._lock:
                self._awaited[request_id] = None
            self._later(partial(self._judge, line, request, request_id, tool))

    def _judge(self, line: bytes, request: Message, request_id: Id, tool: str) -> None:
        call = Call(self._prefix + tool, _arguments(request), _tool_use(request))
        verdict = self._met(self._lane).before(call)
        refused = verdict.decision in {"block", "ask"}
        with self._lock:
            if request_id not in self._awaited:
                return  # cancelled meanwhile: nobody waits for an answer
            if refused:
                del self._awaited[request_id]
            else:
                self._awaited[request_id] = partial(self._ended, call, verdict)
        if refused:
            self._to_client(messages.answer(request, results.refused(verdict.reason)))
        else:
            self._to_server(line)

    def _ended(self, call: Call, verdict: Verdict, line: bytes, message: Message) -> None:
        lane = self._heavy if len(line) > HEAVY_BYTES else self._lane

        def end() -> None:
            self._to_client(self._governed(self._met(lane), call, verdict, line, message))

        lane.later(end)

    def _governed(
        self, watch: Watch, call: Call, verdict: Verdict, line: bytes, message: Message
    ) -> bytes:
        if "error" in message:
            watch.after(call, Outcome(error=messages.error_of(message)))
            return line
        result = message.get("result")
        if not results.is_output(result):
            return line
        kept = watch.after(call, _outcome(call, result))
        warning = verdict.reason if verdict.decision == "warn" else None
        notes = [note for note in (warning, kept.note) if note]
        if kept.stub is None and not notes:
            return line
        try:
            anew = messages.rewritable(line)
            if kept.stub is not None:
                stub = kept.stub.replace(RECALL, self._recall_name)
                anew["result"] = results.stubbed(anew["result"], stub)
            anew["result"] = results.noted(anew["result"], notes)
            return messages.write(anew)
        except ValueError:  # a number that JSON does not have
            return line

    def _recall(self, request: Message) -> None:
        self._to_client(messages.answer(request, self._met(self._lane).recall(_arguments(request))))

    def _met(self, lane: Lane) -> Watch:
        lane.watch.meet(self._announced)
        return lane.watch

    @property
    def _recall_name(self) -> str:
        name, number = RECALL, 1
        while name in self._names:
            number += 1
            name = f"{RECALL}_{number}"
        return name

    # --- lists and greetings -------------------------------------------------------------------

    def _listed(self, request: Message, line: bytes, message: Message) -> None:
        self._later(lambda: self._to_client(self._list(request, line, message)))

    def _list(self, request: Message, line: bytes, message: Message) -> bytes:
        error, result = message.get("error"), message.get("result")
        if isinstance(error, dict) and error.get("code") == messages.METHOD_NOT_FOUND:
            tools = {"tools": [self._watch.recall_tool(self._recall_name)]}
            more = _NOT_CACHED if messages.is_modern(request) else {}
            return messages.answer(request, {**tools, **more})
        if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
            return line
        if not messages.params_of(request).get("cursor"):
            self._names = set()
        anew = messages.rewritable(line)
        tools_anew = [results.without_output_schema(tool) for tool in anew["result"]["tools"]]
        self._names |= {str(tool.get("name")) for tool in tools_anew if isinstance(tool, dict)}
        if not anew["result"].get("nextCursor"):
            tools_anew.append(self._watch.recall_tool(self._recall_name))
        anew["result"]["tools"] = tools_anew
        return messages.write(anew)

    def _greeted(self, line: bytes, message: Message) -> None:
        result = message.get("result")
        capabilities = result.get("capabilities") if isinstance(result, dict) else None
        if isinstance(capabilities, dict) and "tools" not in capabilities:
            anew = messages.rewritable(line)
            anew["result"]["capabilities"]["tools"] = {}
            line = messages.write(anew)
        self._to_client(line)

    # --- answers that are awaited --------------------------------------------------------------

    def _await(self, request: Message, treat: Answered) -> None:
        request_id = messages.id_of(request)
        if request_id is not None:
            with self._lock:
                self._awaited[request_id] = treat

    def _awaiting(self, message: Message) -> Answered | None:
        request_id = messages.id_of(message)
        if "method" in message or request_id is None:
            return None
        with self._lock:
            return self._awaited.pop(request_id, None)

    def _cancel(self, request_id: Any) -> None:
        if isinstance(request_id, str | int):
            with self._lock:
                self._awaited.pop(request_id, None)

    def _passed(self, line: bytes, _message: Any) -> None:
        self._to_client(line)


def _outcome(call: Call, result: results.Result) -> Outcome:
    text = results.text_of(result)
    failed = result.get("isError") is True
    return Outcome(
        data=None if text is None else text.encode("utf-8", "replace"),
        error=text or "failed" if failed else None,
        partial=calls.only_reads(call.tool) and any(call.args.get(name) for name in _PARTS),
    )


def _tool_use(request: Message) -> str | None:
    """The client's own id of a call, by which its hook tells of the same one."""
    found = messages.meta_of(request).get(_TOOL_USE)
    return found if isinstance(found, str) and found else None


def _arguments(request: Message) -> dict[str, Any]:
    found = messages.params_of(request).get("arguments")
    if found is None or isinstance(found, dict):
        return found or {}
    return {"arguments": found}  # wrong, but the server might take it
