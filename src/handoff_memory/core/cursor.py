"""Cursors: opaque to agents, bound to the call that gave them out."""

from __future__ import annotations

import base64
import json
from typing import Final

from handoff_memory.core.digest import sha256
from handoff_memory.core.errors import InvalidCursorError

_CALL_BYTES: Final = 4
_LOW_BITS: Final = 0x7F
_MORE: Final = 0x80
_LIMIT: Final = 2**62


def fingerprint(*parts: object) -> str:
    """A short digest of a call's other arguments, so that a cursor serves only the same call."""
    data = json.dumps(parts)  # escapes half characters, which orjson refuses
    return sha256(b"hm/cursor/1\0" + data.encode()).hexdigest()[: 2 * _CALL_BYTES]


def seal(call: str, *position: int) -> str:
    """A cursor for the call with that fingerprint; numbers take a byte for each seven bits."""
    data = bytearray(bytes.fromhex(call))
    for number in position:
        rest = number
        while rest > _LOW_BITS:
            data.append(rest & _LOW_BITS | _MORE)
            rest >>= 7
        data.append(rest)
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def unseal(text: str, call: str, least: int, most: int | None = None) -> tuple[int, ...]:
    """The numbers that a cursor of this call holds.

    Args:
        text: What the agent sent.
        call: Fingerprint of the call.
        least: How many numbers there must be.
        most: How many there may be, as many as `least` where None.

    Raises:
        InvalidCursorError: The text is no cursor, or one of another call.
    """
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        found = _numbers(data[_CALL_BYTES:])
    except ValueError as error:
        raise InvalidCursorError("this is no cursor of ours") from error
    if data[:_CALL_BYTES].hex() != call or not least <= len(found) <= (most or least):
        raise InvalidCursorError("this cursor belongs to a call with other arguments")
    return found


def _numbers(data: bytes) -> tuple[int, ...]:
    found: list[int] = []
    number = shift = 0
    for byte in data:
        number |= (byte & _LOW_BITS) << shift
        shift += 7
        if not byte & _MORE:
            found.append(number)
            number, shift = 0, 0
    if shift or any(number >= _LIMIT for number in found):
        raise ValueError("cut off in a number, or out of range")
    return tuple(found)
