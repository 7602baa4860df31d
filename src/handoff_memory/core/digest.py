"""Tagged digests: one hash for one meaning, and no two splits that hash alike."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import hashlib

_LENGTH_BYTES: Final = 8
_LARGE_BYTES: Final = 256 << 10


def _built_in() -> Callable[[bytes], hashlib._Hash]:
    for name in ("_sha2", "_sha256"):  # since 3.12, and before
        with suppress(ImportError):
            found: Callable[[bytes], hashlib._Hash] = import_module(name).sha256
            return found
    return import_module("hashlib").sha256  # type: ignore[no-any-return]


_SMALL: Final = _built_in()


def sha256(data: bytes) -> hashlib._Hash:
    """As `hashlib.sha256`, but OpenSSL, whose loading takes 3 ms, comes with what is large."""
    loaded = sys.modules.get("_hashlib")
    if loaded is not None:
        return loaded.openssl_sha256(data)  # type: ignore[no-any-return]
    if len(data) <= _LARGE_BYTES:
        return _SMALL(data)
    import hashlib  # noqa: PLC0415

    return hashlib.sha256(data)


def ready() -> Callable[[bytes], hashlib._Hash]:
    """The fastest there is, for very many: a call less for each than through `sha256`."""
    import hashlib  # noqa: PLC0415 - pays here

    return hashlib.sha256


def tagged(tag: bytes, *parts: bytes) -> bytes:
    r"""The SHA-256 of a tag and length-prefixed parts, 32 bytes.

    Args:
        tag: What is hashed and in which version of the format; ends in a NUL (`b"hm/seal/1\0"`), so
            that no tag is the beginning of another.
        parts: Each goes in behind its length, so ("ab", "c") and ("a", "bc") never hash alike.

    Source: format.md, seals.
    """
    whole = sha256(tag)
    for part in parts:
        whole.update(len(part).to_bytes(_LENGTH_BYTES, "big"))
        whole.update(part)
    return whole.digest()
