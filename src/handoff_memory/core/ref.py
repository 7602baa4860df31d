"""Refs: `mem://sha256:<64 hex>`, a payload named by what is in it, and how people write one."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from handoff_memory.core import lazy
from handoff_memory.core.errors import InvalidRefError

SCHEME: Final = "mem://sha256:"
MIN_PREFIX: Final = 8
_DIGEST: Final = lazy.pattern(r"(?:(?:mem://)?sha256:)?([0-9a-f]{8,64})", re.ASCII)
_ALIAS: Final = lazy.pattern(r"r([1-9][0-9]{0,17})", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """The whole name of a payload; `str()` gives its canonical form.

    Attributes:
        digest: SHA-256 of the stored, redacted bytes: 64 lowercase hex digits.
    """

    digest: str

    def __str__(self) -> str:  # type: ignore[explicit-override]
        return SCHEME + self.digest

    def names(self, data: bytes) -> bool:
        """Whether these are the bytes that the ref was made of."""
        return hashlib.sha256(data).hexdigest() == self.digest


@dataclass(frozen=True, slots=True)
class RefPrefix:
    """The first 8 to 63 hex digits of a ref; the store knows whether they are unique."""

    digits: str


@dataclass(frozen=True, slots=True)
class Alias:
    """A ref's short name within one database; `str()` gives `r12`."""

    number: int

    def __str__(self) -> str:  # type: ignore[explicit-override]
        return f"r{self.number}"


def of(data: bytes) -> Ref:
    """The ref of bytes that are already redacted."""
    return Ref(hashlib.sha256(data).hexdigest())


def parse(text: str) -> Ref | RefPrefix | Alias:
    """What an agent or a person wrote: a ref, the start of one, or an alias; case is ignored.

    Raises:
        InvalidRefError: It is none of them.
    """
    plain = text.strip().lower()
    if found := _ALIAS.fullmatch(plain):
        return Alias(int(found[1]))
    if found := _DIGEST.fullmatch(plain):
        return Ref(found[1]) if len(found[1]) == 64 else RefPrefix(found[1])
    shown = text if len(text) <= 80 else text[:80] + "…"
    raise InvalidRefError(f"{shown!r} is no ref")
