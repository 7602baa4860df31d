"""Tagged digests: one hash for one meaning, and no two splits that hash alike."""

from __future__ import annotations

import hashlib
from typing import Final

_LENGTH_BYTES: Final = 8


def tagged(tag: bytes, *parts: bytes) -> bytes:
    r"""The SHA-256 of a tag and length-prefixed parts, 32 bytes.

    Args:
        tag: What is hashed and in which version of the format; ends in a NUL (`b"hm/seal/1\0"`), so
            that no tag is the beginning of another.
        parts: Each goes in behind its length, so ("ab", "c") and ("a", "bc") never hash alike.

    Source: format.md, seals.
    """
    whole = hashlib.sha256(tag)
    for part in parts:
        whole.update(len(part).to_bytes(_LENGTH_BYTES, "big"))
        whole.update(part)
    return whole.digest()
