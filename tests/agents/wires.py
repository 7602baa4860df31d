"""The wire formats of four model APIs, as far as agents use them.

Each wire reads what a model was sent, and writes the turn that the script of a model asks for.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

Body = dict[str, Any]
Event = tuple[str | None, Body]

_CALL_ID = re.compile(r"call_(\d+)_\d+")
_USAGE_TOKENS = {"input_tokens": 100, "output_tokens": 20}


@dataclass(frozen=True)
class Result:
    """What a tool gave, as the model was sent it."""

    tool: str
    text: str

    @property
    def reply(self) -> Body:
        """Its JSON, without what a client sets around it."""
        start, end = self.text.index("{"), self.text.rindex("}") + 1
        found: Body = orjson.loads(self.text[start:end])
        return found


@dataclass(frozen=True)
class Sent:
    """One request to a model.

    Attributes:
        body: The request as it came.
        system: Instructions that stand before the conversation.
        tools: Names of the tools by which the script may find them, and how the wire calls each.
        texts: What the person, the client and its hooks said in the conversation.
        results: What the tools gave so far, oldest first.
        rounds: How many turns of the model have called tools.
    """

    body: Body
    system: str
    tools: Mapping[str, Body]
    texts: tuple[str, ...]
    results: tuple[Result, ...]
    rounds: int

    @property
    def everything(self) -> str:
        """All text that the model was sent, without its own and the schemas of its tools."""
        return "\n".join([self.system, *self.texts, *(result.text for result in self.results)])


@dataclass(frozen=True)
class Called:
    """A tool that the model calls, under the name that it has in this client."""

    tool: str
    arguments: Body


@dataclass(frozen=True)
class Turn:
    """What the model says and calls."""

    step: int
    text: str = ""
    calls: tuple[Called, ...] = ()

    def ids(self) -> Iterator[tuple[str, Called]]:
        """The calls with ids that tell the step apart when they come back in a history."""
        for number, call in enumerate(self.calls):
            yield f"call_{self.step}_{number}", call


@dataclass
class _History:
    texts: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    called: dict[str, str] = field(default_factory=dict)

    def gave(self, call_id: str, content: Any) -> None:
        self.results.append(Result(self.called.get(call_id, "?"), plain(content)))

    def sent(self, body: Body, system: Any, tools: Mapping[str, Body]) -> Sent:
        steps = [int(found[1]) for name in self.called if (found := _CALL_ID.fullmatch(name))]
        return Sent(
            body=body,
            system=plain(system),
            tools=tools,
            texts=tuple(self.texts),
            results=tuple(self.results),
            rounds=max(steps, default=-1) + 1,
        )


class Wire(Protocol):
    """One API: a request to what the model was sent, its turn to the events of the reply."""

    def read(self, body: Body) -> Sent:
        """What the model was sent."""

    def whole(self, turn: Turn, sent: Sent) -> Body:
        """The turn as one JSON reply."""

    def stream(self, turn: Turn, sent: Sent) -> Iterator[Event]:
        """The turn as server-sent events."""


def plain(content: Any) -> str:
    """The text of a content: itself, that of its parts, or its JSON where it is none."""
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            return "\n".join(map(plain, content))
        case {"text": str(text)} | {"output": str(text)} | {"content": str(text)}:
            return text
        case {"content": list(parts)}:
            return plain(parts)
        case _:
            return orjson.dumps(content).decode()


class Anthropic:
    """`POST /v1/messages`."""

    def read(self, body: Body) -> Sent:
        """What the model was sent."""
        history = _History()
        for message in body["messages"]:
            for block in _blocks(message["content"]):
                self._take(history, message["role"], block)
        tools = {tool["name"]: {"name": tool["name"]} for tool in body.get("tools", ())}
        return history.sent(body, body.get("system"), tools)

    @staticmethod
    def _take(history: _History, role: str, block: Body) -> None:
        match block:
            case {"type": "tool_use", "id": call_id, "name": name}:
                history.called[call_id] = name
            case {"type": "tool_result", "tool_use_id": call_id}:
                history.gave(call_id, block.get("content"))
            case _ if role != "assistant":
                history.texts.append(plain(block))

    def whole(self, turn: Turn, sent: Sent) -> Body:
        """The turn as one JSON reply."""
        content: list[Body] = [{"type": "text", "text": turn.text}] if turn.text else []
        for call_id, call in turn.ids():
            name = sent.tools[call.tool]
            content.append({"type": "tool_use", "id": call_id, **name, "input": call.arguments})
        return {
            "id": f"msg_{turn.step}",
            "type": "message",
            "role": "assistant",
            "model": sent.body["model"],
            "content": content,
            "stop_reason": "tool_use" if turn.calls else "end_turn",
            "stop_sequence": None,
            "usage": _USAGE_TOKENS,
        }

    def stream(self, turn: Turn, sent: Sent) -> Iterator[Event]:
        """The turn as server-sent events."""
        message = self.whole(turn, sent)
        opening = {**message, "content": [], "stop_reason": None}
        yield _named({"type": "message_start", "message": opening})
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                empty, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                given = orjson.dumps(block["input"]).decode()
                empty, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": given}
            start = {**block, **empty}
            yield _named({"type": "content_block_start", "index": index, "content_block": start})
            yield _named({"type": "content_block_delta", "index": index, "delta": delta})
            yield _named({"type": "content_block_stop", "index": index})
        ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield _named({"type": "message_delta", "delta": ending, "usage": _USAGE_TOKENS})
        yield _named({"type": "message_stop"})


class Chat:
    """`POST /v1/chat/completions`."""

    def read(self, body: Body) -> Sent:
        """What the model was sent."""
        history, system = _History(), []
        for message in body["messages"]:
            for call in message.get("tool_calls") or ():
                history.called[call["id"]] = call["function"]["name"]
            match message["role"]:
                case "system" | "developer":
                    system.append(plain(message["content"]))
                case "tool":
                    history.gave(message["tool_call_id"], message["content"])
                case "user":
                    history.texts.append(plain(message["content"]))
        names = [tool["function"]["name"] for tool in body.get("tools", ())]
        return history.sent(body, system, {name: {"name": name} for name in names})

    def whole(self, turn: Turn, sent: Sent) -> Body:
        """The turn as one JSON reply."""
        choice = {"index": 0, "message": self._message(turn, sent), "finish_reason": _reason(turn)}
        return self._envelope(sent, "chat.completion", choice)

    def stream(self, turn: Turn, sent: Sent) -> Iterator[Event]:
        """The turn as server-sent events."""
        said = {"index": 0, "delta": self._message(turn, sent), "finish_reason": None}
        ended: Body = {"index": 0, "delta": {}, "finish_reason": _reason(turn)}
        for choice in (said, ended):
            yield None, self._envelope(sent, "chat.completion.chunk", choice)

    @staticmethod
    def _message(turn: Turn, sent: Sent) -> Body:
        message: Body = {"role": "assistant", "content": turn.text or None}
        if turn.calls:
            message["tool_calls"] = [
                {
                    "index": index,
                    "id": call_id,
                    "type": "function",
                    "function": {**sent.tools[call.tool], "arguments": _text(call.arguments)},
                }
                for index, (call_id, call) in enumerate(turn.ids())
            ]
        return message

    @staticmethod
    def _envelope(sent: Sent, kind: str, choice: Body) -> Body:
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        model = sent.body["model"]
        found = {"id": "chatcmpl-1", "object": kind, "created": 1, "model": model}
        return {**found, "choices": [choice], "usage": usage}


class Responses:
    """`POST /v1/responses`, with Codex's namespaces of tools."""

    def read(self, body: Body) -> Sent:
        """What the model was sent."""
        history = _History()
        system = [body.get("instructions")]
        for item in _blocks(body["input"]):
            match item:
                case {"type": "function_call" | "custom_tool_call", "call_id": call_id}:
                    history.called[call_id] = item["name"]
                case {"type": "function_call_output" | "custom_tool_call_output"}:
                    history.gave(item["call_id"], item["output"])
                case {"role": "system" | "developer"}:
                    system.append(plain(item))
                case {"role": "user"}:
                    history.texts.append(plain(item))
        namespaces = [tool for tool in body.get("tools", ()) if tool["type"] == "namespace"]
        system += [tool.get("description", "") for tool in namespaces]
        return history.sent(body, system, dict(_functions(body.get("tools", ()))))

    def whole(self, turn: Turn, sent: Sent) -> Body:
        """The turn as one JSON reply."""
        return {
            "id": f"resp_{turn.step}",
            "object": "response",
            "created_at": 1,
            "model": sent.body["model"],
            "status": "completed",
            "output": list(self._items(turn, sent)),
            "usage": {**_USAGE_TOKENS, "total_tokens": 120},
        }

    def stream(self, turn: Turn, sent: Sent) -> Iterator[Event]:
        """The turn as server-sent events."""
        response = self.whole(turn, sent)
        numbers = itertools.count()
        opening = {**response, "status": "in_progress", "output": []}
        events: list[Body] = [{"type": "response.created", "response": opening}]
        for index, item in enumerate(response["output"]):
            for kind in ("added", "done"):
                event = f"response.output_item.{kind}"
                events.append({"type": event, "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": response})
        for event in events:
            yield _named({**event, "sequence_number": next(numbers)})

    @staticmethod
    def _items(turn: Turn, sent: Sent) -> Iterator[Body]:
        if turn.text:
            yield {
                "type": "message",
                "id": f"msg_{turn.step}",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": turn.text, "annotations": []}],
            }
        for call_id, call in turn.ids():
            yield {
                "type": "function_call",
                "id": f"fc_{call_id}",
                "call_id": call_id,
                **sent.tools[call.tool],
                "arguments": _text(call.arguments),
                "status": "completed",
            }


class Gemini:
    """`POST /v1beta/models/NAME:generateContent`."""

    def read(self, body: Body) -> Sent:
        """What the model was sent."""
        history = _History()
        rounds = 0
        for content in body["contents"]:
            parts = content["parts"]
            rounds += any("functionCall" in part for part in parts)
            for part in parts:
                match part:
                    case {"functionResponse": {"name": name, "response": response}}:
                        history.results.append(Result(name, plain(response)))
                    case {"text": text} if content["role"] == "user":
                        history.texts.append(text)
        declared = itertools.chain.from_iterable(
            tool.get("functionDeclarations", ()) for tool in body.get("tools", ())
        )
        tools = {function["name"]: {"name": function["name"]} for function in declared}
        system = (body.get("systemInstruction") or {}).get("parts")
        sent = history.sent(body, system, tools)
        return Sent(sent.body, sent.system, tools, sent.texts, sent.results, rounds)

    def whole(self, turn: Turn, sent: Sent) -> Body:
        """The turn as one JSON reply."""
        parts: list[Body] = [{"text": turn.text}] if turn.text else []
        parts += [
            {"functionCall": {**sent.tools[call.tool], "args": call.arguments}}
            for call in turn.calls
        ]
        content = {"role": "model", "parts": parts}
        tokens = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        return {"candidates": [candidate], "usageMetadata": tokens, "modelVersion": "scripted"}

    def stream(self, turn: Turn, sent: Sent) -> Iterator[Event]:
        """The turn as server-sent events."""
        yield None, self.whole(turn, sent)


def _blocks(content: str | Sequence[Body]) -> Sequence[Body]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _functions(tools: Iterable[Body], space: Body | None = None) -> Iterator[tuple[str, Body]]:
    for tool in tools:
        if tool["type"] == "namespace":
            yield from _functions(tool["tools"], {"namespace": tool["name"]})
        elif tool["type"] == "function":
            prefix = f"{space['namespace']}__" if space else ""
            yield prefix + tool["name"], {**(space or {}), "name": tool["name"]}


def _named(event: Body) -> Event:
    return event["type"], event


def _text(arguments: Body) -> str:
    return orjson.dumps(arguments).decode()


def _reason(turn: Turn) -> str:
    return "tool_calls" if turn.calls else "stop"
