"""What a caller may send and get: sizes, defaults and texts that are never redacted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_PAGE: Final = 100
MAX_NAMES: Final = 100
MAX_TAGS: Final = 32
MAX_SOURCE_CHARS: Final = 2000
MAX_NOTE_CHARS: Final = 2000
MAX_QUERY_CHARS: Final = 2000
MAX_REQUEST_ID: Final = 128
_ENVELOPE_BYTES: Final = 512


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one installation.

    Attributes:
        value_bytes: Largest value, in canonical bytes.
        reply_bytes: Ceiling of a reply.
        payload_bytes: Largest file that is taken up as a payload.
        lease_s: How long a claim holds without a sign of life.
        allowed: Strings that look like secrets and are none.
    """

    value_bytes: int = 1 << 20
    reply_bytes: int = 16 << 10
    payload_bytes: int = 64 << 20
    lease_s: int = 3600
    allowed: frozenset[str] = frozenset()

    @property
    def room(self) -> int:
        """Bytes of a reply that its records may take; the rest holds cursor, counts, warnings."""
        return self.reply_bytes - _ENVELOPE_BYTES
