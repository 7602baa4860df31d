"""Lines of JSON-RPC: put together, parsed, and answered where they are no message."""

import json
import re
from contextlib import suppress
from typing import Final

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, RequestId, jsonrpc_message_adapter
from mcp_types import JSONRPCError as Error
from mcp_types import JSONRPCMessage as Message
from mcp_types import JSONRPCNotification as Notification
from pydantic import ValidationError
from pydantic_core import from_json

MAX_LINE_BYTES: Final = 32 << 20
MAX_DEPTH: Final = 201  # what pydantic's JSON parser takes
TOKEN: Final = re.compile(rb'(?s)"(?:[^"\\]++|\\.)*+"?|[][{}]')  # possessive: linear on any bytes
ID_VALUE: Final = re.compile(rb'(?s)\s*:\s*("(?:[^"\\]++|\\.)*+"|-?\d++)\s*[,}]')


class Lines:
    """The lines that chunks complete, blank ones left out; None for one over MAX_LINE_BYTES."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """The lines that this chunk completes; an empty one, the end, completes what is left."""
        if not chunk:
            return self._ended(b"") if self._size_bytes else []
        *ends, rest = chunk.split(b"\n")
        lines = [line for end in ends for line in self._ended(end)]
        self._size_bytes += len(rest)
        self._parts.append(rest)
        if self._size_bytes > MAX_LINE_BYTES:
            self._parts.clear()
        return lines

    def _ended(self, end: bytes) -> list[bytes | None]:
        parts, size_bytes = [*self._parts, end], self._size_bytes + len(end)
        self._parts, self._size_bytes = [], 0
        if size_bytes > MAX_LINE_BYTES:
            return [None]
        line = b"".join(parts)
        return [line] if line.strip() else []


def parse(line: bytes | None) -> Message | bytes | None:
    """The message in a line, or the line that answers a bad one; None where no answer is due."""
    if line is None:
        return _refusal(None, INVALID_REQUEST, f"a message has at most {MAX_LINE_BYTES} bytes")
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        return _judge(line, error)
    # With an id that is no id at all, the models still see a notification.
    if isinstance(message, Notification) and b'"id"' in line and "id" in from_json(line):
        return _refusal(None, INVALID_REQUEST, "an id is a string or an integer")
    return message


def _judge(line: bytes, error: ValidationError) -> bytes | None:
    request_id, depth = outline(line)
    problem = error.errors(include_url=False, include_input=False)[0]
    if problem["type"] != "json_invalid":
        why = 'send one object, jsonrpc "2.0", a method, object params, a string or integer id'
        return _answer_to(from_json(line), request_id, why)
    words = problem["ctx"]["error"]
    if depth > MAX_DEPTH:
        why = f"nested {depth} deep, at most {MAX_DEPTH} are read: flatten it or send it as text"
        return _refusal(request_id, INVALID_REQUEST, why)
    try:
        envelope = json.loads(line.decode(), parse_int=str)
    except ValueError:
        why = f"{words}; send each message as one line of JSON in UTF-8"
        return _refusal(None, PARSE_ERROR, why)
    why = f"{words}; send whole characters (no half of a surrogate pair) and shorter numbers"
    return _answer_to(envelope, request_id, why)


def _answer_to(envelope: object, request_id: RequestId | None, why: str) -> bytes | None:
    if isinstance(envelope, dict):
        if "method" in envelope and "id" not in envelope:
            return None  # a notification
        if "method" not in envelope and ("result" in envelope or "error" in envelope):
            request_id = None  # it answers ours; echoed, it would settle one of the client's own
    return _refusal(request_id, INVALID_REQUEST, why)


def _refusal(request_id: RequestId | None, code: int, why: str) -> bytes:
    kind = "Parse error" if code == PARSE_ERROR else "Invalid request"
    error = ErrorData(code=code, message=f"{kind}: {why}")
    return Error(jsonrpc="2.0", id=request_id, error=error).model_dump_json().encode()


def outline(line: bytes) -> tuple[RequestId | None, int]:
    """The usable id of the object in a line that no parser takes, and how deep the line goes."""
    request_id: RequestId | None = None
    depth = deepest = 0
    for token in TOKEN.finditer(line):
        match token[0]:
            case b"{" | b"[":
                depth += 1
                deepest = max(depth, deepest)
            case b"}" | b"]":
                depth -= 1
            case b'"id"' if depth == 1 and (value := ID_VALUE.match(line, token.end())):
                with suppress(ValueError):  # half a surrogate pair
                    request_id = from_json(value[1])
    return request_id, deepest
