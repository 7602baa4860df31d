"""Cursors: opaque to agents, bound to the call that gave them out."""

from __future__ import annotations

import base64
import hashlib
import json

import orjson

from handoff_memory.core.errors import InvalidCursorError


def fingerprint(*parts: object) -> str:
    """A short digest of a call's other arguments, so that a cursor serves only the same call."""
    data = json.dumps(parts)  # escapes half characters, which orjson refuses
    return hashlib.sha256(b"hm/cursor/1\0" + data.encode()).hexdigest()[:8]


def seal(call: str, *position: int) -> str:
    """A cursor for the call with that fingerprint."""
    data = orjson.dumps([call, *position])
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def unseal(text: str, call: str, length: int) -> tuple[int, ...]:
    """The position that a cursor of this call holds.

    Raises:
        InvalidCursorError: The text is no cursor, or one of another call.
    """
    try:
        found = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        given, *position = found
    except (ValueError, TypeError) as error:
        raise InvalidCursorError("this is no cursor of ours") from error
    if given != call or len(position) != length or not all(type(n) is int for n in position):
        raise InvalidCursorError("this cursor belongs to a call with other arguments")
    if not all(0 <= n < 2**62 for n in position):
        raise InvalidCursorError("this is no cursor of ours")
    return tuple(position)
