"""One line of JSON-RPC at a time: read as far as it must be understood, and written anew."""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

Id = str | int
Message = dict[str, Any]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601

_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_CLIENT: Final = "io.modelcontextprotocol/clientInfo"


def read(line: bytes) -> Any:
    """The JSON value of a line.

    Raises:
        ValueError: It is none.
    """
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:  # half a surrogate pair, NaN: other parsers take them
        return json.loads(line)


def rewritable(line: bytes) -> Message:
    """The message of a line with its numbers as they are, beyond 64 bits too."""
    message: Message = json.loads(line)
    return message


def write(message: Message) -> bytes:
    """A message as one line.

    Raises:
        ValueError: It holds what JSON cannot say.
    """
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair can only be escaped
        return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def id_of(message: Message) -> Id | None:
    """The id of a request or of an answer; None where it has none that can be one."""
    found = message.get("id")
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def params_of(message: Message) -> dict[str, Any]:
    """The parameters of a request, or none."""
    found = message.get("params")
    return found if isinstance(found, dict) else {}


def meta_of(request: Message) -> dict[str, Any]:
    """What a request says of itself in `_meta`."""
    found = params_of(request).get("_meta")
    return found if isinstance(found, dict) else {}


def error_of(answer: Message) -> str:
    """The error in an answer, as one line of text."""
    error = answer.get("error")
    if not isinstance(error, dict):
        return str(error)
    return f"{error.get('code')} {error.get('message')}"


def is_modern(request: Message) -> bool:
    """Whether a request is one of 2026-07-28, which says its version by itself."""
    return _VERSION in meta_of(request)


def announced(request: Message) -> str | None:
    """The name by which the client introduces itself in a request, in either era."""
    info = params_of(request).get("clientInfo") or meta_of(request).get(_CLIENT)
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) and name else None


def answer(request: Message, result: dict[str, Any]) -> bytes:
    """The line that answers a request."""
    if is_modern(request):
        result = {**result, "resultType": "complete"}
    return write({"jsonrpc": "2.0", "id": request.get("id"), "result": result})


def refusal(request_id: Id | None, code: int, why: str) -> bytes:
    """The line that says what is wrong with a message."""
    error = {"code": code, "message": why}
    return write({"jsonrpc": "2.0", "id": request_id, "error": error})
